import torch


class Atoms(torch.nn.Module):
    def forward(self, x):
        if not hasattr(self, "table"):
            self.table = torch.nn.Buffer(torch.tensor([1.0, 2.0], device=x.device))  # clean
        if not hasattr(self, "other"):
            x = x + torch.tensor([1.0, 2.0], device=x.device)  # ASG106
        return x * self.table
