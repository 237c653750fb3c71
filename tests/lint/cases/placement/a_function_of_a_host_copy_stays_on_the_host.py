import torch


def part_loss(x, target):
    target_cpu = target.to("cpu")  # ASG103
    return x * torch.unique(target_cpu)[0].item()
