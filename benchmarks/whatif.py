"""Does the saving arrive that replay promises? `python benchmarks/whatif.py [--quick] [--keep]`.

For each framework that is installed here, pairs of programs: one as it is found, and the same after
doing what a suggestion says (read every ten steps, read three values at once, drop a barrier). From
the trace of the first the step time of the second is predicted, and compared with the measured one.
The host sleeps, as it does over I/O, for a share of what the device takes: less (backend-bound), as
much (balanced), more (frontend-bound). The device work is matrix products, on one thread; on the
engine it is operations that sleep for a millisecond, so that their durations are known exactly and
a busy machine does not change them. torch needs a CUDA device, and is asked with and without device
times. Elsewhere a busy machine does change them; with real-time priority (`chrt -r 1 python
benchmarks/whatif.py`) a busy machine gives the figures of a quiet one.

Both programs of a pair take turns, block by block, so that what else the machine does meets both.
Each block of the second is compared with the predictions from the blocks of the first right before
and after it; printed is the median over the rounds, with the quarter and three-quarter points. On a
busy machine the rounds go on until that median is known to 2 %, or there were 40. A pair is good
where the error is at most 10 %, all together where the mean error is below 5 %. With --keep the
figures go to `results/whatif.json`, beside those of frameworks that are not installed here.

On the reference engine also: whether replay of an unchanged run gives back the stall and the idle
time that the engine measured (within 5 %), and whether "one wait per batch" names the peak of
pending bytes (within 10 %).
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import asyncguard  # noqa: E402  after the threads are set
from asyncguard.advise.replay import Prediction  # noqa: E402
from asyncguard.api import Trace  # noqa: E402
from asyncguard.timeline.program import play, recorded  # noqa: E402

STEPS = 30
DEVICE_MS = 6.0
SIZE = 192  # of the matrices
ROWS, FEATURES = 2048, 256  # of a batch in the memory experiment: more than the weights have
ENOUGH, ENOUGH_MEAN = 0.10, 0.05
MOST_ROUNDS, KNOWN_TO = 40, 0.02  # the standard error of a median at which rounds end
PLACE = Path(__file__).parent / "results" / "whatif.json"

Value = Any  # of a framework


class Backend(NamedTuple):
    """What a program needs of a framework."""

    name: str
    work: Callable[[Value, int], Value]  # enqueue so many products
    read: Callable[[Value], object]  # bring it to the host
    barrier: Callable[[Value], object]  # the same, at a line of its own
    batch: Callable[[Sequence[Value]], Value]  # several values as one
    start: Value
    device_times: str | None = None
    device: str = ""  # its name, where it is not the CPU


class Shape(NamedTuple):
    """One program: host time before and after the enqueue (ms), and how it waits."""

    before_ms: float
    after_ms: float
    products: int
    parts: int = 1  # pieces that the device work is enqueued in, each read
    every: int = 1
    at_once: bool = False  # the parts are read as one
    barrier: bool = False  # wait for the first half of the work, too


class Pair(NamedTuple):
    """A program, the one after the change, and the change for `predict`."""

    name: str
    before: Shape
    after: Shape
    predict: Callable[[Trace], Prediction]


def run(backend: Backend, shape: Shape, steps: int = STEPS) -> Trace:
    """Trace the program. The first step is the warm-up; the last one ends with a read."""
    options = {"frameworks": [backend.name], "device_times": backend.device_times}
    with asyncguard.trace(timeline=1_000_000, **options) as trace:
        for step in range(steps + 1):
            one_step(backend, shape, step)
            asyncguard.step()
    return trace


def one_step(backend: Backend, shape: Shape, step: int) -> None:
    """Work on the host, enqueue, work again, read."""
    pause(shape.before_ms)
    values = []
    share = shape.products // shape.parts
    for _ in range(shape.parts):
        if shape.barrier:
            backend.barrier(backend.work(backend.start, share // 2))
            share -= share // 2
        values.append(backend.work(backend.start, share))
    pause(shape.after_ms)
    if step % shape.every:
        return
    if shape.at_once:
        backend.read(backend.batch(values))
        return
    for value in values:
        backend.read(value)


def pause(milliseconds: float) -> None:
    """Let the host be busy elsewhere."""
    if milliseconds:
        time.sleep(milliseconds / 1e3)


def pairs(products: int, device_ms: float) -> list[Pair]:
    """Five pairs, for work that takes the device so long."""

    def every_ten(name: str, before_ms: float, after_ms: float) -> Pair:
        shape = Shape(before_ms, after_ms, products)
        return Pair(
            name,
            shape,
            shape._replace(every=10),
            lambda trace: trace.predict(every=[(site, 10) for site in trace.sites]),
        )

    three = Shape(device_ms, 0, products, parts=3)
    barred = Shape(device_ms, 0, products, barrier=True)
    return [
        every_ten("backend-bound, read every 10", device_ms / 4, 0),
        every_ten("balanced, read every 10", device_ms, 0),
        every_ten("frontend-bound, read every 10", 3 * device_ms, 0),
        every_ten("overlapped already, read every 10", 0, device_ms / 2),
        Pair(
            "three reads as one",
            three,
            three._replace(at_once=True),
            lambda trace: trace.predict(batch=[trace.sites]),
        ),
        Pair(
            "a barrier less",
            barred,
            barred._replace(barrier=False),
            lambda trace: trace.predict(remove=[max(trace.sites, key=lambda site: site.line)]),
        ),
    ]


class Outcome(NamedTuple):
    """Medians over the rounds, in ms, and the relative error with its quartiles."""

    before_ms: float
    predicted_ms: float
    low_ms: float
    high_ms: float
    measured_ms: float
    error: float
    error_quartiles: tuple[float, float]
    rounds: int


def compare(backend: Backend, pair: Pair, rounds: int) -> Outcome:
    """Let both programs take turns."""
    run(backend, pair.before, 3)
    run(backend, pair.after, 3)
    traces, measured, errors = [run(backend, pair.before)], [], []
    predicted = [pair.predict(traces[0])]
    while len(errors) < rounds or (len(errors) < MOST_ROUNDS and _doubt(errors) > KNOWN_TO):
        measured.append(step_ms(run(backend, pair.after)))
        traces.append(run(backend, pair.before))
        predicted.append(pair.predict(traces[-1]))
        left, right = (p.step_ns / 1e6 for p in predicted[-2:])
        errors.append((left + right) / 2 / measured[-1] - 1)
    before = [step_ms(trace) for trace in traces]
    lower, middle, upper = statistics.quantiles(errors, n=4)
    return Outcome(
        statistics.median(before),
        statistics.median(p.step_ns for p in predicted) / 1e6,
        statistics.median(p.low_ns for p in predicted) / 1e6,
        statistics.median(p.high_ns for p in predicted) / 1e6,
        statistics.median(measured),
        middle,
        (lower, upper),
        len(errors),
    )


def _doubt(errors: Sequence[float]) -> float:
    """The standard error of the median, were the errors normally distributed."""
    lower, _, upper = statistics.quantiles(errors, n=4)
    return 1.25 * (upper - lower) / 1.35 / len(errors) ** 0.5


def step_ms(trace: Trace) -> float:
    """The mean step of a trace."""
    return trace.steady_duration_ns / trace.steady_steps / 1e6


def calibrated(backend: Backend) -> tuple[int, float]:
    """How many products take the device about DEVICE_MS now, and how long they take."""
    products = 12
    for _ in range(6):
        taken = []
        for _ in range(15):
            begin = time.perf_counter()
            backend.read(backend.work(backend.start, products))
            taken.append((time.perf_counter() - begin) * 1e3)
        device_ms = statistics.quantiles(taken, n=4)[0]  # as it is while nothing else runs
        if 0.7 < device_ms / DEVICE_MS < 1.4:
            break
        products = max(6, 6 * round(products * DEVICE_MS / device_ms / 6))
    return products, device_ms


def on_engine() -> Backend:
    """The reference engine, with operations of which the duration is known."""
    from asyncguard import engine

    current = engine.current()

    def work(value: Value, products: int) -> Value:
        made = current.new_variable()
        for _ in range(products):
            current.push(lambda: time.sleep(1e-3), reads=[value], writes=[made], name="millisecond")
        return made

    def batch(values: Sequence[Value]) -> Value:
        made = current.new_variable()
        current.push(lambda: None, reads=values, writes=[made], name="stack")
        return made

    return Backend(
        "engine",
        work,
        lambda v: current.wait_for_var(v),
        lambda v: current.wait_for_var(v),
        batch,
        current.new_variable(),
    )


def chain(product: Callable[[Value, Value], Value], factor: Value) -> Callable[[Value, int], Value]:
    """Enqueue products with a matrix, one after the other."""

    def work(value: Value, products: int) -> Value:
        for _ in range(products):
            value = product(value, factor)
        return value

    return work


def on_mxnet() -> Backend:
    """mxnet's own engine."""
    from asyncguard.compat import restore_numpy_names

    restore_numpy_names()
    from mxnet import np

    factor = np.ones((SIZE, SIZE)) / SIZE
    return Backend(
        "mxnet",
        chain(np.dot, factor),
        lambda v: v.asnumpy(),
        lambda v: v.wait_to_read(),
        np.concatenate,
        factor,
    )


def on_jax() -> Backend:
    """jax on the CPU: one compiled loop."""
    import jax

    factor = jax.numpy.ones((SIZE, SIZE)) / SIZE
    work = jax.jit(lambda v, n: jax.lax.fori_loop(0, n, lambda _, x: x @ factor, v))
    batch = jax.jit(lambda vs: sum(v[0, 0] for v in vs))
    return Backend(
        "jax", work, lambda v: jax.device_get(v), lambda v: v.block_until_ready(), batch, factor
    )


def on_tensorflow() -> Backend:
    """tensorflow with asynchronous execution on the CPU: one compiled loop."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.experimental.set_synchronous_execution(False)
    factor = tf.ones((SIZE, SIZE)) / SIZE

    @tf.function
    def loop(value: Value, products: Value) -> Value:
        for _ in tf.range(products):
            value = value @ factor
        return value

    @tf.function
    def batch(values: Sequence[Value]) -> Value:
        return tf.add_n(values)

    return Backend(
        "tensorflow",
        lambda v, n: loop(v, tf.constant(n)),
        lambda v: v.numpy(),
        lambda v: v.numpy(),
        batch,
        factor,
    )


def on_torch(device_times: str | None = None) -> Backend | None:
    """torch on a CUDA device; None where there is none, since on the CPU it waits for each call.

    Without device times the work of the device has to be inferred from the waits.
    """
    import torch

    if not torch.cuda.is_available():
        return None
    size = 10 * SIZE
    factor = torch.ones((size, size), device="cuda") / size

    def batch(values: Sequence[Value]) -> Value:
        return torch.stack([value[0, 0] for value in values])

    return Backend(
        "torch",
        chain(torch.matmul, factor),
        lambda v: v[0, 0].item() if v.ndim == 2 else v.tolist(),
        lambda _: torch.cuda.synchronize(),
        batch,
        factor,
        device_times,
        torch.cuda.get_device_name(),
    )


BACKENDS: dict[str, Callable[[], Backend | None]] = {
    "engine": on_engine,
    "mxnet": on_mxnet,
    "jax": on_jax,
    "tensorflow": on_tensorflow,
    "torch": on_torch,
    "torch with device times": lambda: on_torch("cupti"),
}


def unchanged(backend: Backend, products: int, device_ms: float) -> dict[str, float]:
    """On the engine: replayed stall and idle time over the measured ones, the worst of programs."""
    worst = {"stall": 1.0, "idle": 1.0}
    for pair in pairs(products, device_ms):
        record = run(backend, pair.before).record
        program = recorded(record.timeline, record.step_count - record.steady_steps)
        assert program is not None
        played = play(program)
        begin = next(e.end_ns for e in record.timeline if e.kind == "step" and e.name == "step 0")
        inside = [e for e in record.timeline if e.begin_ns >= begin]
        measured = {
            "stall": sum(e.end_ns - e.begin_ns for e in inside if e.kind == "wait"),
            "idle": sum(e.end_ns - e.begin_ns for e in inside if e.kind == "idle"),
        }
        replayed = {
            "stall": sum(wait.end_ns - wait.begin_ns for wait in played.waits),
            "idle": sum(bubble.end - bubble.begin for bubble in played.bubbles),
        }
        for name, value in measured.items():
            ratio = replayed[name] / value
            if abs(ratio - 1) > abs(worst[name] - 1):
                worst[name] = ratio
    return {name: round(ratio, 4) for name, ratio in worst.items()}


def memory(repeats: int = 5) -> dict[str, Any]:
    """The chapter's experiment: the peak without a wait; with one a batch, predicted and real.

    Waited for is the update, the last operation of the batch, or the loss, behind which a part of
    the update still runs as the next batch is enqueued.
    """
    waits: dict[str, bool | str] = {"the update": True, "the loss": "mean"}
    free = [trained(None) for _ in range(repeats)]
    result: dict[str, Any] = {"without a wait, MiB": median_mib(peak for _, peak in free)}
    for target, operation in waits.items():
        predictions = [trace.predict(wait_each_step=operation) for trace, _ in free]
        predicted = median_mib(found.peak_pending_bytes or 0 for found in predictions)
        measured = median_mib(trained(target)[1] for _ in range(repeats))
        result[f"one wait per batch, for {target}"] = {
            "predicted, MiB": predicted,
            "measured, MiB": measured,
            "error": round(predicted / measured - 1, 4),
        }
    return result


def median_mib(sizes: Iterable[int]) -> float:
    """The median of some numbers of bytes, in MiB."""
    return round(statistics.median(sizes) / 2**20, 3)


def trained(wait_for: str | None, batches: int = 40) -> tuple[Trace, int]:
    """Train on the engine; the trace, and the peak of pending bytes after the first batch."""
    import numpy

    from asyncguard import engine
    from asyncguard.engine import np

    features = numpy.eye(ROWS, FEATURES)
    with engine.ThreadedEngine(1) as worker, engine.use(worker):
        weights = np.ones((FEATURES, FEATURES)) / FEATURES
        trace = asyncguard.trace(timeline=1_000_000, frameworks=["engine"])
        with trace:
            for batch in range(batches + 1):
                hidden = np.tanh(np.dot(np.array(features), weights))
                loss = (hidden * hidden).mean()
                weights -= 0.01 * np.dot(np.array(features).T, hidden)
                if wait_for is not None:
                    (weights if wait_for == "the update" else loss).wait_to_read()
                if batch == 0:
                    engine.waitall()
                    worker.reset_peaks()
                asyncguard.step()
            engine.waitall()
        return trace, worker.peak_pending_bytes


def measure(name: str, backend: Backend, rounds: int) -> dict[str, Any]:
    """All pairs of one framework."""
    products, device_ms = calibrated(backend)
    print(f"{name}: {products} products take {device_ms:.1f} ms", flush=True)
    result: dict[str, Any] = {"pairs": {}}
    for pair in pairs(products, device_ms):
        found = compare(backend, pair, rounds)
        print(
            f"  {pair.name:36} {found.before_ms:7.2f} ms -> predicted {found.predicted_ms:7.2f} "
            f"({found.low_ms:.2f} to {found.high_ms:.2f}), measured {found.measured_ms:7.2f}: "
            f"{found.error:+.1%} ({found.error_quartiles[0]:+.1%} to "
            f"{found.error_quartiles[1]:+.1%})",
            flush=True,
        )
        result["pairs"][pair.name] = rounded(found)
    if name == "engine":
        result["unchanged, worst ratio"] = unchanged(backend, products, device_ms)
        result["memory"] = memory()
        print(f"  unchanged: {result['unchanged, worst ratio']}; memory: {result['memory']}")
    return result


def rounded(found: Outcome) -> dict[str, Any]:
    """An outcome with as many digits as mean something."""
    values = found._asdict() | {"error_quartiles": [round(e, 4) for e in found.error_quartiles]}
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def machine(backend: Backend) -> dict[str, Any]:
    """Where and when."""
    return {
        "date": datetime.date.today().isoformat(),
        **({"device": backend.device} if backend.device else {}),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "load average": [round(load, 1) for load in os.getloadavg()],
        "real-time priority": sys.platform == "linux"
        and os.sched_getscheduler(0) in {os.SCHED_FIFO, os.SCHED_RR},
    }


def main() -> int:
    """Measure on each framework that is installed; 1 where a figure is off."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a few rounds only")
    parser.add_argument("--rounds", type=int, default=9, help="of each pair at least (default: 9)")
    parser.add_argument("--keep", action="store_true", help=f"write {PLACE.name}")
    parser.add_argument("--frameworks", nargs="*", default=list(BACKENDS), choices=BACKENDS)
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else arguments.rounds
    results: dict[str, Any] = json.loads(PLACE.read_text()) if PLACE.exists() else {}
    measured = []
    for name in arguments.frameworks:
        if name != "engine" and not importlib.util.find_spec(name.split()[0]):
            print(f"{name}: not installed here")
            continue
        backend = BACKENDS[name]()
        if backend is None:
            print(f"{name}: no device to wait for here")
            continue
        results[name] = measure(name, backend, rounds) | machine(backend)
        measured.append(name)
        if arguments.keep:
            PLACE.write_text(json.dumps(results, indent=1) + "\n")
    errors = [abs(pair["error"]) for name in measured for pair in results[name]["pairs"].values()]
    if not errors:
        return 0
    mean = statistics.fmean(errors)
    good = sum(error <= ENOUGH for error in errors)
    print(f"{good} of {len(errors)} pairs within {ENOUGH:.0%}; mean error {mean:.1%}")
    return 0 if good == len(errors) and mean < ENOUGH_MEAN else 1


if __name__ == "__main__":
    sys.exit(main())
