import torch

from kernels import kernel_of


def size_of(image: torch.Tensor) -> list[int]:
    return kernel_of(type(image))(image)


def size_of_all(images) -> tuple[int, int]:
    height, width = {tuple(size_of(image)) for image in images}.pop()
    return height, width


class Crop(torch.nn.Module):
    def forward(self, images):
        height, width = size_of_all(images)
        if height < width:  # clean
            height = int(height * torch.rand(1))  # clean
        return [image[:height] for image in images]
