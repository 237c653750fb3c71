"""What `asyncguard.later` costs Python on the CPU: `python benchmarks/later.py [--keep]`.

For each framework that is installed, microseconds a call: of `later` with one scalar, with three in
a dictionary, and with an array of 1,000 numbers; of `Later.put` and `ready` together; and, beside
them, of one operator of the framework's (`x + 1`), which is what a call enqueues at the least. The
bound is 25 us for one scalar: "bound" says whether it holds, and "in operators" what the call takes
in multiples of that operator, where the operator alone takes longer than the bound.

Blocks of calls take turns, with everything finished between two of them; given is the least of all
blocks, since whatever else the machine does only adds. On the simulated CUDA device the time is the
simulation's, and no measure of a real device's. With --keep the figures go to `results/later.json`,
beside those of frameworks that are not installed here.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import asyncguard
from asyncguard.compat import restore_numpy_names

BOUND_US = 25
CALLS, BLOCKS = 100, 60
RESULT = Path(__file__).parent / "results" / "later.json"
Made = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]


def _engine() -> Made:
    from asyncguard import engine

    return (
        lambda: engine.np.ones(()),
        lambda: engine.np.ones((1000,)),
        engine.waitall,
    )


def _torch() -> Made:
    import torch

    return lambda: torch.ones(()), lambda: torch.ones(1000), lambda: None


def _mxnet() -> Made:
    restore_numpy_names()
    import mxnet

    mxnet.npx.set_np()
    ones = mxnet.np.ones
    return lambda: ones(()), lambda: ones((1000,)), mxnet.nd.waitall


def _jax() -> Made:
    import jax

    ones = jax.numpy.ones
    return lambda: ones(()), lambda: ones(1000), lambda: ones(()).block_until_ready()


def _tensorflow() -> Made:
    import tensorflow as tf

    return lambda: tf.ones(()), lambda: tf.ones(1000), lambda: None


FRAMEWORKS = {
    "engine": _engine, "torch": _torch, "mxnet": _mxnet, "jax": _jax, "tensorflow": _tensorflow,
}  # fmt: skip


def measured(made: Made) -> dict[str, float]:
    """Microseconds a call, of each kind."""
    scalar, array, finish = made
    x, y, three = scalar(), array(), {name: scalar() for name in ("loss", "norm", "rate")}
    queue = asyncguard.Later(limit=10_000)

    def queued() -> None:
        queue.put(0, x)
        for _ in queue.ready():
            pass

    calls: dict[str, Callable[[], object]] = {
        "one operator": lambda: x + 1,
        "later, one scalar": lambda: asyncguard.later(x),
        "later, three scalars": lambda: asyncguard.later(three),
        "later, 1,000 numbers": lambda: asyncguard.later(y),
        "put and ready": queued,
    }
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(BLOCKS):
        for name, call in calls.items():
            call()
            finish()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            least[name] = min(least[name], (time.perf_counter() - begin) / CALLS * 1e6)
            finish()
            list(queue.drain())
    return {name: round(took, 2) for name, took in least.items()}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """The frameworks that are installed, with their figures."""
    for name, make in FRAMEWORKS.items():
        if name == "engine" or importlib.util.find_spec(name) is not None:
            found: dict[str, Any] = measured(make())
            one = found["later, one scalar"]
            found["bound"] = one < BOUND_US
            found["in operators"] = round(one / found["one operator"], 2)
            yield name, found | {"measured": str(date.today())}


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    kept = parser.parse_args().keep
    found = dict(rows())
    for name, figures in found.items():
        print(name, json.dumps(figures))
    if kept:
        before = json.loads(RESULT.read_text())["frameworks"] if RESULT.exists() else {}
        machine = (
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        )
        result = {
            "unit": "us a call, least of all blocks",
            "machine": machine,
            "frameworks": before | found,
        }
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
