"""A model gives logits in each step of a decoding: what takes them runs in each, whoever calls it.

Not what takes those of a whole run: it fits something to them, or shows them.
"""

import torch
from torch import nn


def sample(logits, top_k):
    weights = torch.softmax(logits, -1)
    return weights.topk(top_k).indices[0].item()  # ASG102


class Sampler:
    def __call__(self, next_token_logits: torch.Tensor, sequences):
        kept = next_token_logits.cuda() > 0
        if kept.any():  # ASG104
            return next_token_logits
        return sequences


def fit_temperature(logits, labels):
    loss = nn.functional.cross_entropy(logits, labels)
    return loss.item()  # clean


def scores(values, normalize_logits=False):
    best = torch.softmax(values, -1).max()
    return best.item()  # clean
