import torch


def relax(positions: torch.Tensor, nsteps):
    positions = positions.cuda()
    for _ in range(nsteps):
        positions = positions - 0.1 * torch.sin(positions)
        print(positions.norm().item())  # ASG102
    return positions


def unroll(positions: torch.Tensor, units):
    positions = positions.cuda()
    for _ in range(units):
        positions = positions - 0.1 * torch.sin(positions)
        print(positions.norm().item())  # clean
    return positions
