"""The programs of the tests on the simulated device: `python -m benchmarks.sim_programs [--keep]`.

For each: whether its losses are the CPU's bit for bit, how often it waits, where most, and the
share of its modelled time in which the host waited. With --keep the waits of each by API go to
`results/sim_programs.json`, from which `benchmarks/cuda_check.py` knows what a device should do.
"""

from __future__ import annotations

import argparse
import datetime
import json
from importlib.metadata import version
from pathlib import Path

import asyncguard
from tests.runtime.helpers import counts
from tests.sim.programs import PROGRAMS

PLACE = Path(__file__).parent / "results" / "sim_programs.json"
LIBRARIES = ("torch", "accelerate", "lightning", "transformers")


def main() -> None:
    """Run all, and print a table."""
    parser = argparse.ArgumentParser(description="The programs of the tests, simulated.")
    parser.add_argument("--keep", action="store_true", help=f"write {PLACE.name}")
    keep = parser.parse_args().keep
    print("| program | losses | waits | sites | most at | host waits (modelled) |")
    print("| --- | --- | --- | --- | --- | --- |")
    waits: dict[str, dict[str, int]] = {}
    for name, program in PROGRAMS.items():
        on_host = program("cpu")
        with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
            on_device = program("cuda")
        equal = "equal" if on_device == on_host else "DIFFER"
        most = max(trace.sites, key=lambda site: site.count)
        waited = trace.cpu_stall_ns / trace.record.duration_ns
        print(
            f"| {name} | {equal} | {trace.total_syncs} | {len(trace.sites)} |"
            f" {most.api} x{most.count} | {waited:.0%} |"
        )
        waits[name] = counts(trace.record)
    if keep:
        versions = {name: version(name) for name in LIBRARIES}
        about = {"date": datetime.date.today().isoformat(), "versions": versions}
        PLACE.write_text(json.dumps(about | {"programs": waits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
