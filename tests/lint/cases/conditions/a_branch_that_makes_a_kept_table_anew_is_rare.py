import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def forward(self, x: torch.Tensor, other: torch.Tensor):
        if self.table is None or self.table.shape[0] != x.shape[0]:
            self.table = torch.arange(x.shape[0]).to(x.device)  # clean
        if other.shape[0] != x.shape[0]:
            table = torch.arange(x.shape[0]).to(x.device)  # ASG106
            return x + table
        return x + self.table
