import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if x.shape not in self.grids.keys():
            self.grids[x.shape] = torch.tensor([1.0, 2.0], device=x.device)  # clean
        if x.shape in self.grids.keys():
            x = x * torch.tensor([1.0, 2.0], device=x.device)  # ASG106
        return x
