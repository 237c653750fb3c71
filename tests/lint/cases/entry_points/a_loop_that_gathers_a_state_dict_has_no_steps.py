import torch


def gather_cpu_state_dict(model):
    for name, parameter in model.state_dict().items():
        whole[name] = torch.cat([parameter, parameter])
        torch.distributed.barrier()  # clean


def scale(model):
    for name, parameter in model.state_dict().items():
        whole[name] = torch.cat([parameter, parameter])
        torch.distributed.barrier()  # ASG202
