from typing import Dict, List

import torch
from torch import Tensor


def decode(model, batch, n):
    finished = torch.jit.annotate(List[Dict[str, Tensor]], [])
    for step in range(n):
        finished.append({"score": model(batch).sum()})
        scores = [found["score"].item() for found in finished]  # ASG102
    return scores
