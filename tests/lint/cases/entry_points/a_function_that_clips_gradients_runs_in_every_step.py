import torch


def clip_grad_norm(parameters, limit):
    norm = torch.stack([p.grad.norm() for p in parameters]).norm()
    if norm > limit:  # ASG104
        for p in parameters:
            p.grad.mul_(limit / norm)


def clip_boxes(boxes: torch.Tensor, limit):
    if (boxes > limit).any():  # clean
        return boxes.clamp(max=limit)
    return boxes
