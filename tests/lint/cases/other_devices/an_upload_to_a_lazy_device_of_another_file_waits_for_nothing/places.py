import torch_xla


def get_device():
    return torch_xla.device()
