import torch
from torch import nn


class Predictor(nn.Module):
    def forward(self, x, reverse=False, scale=False):
        if scale:
            x = x / x.max().item()  # clean
        if not reverse:
            return x * x.max().item()  # ASG102
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor = Predictor()

    def forward(self, x):
        return self.predictor(x, reverse=self.training)


def select(scores, weights=None, sort=False):
    kept = torch.exp(scores)
    if sort and len(kept) > 1:
        print(kept.max().item())  # ASG102
    if weights is not None:
        print(kept.min().item())  # ASG102
    sort = True
    if sort:
        print(kept.mean().item())  # ASG102
    return kept


def train(loader: torch.utils.data.DataLoader, weights, options):
    model = Model()
    for batch in loader:
        select(model(batch.cuda(non_blocking=True)), weights)
        select(model(batch.cuda(non_blocking=True)), **options)
