import abc

import torch


class Sampler(abc.ABC):
    @abc.abstractmethod
    def draw(self, logits: torch.Tensor) -> torch.Tensor: ...

    @abc.abstractmethod
    def stops(self, logits: torch.Tensor) -> bool: ...


def generate(model, sampler: Sampler, ids):
    for _ in range(50):
        logits = model(ids)
        token = sampler.draw(logits)
        if token[0] == 2:  # ASG104
            break
        if sampler.stops(logits):  # clean
            break
        ids = torch.cat([ids, token], 1)
    return ids
