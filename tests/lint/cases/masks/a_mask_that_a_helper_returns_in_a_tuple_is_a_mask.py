import torch
from torch import nn


def valid(points):
    return points.sum(), points[..., 0] > 0


class TokenLoss(nn.Module):
    def forward(self, outputs, targets):
        logits = outputs["logits"][targets["token_mask"]]  # ASG105
        rows = (torch.arange(3), torch.arange(3))
        chosen = outputs["boxes"][rows]  # ASG106
        count, mask = valid(torch.sigmoid(logits))
        return chosen, logits[mask]  # ASG105
