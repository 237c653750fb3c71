"""The reference ways of linear attention: plain loops and chunks, without kernels."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from typing import Any

import fla.ops
import torch

SIZES: dict[str, tuple[int, ...]] = {"beta": (2, 8, 2), "g": (2, 8, 2), "gk": (2, 8, 2, 4)}
NUMBERS: dict[str, Any] = {"scale": 0.5, "chunk_size": 4, "BT": 4}


def _references() -> dict[str, Any]:
    """The functions of modules that are called naive."""
    found: dict[str, Any] = {}
    for each in pkgutil.walk_packages(fla.ops.__path__, "fla.ops."):
        if not each.name.endswith(".naive"):
            continue
        module = importlib.import_module(each.name)
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == each.name:
                found[f"{each.name.removeprefix('fla.ops.')}.{name}"] = value
    return found


def _values(function: Any, device: str) -> dict[str, Any]:
    """What a function requires, by what it is called."""
    torch.manual_seed(0)
    made: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty:
            continue
        if name in NUMBERS:
            made[name] = NUMBERS[name]
            continue
        value = torch.rand(SIZES.get(name, (2, 8, 2, 4)))
        value = -value if name in ("g", "gk", "w") else value
        made[name] = value.to(device).requires_grad_()
    return made


def _run(function: Any, device: str) -> list[Any]:
    given = _values(function, device)
    found = function(**given)
    outputs = [
        part for part in (found if isinstance(found, tuple) else [found]) if part is not None
    ]
    sum(part.float().sum() for part in outputs if part.requires_grad).backward()
    return [outputs, [each.grad for each in given.values() if isinstance(each, torch.Tensor)]]


CASES = {name: functools.partial(_run, function) for name, function in _references().items()}
