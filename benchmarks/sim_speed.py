"""What simulation costs: `python benchmarks/sim_speed.py`; needs torch, for the CPU.

An eager training step of a small GPT and of an MLP, on the CPU as it is, on the simulated device,
and there within a trace, taking turns; the fastest step of each counts. A ratio of 5 on the GPT is
the limit that the project sets itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody writes it

import asyncguard

ROUNDS, STEPS = 5, 10
WIDTH, HEADS, WORDS, LENGTH = 128, 4, 256, 64


class Block(nn.Module):
    """One layer of the GPT."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        wide = 4 * WIDTH
        self.mlp = nn.Sequential(nn.Linear(WIDTH, wide), nn.GELU(), nn.Linear(wide, WIDTH))

    def forward(self, x: Any) -> Any:
        """Attention, then the MLP; (batch, length, width) in and out."""
        parts = self.qkv(self.before(x)).split(WIDTH, -1)
        q, k, v = (p.unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in parts)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.between(x))


def gpt() -> nn.Module:
    """Four layers of width 128 on 64 tokens."""
    blocks = [Block() for _ in range(4)]
    return nn.Sequential(nn.Embedding(WORDS, WIDTH), *blocks, nn.Linear(WIDTH, WORDS))


def mlp() -> nn.Module:
    """A step so short that the cost of each operator shows."""
    return nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)
    )


def step_of(make: Callable[[], nn.Module], device: str) -> Callable[[], None]:
    """A training step of a new model."""
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    if make is gpt:
        inputs = torch.randint(0, WORDS, (4, LENGTH)).to(device)
    else:
        inputs = torch.randn(32, 64).to(device)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).logsumexp(-1).mean().backward()
        optimizer.step()

    return step


def fastest(step: Callable[[], None]) -> float:
    """Milliseconds of the fastest of some steps."""
    times = []
    for _ in range(STEPS):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


@contextlib.contextmanager
def simulated(traced: bool) -> Iterator[None]:
    """The simulated device, in a trace or not."""
    with asyncguard.simulate_cuda(), asyncguard.trace() if traced else contextlib.nullcontext():
        yield


def measure(make: Callable[[], nn.Module]) -> dict[str, float]:
    """The fastest step of each way to run it."""
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        took = {"cpu": fastest(step_of(make, "cpu"))}
        for name, traced in (("simulated", False), ("simulated, traced", True)):
            with simulated(traced):
                took[name] = fastest(step_of(make, "cuda"))
        best = {name: min(ms, best.get(name, ms)) for name, ms in took.items()}
    return best


def main() -> None:
    """Measure, and print a table."""
    torch.set_num_threads(1)
    print("| program | device | ms a step | times the CPU's |")
    print("| --- | --- | --- | --- |")
    for make in (gpt, mlp):
        best = measure(make)
        for name, ms in best.items():
            print(f"| {make.__name__} | {name} | {ms:.2f} | {ms / best['cpu']:.2f} |")


if __name__ == "__main__":
    main()
