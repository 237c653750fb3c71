"""How fast the reference engine is: against MXNet, against bare NumPy, on two workers.

    python benchmarks/engine_speed.py [chapter|dot|parallel|million|idle] ...

With no name, all of them. Each part prints the figures of every round and their median (rounds of
the rivals alternate, so that a neighbour on the machine disturbs both), with the limit that
must hold; the exit status is 1 where one does not. `chapter` needs mxnet.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from asyncguard import engine
from asyncguard.compat import restore_numpy_names
from asyncguard.engine import np

ROUNDS = 5
COUNT = 10_000
RESULTS: dict[str, Any] = {}


def seconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def alternate(rivals: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Time each rival once a round, after one round to warm up; print and return the medians."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for number in range(rounds + 1):
        for name, work in rivals.items():
            took = seconds(work)
            if number:
                times[name].append(took)
    for name, values in times.items():
        shown = " ".join(f"{value:.4f}" for value in values)
        print(f"  {name:<28} median {statistics.median(values):.4f} s   ({shown})")
    return {name: statistics.median(values) for name, values in times.items()}


def judge(what: str, value: float, limit: float, at_most: bool = True) -> bool:
    """Print and keep one figure beside its limit; return whether it holds."""
    holds = value <= limit if at_most else value >= limit
    sign = "at most" if at_most else "at least"
    print(f"  {what}: {value:.3f} ({sign} {limit}) {'holds' if holds else 'DOES NOT HOLD'}")
    RESULTS[what] = {"value": round(value, 4), "limit": limit, "holds": holds}
    return holds


def chapter() -> bool:
    """10,000 times ``y = x + 1`` on shape (1, 2): one wait at the end, then one in each round."""
    restore_numpy_names()  # mxnet 1.9.1 reads a name that NumPy 1.24 took away
    from mxnet import np as mx_np
    from mxnet import npx

    npx.set_np()
    ours, theirs = np.ones((1, 2)), mx_np.ones((1, 2))

    def ahead(x: Any, waitall: Callable[[], object]) -> None:
        for _ in range(COUNT):
            y = x + 1  # noqa: F841
        waitall()

    def each(x: Any) -> None:
        for _ in range(COUNT):
            y = x + 1
            y.wait_to_read()

    print(f"{COUNT:,} times y = x + 1 on shape (1, 2)")
    median = alternate(
        {
            "mxnet, one waitall": lambda: ahead(theirs, npx.waitall),
            "engine, one waitall": lambda: ahead(ours, engine.waitall),
            "mxnet, wait each": lambda: each(theirs),
            "engine, wait each": lambda: each(ours),
        }
    )
    asynchronous = median["engine, one waitall"] / median["mxnet, one waitall"]
    waiting = median["engine, wait each"] / median["mxnet, wait each"]
    return all(
        [
            judge("asynchronous, share of mxnet's time", asynchronous, 1 / 4),
            judge("wait each iteration, share of mxnet's time", waiting, 1 / 3),
        ]
    )


def dot() -> bool:
    """1000 x 1000 matrix products: what the engine adds to NumPy's own time."""
    a = numpy.random.default_rng(0).standard_normal((1000, 1000))
    x = np.array(a)

    def bare() -> None:
        for _ in range(5):
            a.dot(a)

    def ours() -> None:
        for _ in range(5):
            np.dot(x, x).wait_to_read()

    print("5 times dot, 1000 x 1000")
    median = alternate({"numpy": bare, "engine": ours}, rounds=11)
    return judge("dot, over numpy's time", median["engine"] / median["numpy"], 1.03)


def parallel() -> bool:
    """Two independent chains of calls that release the GIL, on one worker and on two."""
    data = numpy.random.default_rng(0).standard_normal(1_000_000)

    def chains() -> None:
        first, second = np.array(data), np.array(data)
        for _ in range(20):
            first, second = np.sin(first), np.sin(second)
        engine.waitall()

    def on(workers: int) -> Callable[[], None]:
        def work() -> None:
            with engine.use(fleet[workers]):
                chains()

        return work

    fleet = {workers: engine.ThreadedEngine(workers) for workers in (1, 2)}
    print("two chains of 20 times sin over 1,000,000 numbers")
    median = alternate({"one worker": on(1), "two workers": on(2)})
    for each in fleet.values():
        each.close()
    gain = median["one worker"] / median["two workers"]
    return judge("two workers, times as fast", gain, 1.7, at_most=False)


def million() -> bool:
    """1,000,000 operations, pending all at once, then drained: what stays behind."""

    def push(count: int) -> None:
        gate, started = threading.Event(), threading.Event()
        engine.current().push(lambda: (started.set(), gate.wait()))
        started.wait()  # from here on the only worker is busy, and nothing leaves the queue
        x = np.ones((1, 2))
        for _ in range(count):
            x = x + 1
        gate.set()
        engine.waitall()

    push(1000)
    gc.collect()
    threads, before = threading.active_count(), _resident()
    took = seconds(lambda: push(1_000_000))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gc.collect()
    grown = _resident() - before
    print(f"1,000,000 operations in {took:.2f} s; {before:.0f} MB before, peak {peak:.0f} MB")
    print(f"  peak depth {engine.current().peak_depth:,}, depth now {engine.current().depth}")
    alive = sum(isinstance(each, engine.Variable) for each in gc.get_objects())
    return all(
        [
            judge("resident memory grown, MB", grown, 20),
            judge("threads grown", threading.active_count() - threads, 0),
            judge("variables alive", alive, 100),
        ]
    )


def idle() -> bool:
    """CPU time of a process with eight workers in a second in which there is nothing to do."""
    with engine.use(engine.ThreadedEngine(8)) as eight:
        big = [np.sin(np.zeros(100_000)) for _ in range(32)]
        engine.waitall()
        begin = time.process_time()
        time.sleep(1)
        used = time.process_time() - begin
        del big
    eight.close()
    print("eight idle workers")
    return judge("CPU seconds in a second of idleness", used, 0.005)


def _resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


PARTS: dict[str, Callable[[], bool]] = {
    part.__name__: part for part in (chapter, dot, parallel, million, idle)
}


def main(names: list[str]) -> int:
    """Run the parts called `names` (none: all) and keep the figures in `results/`."""
    print(f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, {os.cpu_count()} cores")
    held = [PARTS[name]() for name in names or PARTS]
    if not names:
        target = Path(__file__).parent / "results" / "engine_speed.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(RESULTS, indent=2) + "\n")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
