import torch


def judge_early_stop_loss(x: torch.Tensor):
    print(x)  # clean


def contrastive_loss(x: torch.Tensor):
    print(x)  # ASG101


def synchronize_losses(x: torch.Tensor):
    print(x)  # clean
