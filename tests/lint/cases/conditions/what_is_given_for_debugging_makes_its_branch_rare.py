import torch


class Augment(torch.nn.Module):
    def forward(self, images, debug_percentile=None, weight=None):
        if debug_percentile is not None:
            images = images * images.norm().item()
        if weight is not None:
            images = images * weight.sum().item()  # ASG102
        return images
