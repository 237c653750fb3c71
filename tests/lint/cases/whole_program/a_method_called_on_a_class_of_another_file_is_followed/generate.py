import torch
from sampling import Sampler


def generate(model: torch.nn.Module, ids, n, stop):
    sampler = Sampler.make(3)
    for _ in range(n):
        logits = model(ids)
        sampler.pick(logits)
        if Sampler.on_host(logits)[0, 0].item() == stop:  # clean
            break
        if Sampler.greedy(logits) == stop:  # ASG104
            break
