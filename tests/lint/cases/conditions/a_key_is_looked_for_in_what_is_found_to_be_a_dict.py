import torch
from torch import nn


class Model(nn.Module):
    def forward(self, preds: torch.Tensor, branch: str):
        if isinstance(preds, tuple):
            preds = preds[1]
        if isinstance(preds, dict) and branch in preds:  # clean
            preds = preds[branch]
        return preds
