from dataclasses import dataclass

import torch


@dataclass
class Result:
    features: torch.Tensor
    tokens: list[int]
    logprob: float = 0.0


def declared(model, loader):
    for x in loader:
        result: Result = model(x)
        if result.logprob > 0.5:  # clean
            break
        print(torch.tensor(result.tokens).tolist())  # clean
        print(result.features)  # ASG101


def named(model, loader):
    for x in loader:
        result = model(x)
        if result.logprob > 0.5:  # ASG104
            break
