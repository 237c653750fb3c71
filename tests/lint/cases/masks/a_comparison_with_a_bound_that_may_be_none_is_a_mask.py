import torch

atoms = 51
if USE_MORE:
    atoms = None


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[x < (atoms - 1)]  # ASG105
