"""What tracing costs: `python benchmarks/trace_overhead.py [--quick] [--least] [--calls] [--keep]`.

1. A small MLP training step on torch (about 0.3 ms, the worst case) with one `.item()` a step:
   bare, traced, and under torch.profiler.
2. One intercepted sync point over the bare call, and an index that needs no wait.
3. The MLP step at full depth, beside a dispatch mode that does nothing.
4. A step with one read, in context: what the trace adds to its update and to its read, beside a
   stopwatch written by hand.
5. Calls in context: each with caches that other work has just filled, seven shapes taking turns;
   what the trace adds to each, and the same where caches are warm.
6. A loop of mxnet or jax with a wait a step, where they are installed.
7. What programs do beside steps: entering a limit, a read at a library's line, and what is asked of
   a running trace. With --calls that alone.
8. The MLP step once more, each of 256 steps at its least over all rounds: what is left when
   nothing else has the caches. With --least that alone; a busy machine can tell no other.

Blocks of steps take turns, so that what else the machine does meets all of them; each is compared
with the bare one of the same round. Printed are the median of these ratios and the interval that
holds the true one with 95 % confidence; rounds end once it is narrow, or are many. "bare again"
shows what the method itself adds. Where the thread that asks for the work also does it (torch on
one CPU thread), its CPU time is taken, of which other programs take none. With --keep the figures
go to `results/trace_overhead.json`, beside those of frameworks that are not installed here.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import asyncguard
from asyncguard.compat import restore_numpy_names
from asyncguard.runtime import compiled
from asyncguard.runtime.hub import BATCH
from asyncguard.runtime.session import Session

Loop = Callable[[int], object]
Context = Callable[[], AbstractContextManager[Any]]
Clock = Callable[[], float]
Rounds = dict[str, list[float]]  # name -> seconds a step, round by round

WIDTH = 0.005  # of an interval that is narrow enough
RESULTS: dict[str, dict[str, object]] = {}


class Interval(NamedTuple):
    """A median and what it lies between, with 95 % confidence."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Interval:
        """From the ranks of the values: nothing is assumed of how they are distributed."""
        ordered, count = sorted(values), len(values)
        reach = 0.98 * math.sqrt(count)
        low, high = math.floor(count / 2 - reach), math.ceil(count / 2 + reach)
        return cls(ordered[max(low, 0)], ordered[count // 2], ordered[min(high, count - 1)])


def seconds(loop: Loop, steps: int, context: Context, clock: Clock) -> float:
    """The time of one step, without entering and leaving the context."""
    with context():
        loop(steps // 8 + 1)
        begin = clock()
        loop(steps)
        return (clock() - begin) / steps


def compare(
    loop: Loop,
    steps: int,
    rounds: int,
    contexts: dict[str, Context],
    clock: Clock = time.thread_time,
) -> Rounds:
    """Let all take turns: a tenth of the rounds at least, then until the intervals are narrow."""
    loop(steps)
    contexts = {**contexts, "bare again": contexts["bare"]}
    times: Rounds = {name: [] for name in contexts}
    for at in range(rounds):
        for name in contexts if at % 2 else reversed(contexts):
            times[name].append(seconds(loop, steps, contexts[name], clock))
        ratios = [ratio(times, name) for name in contexts]
        if at > rounds / 10 and all(each.high - each.low < WIDTH for each in ratios):
            break
    return times


def ratio(times: Rounds, name: str, base: str = "bare") -> Interval:
    """How many times as long as `base` it takes."""
    return Interval.of([a / b for a, b in zip(times[name], times[base], strict=True)])


def show(title: str, times: Rounds) -> None:
    """Print one comparison."""
    print(f"{title} ({len(times['bare'])} rounds)")
    for name, values in times.items():
        low, middle, high = ratio(times, name)
        each = Interval.of(values).middle * 1e6
        print(f"  {name:22} {each:10.2f} us   {middle:6.3f}x   [{low:.4f}, {high:.4f}]")


def judge(name: str, found: Interval, limit: float) -> None:
    """Print and note a figure with what it must not exceed."""
    low, value, high = (round(each, 4) for each in found)
    RESULTS[name] = {
        "value": value,
        "interval": [low, high],
        "limit": limit,
        "holds": value <= limit,
        "date": date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),  # of the machine: what shares its caches counts
    }
    print(f"  {name}: {value:g} (at most {limit:g}){'' if value <= limit else '  MISSED'}")


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

    torch.set_num_threads(1)
    loop = torch_mlp(torch)
    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    times = compare(loop, BATCH, 10 if quick else 200, contexts)
    show("torch, MLP step with one .item()", times)
    judge("torch, times bare", ratio(times, "traced"), 1.02)
    at_its_least(torch, 10 if quick else 60)
    beside_the_profiler(loop, 2 if quick else 10)
    of_one_call(torch, 10 if quick else 100)
    at_full_depth(torch, loop, 4 if quick else 100)
    beside_steps(torch, 10 if quick else 100)
    in_a_step(torch, 6 if quick else 200)
    in_context(torch, 6 if quick else 60)


def at_its_least(torch: Any, rounds: int) -> None:
    """Each step of a batch at its least: a batch holds whatever is done once in so many waits."""
    torch.set_num_threads(1)
    loop = torch_mlp(torch)
    loop(BATCH)
    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session, "again": nullcontext}
    least: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name, context in contexts.items():
            taken = each_step(loop, context)
            least[name] = [min(pair) for pair in zip(taken, least.get(name, taken), strict=True)]
    bare = sum(least["bare"])
    print(f"torch, MLP step at its least ({rounds} rounds)")
    for name, values in least.items():
        print(f"  {name:22} {sum(values) / BATCH / 1e3:10.2f} us   {sum(values) / bare:6.4f}x")
    found = sum(least["traced"]) / bare
    judge("torch, times bare, at its least", Interval(found, found, found), 1.02)


def each_step(loop: Loop, context: Context) -> list[int]:
    """The CPU time of each step of a batch, nanoseconds."""
    taken, clock = [], time.thread_time_ns
    with context():
        for _ in range(BATCH):
            began = clock()
            loop(1)
            taken.append(clock() - began)
    return taken


def beside_the_profiler(loop: Loop, rounds: int) -> None:
    """What torch's own profiler costs on the same loop."""
    from torch.profiler import ProfilerActivity, profile

    cpu = [ProfilerActivity.CPU]
    contexts: dict[str, Context] = {
        "bare": nullcontext,
        "traced": Session,
        "torch.profiler": lambda: profile(activities=cpu),
        "... with stacks": lambda: profile(activities=cpu, with_stack=True),
    }
    show("the same, beside the profiler", compare(loop, 40, rounds, contexts))


def of_one_call(torch: Any, rounds: int) -> None:
    """What one hook adds to a call, with a trace and after it."""
    value, rows = torch.ones(()), torch.ones(8, 8)

    def read(times: int) -> None:
        for _ in range(times):
            value.item()

    def index(times: int) -> None:
        for _ in range(times):
            rows[3]

    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    before = dict(vars(torch.Tensor))
    for name, each, limit in (("a read", read, 1500), ("a plain index", index, 1500)):
        times = compare(each, 10_000, rounds, contexts)
        show(f"torch, {name} alone", times)
        pairs = zip(times["traced"], times["bare"], strict=True)
        judge(
            f"torch, {name}, ns over the bare one",
            Interval.of([(a - b) * 1e9 for a, b in pairs]),
            limit,
        )
    replaced = sum(now is not before.get(name) for name, now in vars(torch.Tensor).items())
    judge("torch, attributes replaced without a trace", Interval(replaced, replaced, replaced), 0)


def beside_steps(torch: Any, rounds: int) -> None:
    """Limits that are entered often, reads within libraries, and questions to a running trace."""
    entered, left = [], []
    with asyncguard.forbid_syncs():
        pass  # what is made once is made here
    for _ in range(10 * rounds):
        limit = asyncguard.forbid_syncs()
        began = time.thread_time_ns()
        limit.__enter__()
        between = time.thread_time_ns()
        limit.__exit__(None, None, None)
        entered.append(float(between - began))
        left.append(float(time.thread_time_ns() - between))
    print(f"torch, a limit entered and left {10 * rounds} times")
    judge("torch, a limit entered, CPU ns", Interval.of(entered), 500_000)
    judge("torch, a limit left, CPU ns", Interval.of(left), 500_000)

    value, names = torch.ones(()), {}
    path = os.path.join("", "site-packages", "library.py")
    exec(compile("def read(x):\n    return x.item()\n", path, "exec"), names)
    read = names["read"]

    def loop(times: int) -> None:
        for _ in range(times):
            read(value)

    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    times = compare(loop, 10_000, rounds, contexts)
    show("torch, a read at a library's line", times)
    pairs = zip(times["traced"], times["bare"], strict=True)
    over = Interval.of([(a - b) * 1e9 for a, b in pairs])
    judge("torch, a read at a library's line, ns over the bare one", over, 1500)
    asking(value, rounds)


def asking(value: Any, rounds: int) -> None:
    """What `trace.total_syncs` and its like take early and late in a trace with a timeline."""
    taken: list[list[float]] = []
    with asyncguard.trace(timeline=100_000) as trace:
        for _ in range(2):
            asked = []
            for _ in range(rounds):
                value.item()
                asyncguard.step()
                began = time.thread_time_ns()
                _ = trace.total_syncs, trace.syncs_per_step, trace.cpu_stall_ns
                asked.append(float(time.thread_time_ns() - began))
            taken.append(asked)
            for _ in range(5000):
                value.item()
                asyncguard.step()
    early, late = map(Interval.of, taken)
    print(
        f"a running trace is asked for three figures: {early.middle:.0f}, later {late.middle:.0f}"
    )
    pairs = zip(taken[1], taken[0], strict=True)
    judge("a running trace, late over early", Interval.of([a / b for a, b in pairs]), 1.5)


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
    times = compare(loop, BATCH, rounds, contexts)
    show("torch, MLP step at full depth", times)
    over = ratio(times, "traced, full depth", "bare dispatch mode")
    judge("torch at full depth, times a bare dispatch mode", over, 1.1)


def in_a_step(torch: Any, rounds: int) -> None:
    """What the trace adds to a step with one read, in the step: where no cache is warm.

    Timed are the update, whose end marks the step, and the read; a block's median each. Blocks take
    turns, so that the other load of the machine meets all of them. Beside the trace runs what ten
    lines of Python need to count steps and time the read: a machine where those add more than the
    limit has no tool that keeps it.
    """
    contexts: dict[str, Context] = {
        "bare": nullcontext,
        "traced": Session,
        "stopwatch": lambda: stopwatch(torch),
        "again": nullcontext,
    }
    for batch in (8, 128):
        step = timed_step(torch, batch)
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contexts}
        for at in range(rounds):
            for name in taken if at % 2 else reversed(taken):
                with contexts[name]():
                    for _ in range(32):
                        step()
                    taken[name].append(medians([step() for _ in range(64)]))
        whole = Interval.of([each[2] for each in taken["bare"]]).middle
        print(f"torch, a step of {whole / 1e3:.0f} us, ns added in it ({rounds} rounds)")
        added = {}
        for name in ("traced", "stopwatch", "again"):
            pairs = list(zip(taken[name], taken["bare"], strict=True))
            update, read = (Interval.of([a[at] - b[at] for a, b in pairs]) for at in (0, 1))
            print(f"  {name:9} update {update.middle:6.0f} {update[::2]}, read {read.middle:6.0f}")
            added[name] = Interval.of([a[0] + a[1] - b[0] - b[1] for a, b in pairs])
        named = f"torch, a step with one read, batch {batch}"
        judge(f"{named}, ns added", added["traced"], 3000)
        judge(f"{named}, ns added by a stopwatch", added["stopwatch"], 3000)


@contextmanager
def stopwatch(torch: Any) -> Iterator[None]:
    """Count updates and time reads, by the least Python that does so."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    log: list[tuple[int, int, int]] = []
    steps, clock, item = itertools.count(1), time.perf_counter_ns, torch.Tensor.item
    now = 0

    def updated(_optimizer: object, _args: object, _kwargs: object) -> None:
        nonlocal now
        now = next(steps)

    def read(value: Any) -> Any:
        began = clock()
        result = item(value)
        log.append((began, clock(), now))
        return result

    hook = register_optimizer_step_post_hook(updated)
    torch.Tensor.item = read
    try:
        yield
    finally:
        hook.remove()
        del torch.Tensor.item


def medians(steps: list[tuple[int, int, int]]) -> tuple[float, float, float]:
    """Of update, read and the whole, each for itself."""
    update, read, whole = (
        Interval.of(list(map(float, each))).middle for each in zip(*steps, strict=True)
    )
    return update, read, whole


def timed_step(torch: Any, batch: int) -> Callable[[], tuple[int, int, int]]:
    """A training step of a small MLP that tells what its update, its read and all of it took."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(batch, 128), torch.randint(10, (batch,))
    clock = time.perf_counter_ns

    def step() -> tuple[int, int, int]:
        began = clock()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        before = clock()
        optimizer.step()
        between = clock()
        loss.item()
        after = clock()
        return between - before, after - between, after - began

    return step


def in_context(torch: Any, rounds: int) -> None:
    """What the trace adds to each of several calls that take turns, with caches cold and warm."""
    for name, size in (("cold", 1 << 19), ("warm", 16)):
        calls = alternating(torch, size)
        times: dict[str, list[list[float]]] = {"bare": [], "traced": []}
        for at in range(rounds):
            order = ("bare", "traced") if at % 2 else ("traced", "bare")
            for context in order:
                with nullcontext() if context == "bare" else Session():
                    calls(10)
                    times[context].append(calls(100))
        print(f"torch, calls in context, caches {name} ({rounds} rounds)")
        for at, call in enumerate(CALLS):
            pairs = zip(times["traced"], times["bare"], strict=True)
            added = Interval.of([traced[at] - bare[at] for traced, bare in pairs])
            alone = Interval.of([bare[at] for bare in times["bare"]]).middle
            print(f"  {call:22} {alone:10.0f} ns   + {added.middle:.0f} ns")


CALLS = ("item", "tolist", "float", "bool", "tensor of a list", "copy_", "optimizer step")


def alternating(torch: Any, size: int) -> Callable[[int], list[float]]:
    """Calls that take turns, so many numbers copied before each; each one's median time, ns."""
    source, target = torch.ones(size, dtype=torch.float64), torch.ones(size, dtype=torch.float64)
    a, b, c, clock = torch.ones(()), torch.ones(4), torch.zeros(4), time.perf_counter_ns
    weight = torch.nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    plain = source.numpy(), target.numpy()

    def thrash() -> int:
        plain[1][:] = plain[0]
        return clock()

    actions: tuple[Callable[[], object], ...] = (
        lambda: a.item(),
        lambda: b.tolist(),
        lambda: float(a),
        lambda: bool(a),
        lambda: torch.tensor([1.0, 2.0]),
        lambda: c.copy_(b),
        optimizer.step,
    )

    def run(times: int) -> list[float]:
        taken: list[list[float]] = [[] for _ in actions]
        for _ in range(times):
            for action, durations in zip(actions, taken, strict=True):
                began = thrash()
                action()
                durations.append(clock() - began)
        return [Interval.of(durations).middle for durations in taken]

    return run


def on_mxnet(quick: bool) -> None:
    """A step that is enqueued and waited for."""
    restore_numpy_names()
    from mxnet import np

    x = np.ones((200, 200))

    def loop(steps: int) -> None:
        for _ in range(steps):
            np.dot(x, x).wait_to_read()

    of_waits("mxnet", "dot and wait_to_read", loop, quick)


def on_jax(quick: bool) -> None:
    """A compiled step that is dispatched and waited for."""
    import jax

    x = jax.numpy.ones((300, 300))
    step = jax.jit(lambda a: a @ a * 0.001)

    def loop(steps: int) -> None:
        for _ in range(steps):
            step(x).block_until_ready()

    of_waits("jax", "matmul and block_until_ready", loop, quick)


def of_waits(framework: str, what: str, loop: Loop, quick: bool) -> None:
    """A loop on a backend that computes in threads of its own."""
    contexts: dict[str, Context] = {"bare": nullcontext, "traced": Session}
    times = compare(loop, BATCH, 10 if quick else 400, contexts, time.perf_counter)
    show(f"{framework}, {what}", times)
    judge(f"{framework}, times bare", ratio(times, "traced"), 1.02)


MEASURED = (("torch", on_torch), ("mxnet", on_mxnet), ("jax", on_jax))


def measure(options: argparse.Namespace) -> None:
    """Measure what is asked for."""
    if options.least or options.calls:
        import torch

        if options.least:
            at_its_least(torch, 60)
        if options.calls:
            beside_steps(torch, 10 if options.quick else 100)
        return
    for name, on_framework in MEASURED:
        if importlib.util.find_spec(name):
            on_framework(options.quick)
        else:
            print(f"{name}: not installed here")


def keep(target: Path) -> None:
    """Write the figures, over those that were measured before."""
    before = json.loads(target.read_text()) if target.exists() else {}
    target.write_text(json.dumps({**before, **RESULTS}, indent=2) + "\n")


def main() -> int:
    """Measure on each framework that is installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a few rounds only")
    parser.add_argument("--least", action="store_true", help="only the least of each step")
    parser.add_argument("--calls", action="store_true", help="only what is done beside steps")
    parser.add_argument("--keep", action="store_true", help="keep the figures in results/")
    options = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a long run shows how far it is
        sys.stdout.reconfigure(line_buffering=True)
    print(f"the short way of reads is {'Python' if compiled.quick is None else 'compiled'}")
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    try:
        measure(options)
    finally:
        if options.keep:
            keep(Path(__file__).parent / "results" / "trace_overhead.json")
    return 0 if all(each["holds"] for each in RESULTS.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
