"""What tracing costs: `python benchmarks/trace_overhead.py [--quick]`.

1. A small MLP training step on torch (about 0.3 ms, the worst case) with one `.item()` a step:
   bare, traced, and under torch.profiler. Short rounds of each take turns, and what nine steps in
   ten exceed is compared: what a busy machine adds is no cost of ours.
2. One intercepted sync point over the bare call, and an index that needs no wait.
3. The MLP step at full depth, beside a dispatch mode that does nothing.
4. A loop of mxnet or jax with a wait a step, where they are installed.
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

Loop = Callable[[int], list[float]]
Context = Callable[[], AbstractContextManager[Any]]


def seconds(loop: Loop, steps: int, context: Context) -> list[float]:
    """One round: the time of each step, without entering and leaving the context."""
    with context():
        loop(steps // 10 + 1)
        return loop(steps)


def compare(
    loop: Loop, steps: int, rounds: int, contexts: dict[str, Context]
) -> dict[str, tuple[float, float]]:
    """Name -> (seconds a step, times bare), over rounds in which all take turns.

    A step counts as what nine in ten exceed: what other programs on the machine add is no cost
    of ours. "bare" runs twice in each round: how far the two lie apart is the noise of a figure.
    """
    loop(steps)
    contexts = {**contexts, "bare again": contexts["bare"]}
    times: dict[str, list[float]] = {name: [] for name in contexts}
    for at in range(rounds):
        for name in list(contexts) if at % 2 else list(reversed(contexts)):
            times[name] += seconds(loop, steps, contexts[name])
    each = {name: sorted(values)[len(values) // 10] for name, values in times.items()}
    return {name: (time, time / each["bare"]) for name, time in each.items()}


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

    def loop(steps: int) -> list[float]:
        times, now = [], time.perf_counter
        for _ in range(steps):
            begin = now()
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss.item()
            times.append(now() - begin)
        return times

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

    def read(steps: int) -> list[float]:
        begin = time.perf_counter()
        for _ in range(steps):
            value.item()
        return [(time.perf_counter() - begin) / steps]

    def index(steps: int) -> list[float]:
        begin = time.perf_counter()
        for _ in range(steps):
            rows[3]
        return [(time.perf_counter() - begin) / steps]

    for name, each in (("value.item()", read), ("rows[3]", index)):
        result = compare(each, 4_000, 40 if quick else 400, contexts)
        show(f"torch, {name} alone", result)
        extra = result["traced"][0] - result["bare"][0]
        print(f"  {'one hook':22} {extra * 1e9:10.0f} ns over the bare call")
    at_full_depth(torch, loop, 20 if quick else 200)


def at_full_depth(torch: Any, loop: Loop, rounds: int) -> None:
    """Full depth beside a dispatch mode that does nothing: the least that one costs."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Nothing(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    contexts: dict[str, Context] = {
        "bare": nullcontext,
        "bare dispatch mode": Nothing,
        "traced, full depth": lambda: Session(depth="full"),
    }
    result = compare(loop, 40, rounds, contexts)
    show("torch, MLP step at full depth", result)
    more = result["traced, full depth"][0] / result["bare dispatch mode"][0]
    print(f"  {'over the bare mode':22} {more:23.3f}x")


def on_mxnet(quick: bool) -> None:
    """A step that is enqueued and waited for."""
    restore_numpy_names()
    from mxnet import np

    x = np.ones((200, 200))

    def loop(steps: int) -> list[float]:
        times, now = [], time.perf_counter
        for _ in range(steps):
            begin = now()
            np.dot(x, x).wait_to_read()
            times.append(now() - begin)
        return times

    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    show("mxnet, dot and wait_to_read", compare(loop, 30, 20 if quick else 200, contexts))


def on_jax(quick: bool) -> None:
    """A compiled step that is dispatched and waited for."""
    import jax

    x = jax.numpy.ones((300, 300))
    step = jax.jit(lambda a: a @ a * 0.001)

    def loop(steps: int) -> list[float]:
        times, now = [], time.perf_counter
        for _ in range(steps):
            begin = now()
            step(x).block_until_ready()
            times.append(now() - begin)
        return times

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
