import torch
from torch import nn


class Predictor(nn.Module):
    def forward(self, x, reverse=False, _offload=False):
        if _offload:
            x = x.cpu()  # clean
        if not reverse:
            return x * x.max().item()  # clean
        return x


class Inner(nn.Module):
    def forward(self, x, _offload=False):
        y = torch.exp(x)
        scale = 1.0 if not _offload else y.max().item()  # clean
        return y * scale


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor, self.inner = Predictor(), Inner()

    def forward(self, x, _offload=False):
        x = self.inner(x, _offload=_offload)
        return self.predictor(x, reverse=True)


def select(scores, weights=None, sort=False):
    kept = torch.exp(scores)
    if sort and len(kept) > 1:
        print(kept.max().item())  # clean
    if weights is not None:
        print(kept.min().item())  # clean
    return kept


def train(loader: torch.utils.data.DataLoader):
    model = Model()
    for batch in loader:
        select(model(batch.cuda(non_blocking=True)))
