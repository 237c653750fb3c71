import torch


class Encoding(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        self.table = self.extended(x, self.table)
        return x + self.table

    def extended(self, x, table=None):
        if table is not None:
            if table.size(1) >= x.size(1) * 2 - 1:
                if table.device != x.device:
                    table = table.to(x.device)
                return table
        made = torch.zeros(x.size(1), 3)
        return made.to(x.device)  # clean


class Padding(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return self.padded(x, 3)

    def padded(self, x, length):
        if x.size(1) >= length:
            return x
        made = torch.zeros(x.size(1), 3)
        return torch.cat([x, made.to(x.device)])  # ASG106
