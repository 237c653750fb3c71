"""Dictionaries of tensors that behave like one."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from tensordict import (
    MemoryMappedTensor,
    NonTensorData,
    TensorDict,
    TensorDictParams,
    lazy_stack,
    pad,
    tensorclass,
)
from tensordict import nn as modules

from benchmarks.truth.programs import network, trained


def _held(device: str) -> TensorDict:
    torch.manual_seed(0)
    values = {"a": torch.randn(4, 3), "b": {"c": torch.arange(8).reshape(4, 2), "d": torch.rand(4)}}
    return TensorDict(values, batch_size=[4], device=device)


def shapes(device: str) -> list[Any]:
    """Views, parts and stacks."""
    held = _held(device)
    stacked = torch.stack([held, held], 0)
    lazy = lazy_stack([held, held.clone()], 1)
    return [
        held.reshape(2, 2), held.unsqueeze(0).squeeze(0), held.expand(2, 4), stacked.permute(1, 0),
        held[1:3], held[torch.tensor([True, False, True, True], device=device)], held[..., 0],
        torch.cat([held, held]), held.split(2), held.chunk(2), lazy[0], lazy.to_tensordict(),
        held.gather(0, torch.tensor([0, 2], device=device)), stacked.flatten(), held.repeat(2),
        held.masked_select(held["b", "d"] > 0.4), held.flatten_keys("."), held.select("a"),
        held.exclude(("b", "c")), pad(held, [0, 2], value=1), held.repeat_interleave(2),
    ]  # fmt: skip


def numbers(device: str) -> list[Any]:
    """Arithmetic on all that is held, and comparisons."""
    held = _held(device).exclude(("b", "c"))
    other = held + 1
    return [
        held * 2 - other, other.sqrt(), held.lerp(other, 0.5), held.clamp(-0.5, 0.5), held == other,
        (held == held).all(), (held < other).any(), held.norm(), held.mean(), held.sum(0),
        held.std(),
        held.isfinite().all(), held.exp().log(), held.addcmul(other, other, value=0.5),
        torch.allclose(held["a"], held["a"]), held.abs().pow(2), held.maximum(other), held.neg(),
    ]  # fmt: skip


def changes(device: str) -> list[Any]:
    """Values set, updated, renamed, filled and applied to."""
    held = _held(device)
    held["new", "key"] = torch.ones(4, device=device)
    held[0] = held[1]
    held.update({"a": torch.zeros(4, 3, device=device)})
    held.rename_key_("a", "z").fill_("z", 2.0)
    held.set_at_("z", 1.0, 2)
    held.apply_(lambda each: each + 1)
    named = held.named_apply(lambda name, each: each * 2 if "d" in str(name) else each)
    empty = held.empty()
    empty.update(held.detach().clone())
    with held.unlock_():
        held.pop("z")
    held.lock_()
    return [
        held,
        named,
        empty,
        held.is_locked,
        held.numel(),
        held.bytes(),
        sorted(held.keys(True), key=str),
    ]


def moves(device: str) -> list[Any]:
    """To another place, precision or form."""
    held = _held(device)
    with tempfile.TemporaryDirectory() as folder:
        held.cpu().memmap(folder)
        loaded = TensorDict.load_memmap(folder).to(device)
        mapped = MemoryMappedTensor.from_tensor(held["a"].cpu())
        found = [loaded, mapped + 1]
    whole = held.consolidate()
    return [
        *found, held.to(torch.float64), held.cpu().to(device), held.double(), held.to_dict(), whole,
        held["a"].tolist(), held.numpy(), held.half()["a"],
        TensorDict.from_dict(held.to_dict()),
    ]  # fmt: skip


@tensorclass
class _Row:
    value: torch.Tensor
    label: torch.Tensor
    name: str = "row"


def classes(device: str) -> list[Any]:
    """A class whose fields are batched together."""
    row = _Row(torch.rand(4, 2, device="cpu"), torch.arange(4), batch_size=[4]).to(device)
    more = torch.stack([row, row])
    held = TensorDict({"row": row, "text": NonTensorData("x", [4])}, [4], device=device)
    return [more.value, row[2].label, held[1]["text"], row.to_tensordict(), more.reshape(-1).label,
            row.name, (row + 1).value]  # fmt: skip


def parameters(device: str) -> list[Any]:
    """A network's weights as one, trained and exchanged."""
    model = network(device)
    weights = TensorDict.from_module(model)
    held = TensorDictParams(weights.clone())
    inputs = torch.ones(2, 8, device=device)
    with held.to_module(model):
        first = model(inputs)
    both = torch.stack([weights.detach(), weights.detach() * 0.5])

    def call(each: Any) -> torch.Tensor:
        with each.to_module(model):
            return model(inputs)

    return [first, torch.vmap(call)(both), weights.data.norm(), held.flatten_keys(".")]


def pipeline(device: str) -> list[Any]:
    """Modules that read and write named values, one of them drawing from a distribution."""
    torch.manual_seed(0)
    first = modules.TensorDictModule(network(device), ["a"], ["hidden"])
    parts = modules.TensorDictModule(
        torch.nn.Sequential(network(device, 4, 4), modules.NormalParamExtractor()), ["hidden"],
        ["loc", "scale"],
    )  # fmt: skip
    drawn = modules.ProbabilisticTensorDictModule(
        ["loc", "scale"],
        ["action"],
        distribution_class=torch.distributions.Normal,
        return_log_prob=True,
    )
    whole = modules.ProbabilisticTensorDictSequential(first, parts, drawn)
    held = TensorDict({"a": torch.ones(3, 8)}, [3], device=device)
    torch.manual_seed(1)
    found = whole(held.clone())
    with modules.set_interaction_type(modules.InteractionType.MODE):
        mode = whole(held.clone())
    losses = trained(whole, lambda: whole(held.clone())["loc"].square().mean())
    chosen = modules.TensorDictSequential(first, parts).select_subsequence(out_keys=["hidden"])
    return [found, mode, whole.log_prob(found), losses, chosen(held.clone())]


def batches(device: str) -> list[Any]:
    """Maps over parts, and functions mapped over a batch."""
    held = _held(device)
    merged = torch.vmap(lambda each: each.apply(lambda value: value * 2))(held)
    sums = held.apply(lambda each: each.float().sum(-1) if each.ndim > 1 else each, batch_size=[4])
    return [merged, sums, list(held.unbind(0)), held.where(held["b", "d"] > 0.5, held * 0),
            held.sorted_keys, held.cat_tensors("a", out_key="joined", dim=-1)]  # fmt: skip
