import torch
from torch import nn


class Base(nn.Module):
    def forward(self, x):
        return self.loss(x, self.generate(x))


class Autoencoder(Base):
    def loss(self, x, outputs):
        total = 0.0
        for b in torch.unique(x[..., 0]):  # ASG105
            total = total + outputs["px"].log_prob(x).sum() * b.item()  # ASG102
        return total

    def update_loss(self, total: torch.Tensor):
        self.last = total.item()  # clean


class Report:
    def loss(self, rows: list[torch.Tensor]):
        for row in rows:
            print(row.sum().item())  # clean
