"""What a long run leaves behind: `python benchmarks/trace_memory.py [--waits N]`; needs torch.

Ten million reads of a tensor in one trace, at a hundred lines, in steps of ten: by how much the
memory of the process grows, and how large the file is.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import torch

import asyncguard

LINES = 100
A_STEP = 10
READS = compile(("value.item()\n" * A_STEP + "step()\n") * (LINES // A_STEP), "reads.py", "exec")


def resident() -> int:
    """The bytes of memory that this process occupies now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def read(times: int) -> None:
    """Wait so many times, the hundred lines taking turns."""
    names = {"value": torch.ones(()), "step": asyncguard.step}
    for _ in range(times // LINES):
        exec(READS, names)


def main() -> None:
    """Measure, and print what grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--waits", type=int, default=10_000_000)
    waits = parser.parse_args().waits
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        with asyncguard.trace() as warm:  # whatever is loaded once is loaded here
            read(1000)
        warm.save(path)
        before, began = resident(), time.perf_counter()
        with asyncguard.trace() as trace:
            read(waits)
            took = time.perf_counter() - began
        trace.save(path)
        size, grown = path.stat().st_size, resident() - before
    print(f"{trace.total_syncs:,} reads at {len(trace.sites)} lines, {trace.step_count:,} steps")
    print(f"  memory grew by {grown / 1e6:.1f} MB (at most 50)")
    print(f"  the file has {size / 1e6:.2f} MB (at most 5)")
    print(f"  {took / waits * 1e9:.0f} ns a read, its share of a step included")


if __name__ == "__main__":
    main()
