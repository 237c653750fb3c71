import torch


class Base(torch.nn.Module):
    pass
