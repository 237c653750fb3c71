"""The architectures of timm: two steps of training and an evaluation."""

from __future__ import annotations

import functools
import re
from typing import Any

import timm
import torch

from benchmarks.truth.drivers import require_small

LARGEST = 30_000_000  # parameters of a model that is run
SMALL = re.compile(
    r"atto|femto|pico|nano|micro|mini|xxs|xs|tiny|small|_s\b|_s_|_[0-9]{2,3}|b0|0$|1$|18|10"
)


def cases(*, most: int) -> dict[str, Any]:
    """The models of each module, at most so many, those first whose names promise small ones."""
    chosen: list[str] = []
    for module in timm.list_modules():
        names = timm.list_models(module=module)
        names.sort(key=lambda name: (SMALL.search(name) is None, len(name), name))
        chosen += names[:most]
    return {name: functools.partial(train, name) for name in chosen}


def train(name: str, device: str) -> list[Any]:
    """Two steps of training, and an evaluation."""
    with torch.device("meta"):
        require_small(timm.create_model(name, num_classes=10), LARGEST)
    model, side = made(name)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.randn(2, 3, side, side).to(device)
    labels = torch.tensor([1, 3]).to(device)
    results: list[Any] = []
    for _ in range(2):
        optimizer.zero_grad()
        output = model(images)
        output = output[0] if isinstance(output, tuple | list) else output
        loss = torch.nn.functional.cross_entropy(output.float(), labels)
        loss.backward()
        optimizer.step()
        results.append(loss)
    model.eval()
    with torch.no_grad():
        results.append(model(images))
    return results


def made(name: str) -> tuple[Any, int]:
    """The model with ten classes, and the least side of an image that it takes."""
    config = timm.get_pretrained_cfg(name, allow_unregistered=True)
    side: int = config.input_size[-1] if config is not None else 224
    if config is None or not config.fixed_input_size:
        side = min(side, 96)
    return timm.create_model(name, num_classes=10), side
