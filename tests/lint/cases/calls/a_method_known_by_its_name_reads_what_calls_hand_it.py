import torch


class Schedule:
    def __init__(self, count=1000):
        self.betas = torch.linspace(1e-4, 2e-2, count)

    def denoise(self, noise, index, image):
        beta = self.betas[index]  # ASG102
        return image - beta * noise

    def weight(self, image, index):
        return image * self.betas[index]  # clean


def denoise_all(network, schedule, steps):
    image = torch.randn(1, 3, 8, 8, device="cuda")
    for index in torch.arange(steps, device="cuda"):
        image = schedule.denoise(network(image, index), index, image)
    for number in range(steps):
        image = schedule.weight(network(image, number), number)
    return image
