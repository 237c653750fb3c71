import torch


def copy_(func, *args, **kwargs):
    if torch.isnan(args[0].sum()):  # clean
        return args[0]
    return func(*args)


def repack_(func, *args, **kwargs):
    if torch.isnan(args[0].sum()):  # ASG104
        return args[0]
    return func(*args)
