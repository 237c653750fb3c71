"""Is the stall that a trace reports the time that the program waited? Measured beside it.

On an asynchronous backend a matrix product is enqueued and its result waited for. A clock of this
script's own sits right around the framework's waiting function, below the hook. What it sums up and
what the trace reports must agree within 5 %, over waits of 0.1 ms to 100 ms. What the hook itself
costs the caller is shown too: `python benchmarks/stall_accuracy.py [--quick]`.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from asyncguard.compat import restore_numpy_names
from asyncguard.runtime.session import Session

Enqueue = Callable[[int], Any]  # the size of the work -> a pending value
Wait = Callable[[Any], Any]
SIZES = (200, 400, 800, 1600)
TOLERANCE = 0.05
SHORTEST = 50_000  # ns; below, the work was done before the wait began


class Timed:
    """A method of the framework with a clock around it; `ns` is what it has taken in all."""

    def __init__(self, owner: Any, name: str) -> None:
        self.ns = 0
        original = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter_ns()
            try:
                return original(*args, **kwargs)
            finally:
                self.ns += time.perf_counter_ns() - begin

        setattr(owner, name, timed)


def measure(name: str, timed: Timed, enqueue: Enqueue, wait: Wait, repeats: int) -> bool:
    """Compare the two measurements for each size of work; whether all agree."""
    agree = True
    for size in SIZES:
        wait(enqueue(size))
        with Session() as session:
            timed.ns = around = 0
            for _ in range(repeats):
                value = enqueue(size)
                begin = time.perf_counter_ns()
                wait(value)
                around += time.perf_counter_ns() - begin
        reported = session.record().cpu_stall_ns
        off = reported / timed.ns - 1
        short = timed.ns / repeats < SHORTEST
        good = short or abs(off) <= TOLERANCE
        agree &= good
        print(
            f"{name:11} {timed.ns / repeats / 1e6:9.3f} ms a wait   reported {off:+7.2%}   "
            f"hook {(around - timed.ns) / repeats / 1e3:6.1f} us   "
            f"{'(over before it was waited for)' if short else 'ok' if good else 'OFF'}"
        )
    return agree


def on_engine(repeats: int) -> bool:
    """The reference engine."""
    from asyncguard.engine import ThreadedEngine, np

    timed = Timed(ThreadedEngine, "wait_for_var")
    ones = {n: np.ones((n, n)) for n in SIZES}
    return measure(
        "engine", timed, lambda n: np.dot(ones[n], ones[n]), lambda y: y.wait_to_read(), repeats
    )


def on_mxnet(repeats: int) -> bool:
    """mxnet's own engine."""
    restore_numpy_names()
    from mxnet import nd, np

    timed = Timed(nd.NDArray, "wait_to_read")
    ones = {n: np.ones((n, n)) for n in SIZES}
    return measure(
        "mxnet", timed, lambda n: np.dot(ones[n], ones[n]), lambda y: y.wait_to_read(), repeats
    )


def on_jax(repeats: int) -> bool:
    """jax on the CPU."""
    import jax

    product = jax.jit(lambda a: a @ a)
    ones = {n: jax.numpy.ones((n, n)) for n in SIZES}
    timed = Timed(type(ones[SIZES[0]]), "block_until_ready")
    return measure(
        "jax", timed, lambda n: product(ones[n]), lambda y: y.block_until_ready(), repeats
    )


def on_tensorflow(repeats: int) -> bool:
    """tensorflow with asynchronous execution on the CPU."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.experimental.set_synchronous_execution(False)
    ones = {n: tf.ones((n, n)) for n in SIZES}
    timed = Timed(type(ones[SIZES[0]]), "numpy")
    return measure("tensorflow", timed, lambda n: ones[n] @ ones[n], lambda y: y.numpy(), repeats)


def on_torch(repeats: int) -> bool:
    """torch on a CUDA device."""
    import torch

    if not torch.cuda.is_available():
        print("torch: sees no CUDA device")
        return True
    ones = {n: torch.ones((4 * n, 4 * n), device="cuda") for n in SIZES}
    timed = Timed(torch.Tensor, "item")
    return measure("torch", timed, lambda n: (ones[n] @ ones[n])[0, 0], lambda y: y.item(), repeats)


def main() -> int:
    """Measure on each framework that is installed; 1 where a figure is off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a few waits only")
    repeats = 5 if parser.parse_args().quick else 20
    good = on_engine(repeats)
    frameworks = {"mxnet": on_mxnet, "jax": on_jax, "tensorflow": on_tensorflow, "torch": on_torch}
    for name, on in frameworks.items():
        if importlib.util.find_spec(name):
            good &= on(repeats)
        else:
            print(f"{name}: not installed here")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
