import torch


class Criterion(torch.nn.Module):
    def masks(self, out, idx):
        return out[out > 0].sum()  # ASG105

    def pick(self, name, out, idx):
        known = {"masks": self.masks}
        return known[name](out, idx)

    def forward(self, out, idx):
        return sum(self.pick(name, out, idx) for name in self.names)  # clean
