"""What do waits cost on a GPU, and what does it cost to measure that?

A loop of small kernels reads one value a step, and the host then thinks for a while: the device's
idle time is known beforehand, and the GPU stall that each source reports stands beside it. The loop
is timed bare, traced, traced with each source of device times, and bare again afterwards: a source
that leaves something behind in the process (pytorch#146604) shows there. torch's profiler does,
unless TEARDOWN_CUPTI=1 is set: only CUPTI, which comes first, is held to leave nothing. The same
loop without the read shows what a trace makes of it when nothing waits.

    python benchmarks/cuda_stalls.py [--quick] | tee benchmarks/results/cuda_stalls.txt
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session

KERNELS = 20  # in one step
THINK = 500_000  # ns of host work after each read
LASTING = 1.02  # a loop slower than that by what came before it

Loop = Callable[[], None]


def main() -> int:
    """Print the figures; 1 where CUPTI slowed the process for good."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps, rougher figures")
    quick = parser.parse_args().quick
    try:
        import torch
    except ImportError as error:
        return _skip(f"torch is not installed: {error}")
    if not torch.cuda.is_available():
        return _skip("torch sees no CUDA device")
    steps, repeats = (50, 3) if quick else (500, 7)
    print(_about(torch))
    reading, quiet = _loops(torch, steps)
    bare = _timed(reading, repeats)
    print(f"\nbare            {bare / steps / 1e3:9.1f} us a step")
    _show("light", bare, _timed(_under(reading), repeats), steps)
    clean = _source("cupti", reading, quiet, bare, steps, repeats)
    _source("profiler", reading, quiet, bare, steps, repeats)  # which keeps CUPTI
    return 0 if clean else 1


def _skip(reason: str) -> int:
    print(f"skipped: {reason}")
    return 0


def _about(torch: Any) -> str:
    today = datetime.date.today().isoformat()
    device = torch.cuda.get_device_name()
    return (
        f"{today}, {device}, CUDA {torch.version.cuda}, torch {torch.__version__}, "
        f"Python {platform.python_version()}"
    )


def _loops(torch: Any, steps: int) -> tuple[Loop, Loop]:
    """A loop that reads in each step, and one that does not."""
    x = torch.ones(1024, device="cuda")

    def loop(read: bool) -> None:
        for _ in range(steps):
            y = x
            for _ in range(KERNELS):
                y = y + 1
            if read:
                y.sum().item()
            _think()
        torch.cuda.synchronize()

    loop(True)  # loads the kernels
    return lambda: loop(True), lambda: loop(False)


def _think() -> None:
    end = time.perf_counter_ns() + THINK
    while time.perf_counter_ns() < end:
        pass


def _timed(loop: Loop, repeats: int) -> float:
    """The median time of the loop, in ns."""
    return statistics.median(_once(loop) for _ in range(repeats))


def _once(loop: Loop) -> int:
    begin = time.perf_counter_ns()
    loop()
    return time.perf_counter_ns() - begin


def _under(loop: Loop, **options: Any) -> Loop:
    """The loop in a session; the time of its start and stop is in it."""

    def traced() -> None:
        with Session(frameworks=["torch"], **options):
            loop()

    return traced


def _recorded(loop: Loop, source: str) -> TraceRecord:
    with Session(frameworks=["torch"], device_times=source) as session:
        loop()
    return session.record()


def _source(source: str, reading: Loop, quiet: Loop, bare: float, steps: int, repeats: int) -> bool:
    """Show one source's figures; whether the process is as fast after it as before."""
    record = _recorded(reading, source)
    stall = record.gpu_stall_ns
    if stall is None:
        print(f"{source:12}    not measured: {record.notes[-1]}")
        return True
    _show(source, bare, _timed(_under(reading, device_times=source), repeats), steps)
    print(
        f"    GPU stall   {stall / steps / 1e3:9.1f} us a step; the host thought {THINK / 1e3} us"
    )
    without = _recorded(quiet, source).gpu_stall_ns
    if without is not None:
        print(f"    no reads    {without / steps / 1e3:9.1f} us a step")
    about = record.extra["device_times"]
    print(f"    clocks      {about['clock_error_ns']} ns apart, drift {about['clock_drift_ns']} ns")
    print(f"    activities  {about['activities']}, lost {about['records_lost']}")
    after = _timed(reading, repeats)
    _show("    bare after", bare, after, steps)
    return after <= bare * LASTING


def _show(name: str, bare: float, taken: float, steps: int) -> None:
    print(f"{name:16}{taken / steps / 1e3:9.1f} us a step   {taken / bare:.3f}x bare")


if __name__ == "__main__":
    sys.exit(main())
