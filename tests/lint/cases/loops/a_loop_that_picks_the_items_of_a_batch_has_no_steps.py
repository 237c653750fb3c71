import torch


def heal(ids: torch.Tensor, tails, pad):
    for batch_idx, tail in enumerate(tails):
        if torch.all(ids[batch_idx] == pad).item():  # clean
            continue


def encode(texts, ids: torch.Tensor):
    for batch_idx, text in enumerate(texts):
        if torch.all(ids == texts[batch_idx]).item():  # ASG102
            continue
