"""What tracing costs: `python benchmarks/trace_overhead.py [--quick]`.

1. A small MLP training step on torch (about 0.3 ms, the worst case) with one `.item()` a step:
   bare, traced, and under torch.profiler. Short rounds of each take turns, and the fastest of a
   hundred are compared: what a busy machine adds is no cost of ours.
2. One intercepted sync point over the bare call, and an index that needs no wait.
3. A loop of mxnet or jax with a wait a step, where they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from asyncguard.compat import restore_numpy_names
from asyncguard.runtime.session import Session

Loop = Callable[[int], None]
Context = Callable[[], AbstractContextManager[Any]]


def seconds(loop: Loop, steps: int, context: Context) -> float:
    """One round: the time of the steps alone, without entering and leaving the context."""
    with context():
        loop(steps // 20 + 1)
        begin = time.perf_counter()
        loop(steps)
        return (time.perf_counter() - begin) / steps


def compare(
    loop: Loop, steps: int, rounds: int, contexts: dict[str, Context]
) -> dict[str, tuple[float, float]]:
    """Name -> (seconds a step, times bare): the best of rounds in which all take turns."""
    loop(steps)
    best = dict.fromkeys(contexts, float("inf"))
    for at in range(rounds):
        for name in list(contexts) if at % 2 else list(reversed(contexts)):
            best[name] = min(best[name], seconds(loop, steps, contexts[name]))
    return {name: (time, time / best["bare"]) for name, time in best.items()}


def show(title: str, result: dict[str, tuple[float, float]]) -> None:
    """Print one comparison."""
    print(title)
    for name, (each, ratio) in result.items():
        print(f"  {name:22} {each * 1e6:10.2f} us   {ratio:6.3f}x")


def torch_mlp(torch: Any) -> Loop:
    """Training steps of a small MLP, each reading its loss."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(128, 128), torch.randint(10, (128,))

    def loop(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss.item()

    return loop


def on_torch(quick: bool) -> None:
    """The figures on torch."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.set_num_threads(1)
    loop = torch_mlp(torch)
    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    profiled = dict(contexts)
    cpu = [ProfilerActivity.CPU]
    profiled["torch.profiler"] = lambda: profile(activities=cpu)
    profiled["... with stacks"] = lambda: profile(activities=cpu, with_stack=True)
    rounds = 20 if quick else 300
    show("torch, MLP step with one .item()", compare(loop, 40, rounds, contexts))
    show("the same, beside the profiler", compare(loop, 40, 3 if quick else 10, profiled))
    value, rows = torch.ones(()), torch.ones(8, 8)

    def read(steps: int) -> None:
        for _ in range(steps):
            value.item()

    def index(steps: int) -> None:
        for _ in range(steps):
            rows[3]

    for name, each in (("value.item()", read), ("rows[3]", index)):
        result = compare(each, 4_000, 20 if quick else 200, contexts)
        show(f"torch, {name} alone", result)
        extra = result["traced"][0] - result["bare"][0]
        print(f"  {'one hook':22} {extra * 1e9:10.0f} ns over the bare call")


def on_mxnet(quick: bool) -> None:
    """A step that is enqueued and waited for."""
    restore_numpy_names()
    from mxnet import np

    x = np.ones((200, 200))

    def loop(steps: int) -> None:
        for _ in range(steps):
            np.dot(x, x).wait_to_read()

    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    show("mxnet, dot and wait_to_read", compare(loop, 30, 20 if quick else 200, contexts))


def on_jax(quick: bool) -> None:
    """A compiled step that is dispatched and waited for."""
    import jax

    x = jax.numpy.ones((300, 300))
    step = jax.jit(lambda a: a @ a * 0.001)

    def loop(steps: int) -> None:
        for _ in range(steps):
            step(x).block_until_ready()

    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    show("jax, matmul and block_until_ready", compare(loop, 30, 20 if quick else 200, contexts))


def main() -> None:
    """Measure on each framework that is installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a few rounds only")
    quick = parser.parse_args().quick
    for name, measure in (("torch", on_torch), ("mxnet", on_mxnet), ("jax", on_jax)):
        if importlib.util.find_spec(name):
            measure(quick)
        else:
            print(f"{name}: not installed here")


if __name__ == "__main__":
    main()
