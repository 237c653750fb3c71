"""The programs of the tests on the simulated device: `python -m benchmarks.sim_programs`.

For each: whether its losses are the CPU's bit for bit, how often it waits, where most, and the
share of its modelled time in which the host waited.
"""

from __future__ import annotations

import asyncguard
from tests.sim.programs import PROGRAMS


def main() -> None:
    """Run all, and print a table."""
    print("| program | losses | waits | sites | most at | host waits (modelled) |")
    print("| --- | --- | --- | --- | --- | --- |")
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


if __name__ == "__main__":
    main()
