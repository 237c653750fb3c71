from typing import Any, Protocol

import torch


class Model(Protocol):
    def __call__(self, ids: torch.Tensor) -> Any: ...


class Score(Protocol):
    def __call__(self, word: str) -> Any: ...


def greedy(model: Model, ids: torch.Tensor, eos: int):
    for _ in range(50):
        token = model(ids)[:, -1].argmax(-1)
        if token[0] == eos:  # ASG104
            break
        ids = torch.cat([ids, token[:, None]], 1)
    return ids


def rate(score: Score, words: list[str]):
    total = 0.0
    for word in words:
        total += float(score(word))  # clean
    return total
