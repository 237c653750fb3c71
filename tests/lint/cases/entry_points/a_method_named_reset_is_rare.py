import torch


class Loss(torch.nn.Module):
    def clear(self):
        self.total = torch.tensor(0.0, device=self.device)  # ASG106

    def forward(self, out):
        self.clear()
        return out


class Loss2(torch.nn.Module):
    def reset(self):
        self.total = torch.tensor(0.0, device=self.device)  # clean

    def forward(self, out):
        self.reset()
        return out
