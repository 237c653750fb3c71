import torch


def build_targets(boxes: torch.Tensor, scores: torch.Tensor):
    return boxes[scores > 0.5]  # ASG105


def assign_targets(boxes: torch.Tensor, scores: torch.Tensor):
    return boxes[scores > 0.5]  # ASG105


def batched_nms(boxes: torch.Tensor, scores: torch.Tensor):
    return boxes[scores > 0.5]  # ASG105


def describe(boxes: torch.Tensor, scores: torch.Tensor):
    return boxes[scores > 0.5]  # clean
