"""torchtitan: each family's smallest model, trained with its loss, optimizers and schedule."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import Any

import torch

FAMILIES = ("llama3", "qwen3", "deepseek_v3", "gpt_oss", "llama4")
SMALLER = {
    "n_layers": 2, "dim": 64, "n_heads": 4, "vocab_size": 256,
    "inter_dim": 64, "hidden_dim": 64, "moe_inter_dim": 32, "head_dim": 16, "n_kv_heads": 2,
}  # fmt: skip


def _arguments(family: str) -> dict[str, Any]:
    module = importlib.import_module(f"torchtitan.models.{family}")
    (found,) = (value for name, value in vars(module).items() if name.endswith("_args")
                and isinstance(value, dict))  # fmt: skip
    return found


def _model(family: str, name: str, device: str) -> Any:
    module = importlib.import_module(f"torchtitan.models.{family}")
    arguments = _arguments(family)[name]
    fields = {field.name for field in dataclasses.fields(arguments)}
    small = {
        name: value
        for name, value in SMALLER.items()
        if name in fields and getattr(arguments, name) is not None
    }
    arguments = dataclasses.replace(arguments, **small)
    kind = getattr(module, "Transformer", None) or module.get_train_spec().model_cls
    torch.manual_seed(0)
    model = kind(arguments).to(device)
    with torch.no_grad():
        model.init_weights(buffer_device=torch.device(device))
    return model


def _trained(family: str, name: str, device: str) -> list[Any]:
    from torchtitan.components.loss import cross_entropy_loss
    from torchtitan.distributed.utils import clip_grad_norm_

    model = _model(family, name, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = (torch.arange(2 * 17).reshape(2, 17) * 7 % 250).to(device)
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = cross_entropy_loss(model(tokens[:, :-1]), tokens[:, 1:])
        loss.backward()
        found.append(clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
        found.append(loss.detach())
    return found


CASES: dict[str, Any] = {}
for _family in FAMILIES:
    for _name in ("debugmodel", "debugmodel_moe", "debugmodel_irope"):
        try:
            _known = _name in _arguments(_family)
        except ImportError:  # it needs another torch
            _known = False
        if _known:
            CASES[f"{_family} {_name}"] = functools.partial(_trained, _family, _name)


def configured(device: str) -> list[Any]:
    """Optimizers and schedules as the configuration makes them, and metrics that are logged."""
    from torchtitan.components.lr_scheduler import build_lr_schedulers
    from torchtitan.components.metrics import build_device_memory_monitor
    from torchtitan.components.optimizer import OptimizersContainer
    from torchtitan.config import JobConfig

    model = _model("llama3", "debugmodel", device)
    optimizers = OptimizersContainer([model], torch.optim.AdamW, {"lr": 1e-3})
    rates = build_lr_schedulers(optimizers, JobConfig().lr_scheduler, 10)
    monitor = build_device_memory_monitor() if device == "cuda" else None
    tokens = (torch.arange(32).reshape(2, 16) % 250).to(device)
    found = []
    for _ in range(2):
        optimizers.zero_grad()
        loss = model(tokens).float().pow(2).mean()
        loss.backward()
        optimizers.step()
        rates.step()
        found.append(loss.detach())
        if monitor is not None:
            monitor.get_peak_stats()
    return [*found, sorted(optimizers.state_dict())]
