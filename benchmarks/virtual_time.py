"""Does virtual time tell what the reference engine measures? `python benchmarks/virtual_time.py`.

Programs of operations that sleep, so that their durations are known: as they are written down here,
in milliseconds, they are carried out on the virtual timeline that `simulate_cuda` uses, and run on
the reference engine under a trace. For each site compared are the stall of the host and the idle
time of the device that is charged to it: modelled against measured, the median over the rounds.
They must agree within 5 %. The durations are long, so that a busy machine, which wakes
sleepers late, changes them little. With --keep the figures go to `results/virtual_time.json`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import asyncguard
from asyncguard.engine import ThreadedEngine, use
from asyncguard.timeline.virtual import Run, VirtualTimeline

PLACE = Path(__file__).parent / "results" / "virtual_time.json"
STEPS, ROUNDS = 4, 3
SCALE = 5  # of all durations below
MS = 1_000_000
ENOUGH = 0.05
NEGLIGIBLE = 0.01  # of a program's time: what is shorter is not compared


class Do(NamedTuple):
    """One thing that the host does: work, enqueue, or wait for the newest operation or for all.

    `ms` is how long it takes: the host (work) or the device (enqueue).
    """

    what: str
    ms: float = 0


def work(ms: float) -> Do:
    return Do("work", ms * SCALE)


def run(ms: float) -> Do:
    return Do("run", ms * SCALE)


WAIT, WAIT_ALL = Do("wait"), Do("wait all")
PROGRAMS: dict[str, list[Do]] = {  # one step each
    "device-bound": [work(10), run(30), run(30), WAIT],
    "host-bound": [run(15), work(60), WAIT],
    "balanced": [work(20), run(50), work(40), WAIT_ALL],
    "waits twice": [work(10), run(40), WAIT, work(25), run(30), WAIT_ALL],
    "waits for part": [run(30), WAIT, run(50), work(20), WAIT_ALL, work(15)],
    "runs ahead": [work(5), run(20), run(20), run(20), work(10), WAIT_ALL],
}


class Figures(NamedTuple):
    """What one run took: of each place in the step, stall and idle time in ns."""

    stall: Counter[int]
    idle: Counter[int]
    duration: int


def modelled(program: list[Do]) -> Figures:
    """The program in virtual time."""
    timeline = VirtualTimeline()
    stream = timeline.default_stream()
    stall, newest = Counter[int](), Run(0, 0, "", 0, 0, 0)
    for _ in range(STEPS):
        for at, do in enumerate(program):
            if do.what == "work":
                timeline.advance_host(int(do.ms * MS))
            elif do.what == "run":
                newest = timeline.enqueue(stream, int(do.ms * MS))
            elif do.what == "wait":
                stall[at] += timeline.wait_until(newest.end_ns, at)
            else:
                stall[at] += timeline.wait_stream(stream, at)
    idle = Counter[int]()
    for bubble in timeline.close():
        idle[bubble.wait.owner] += bubble.end - bubble.begin
    return Figures(stall, idle, timeline.now)


def measured(program: list[Do]) -> Figures:
    """The program on the engine, under a trace: each place waits at a line of its own."""
    engine = ThreadedEngine(workers=1)
    scope: dict[str, Any] = {
        "engine": engine,
        "variable": engine.new_variable(),
        "sleep": time.sleep,
    }
    text = "def step():\n" + "".join(f"    {_line(do)}\n" for do in program)
    exec(compile(text, "program.py", "exec"), scope)
    with use(engine), asyncguard.trace(frameworks=["engine"]) as trace:
        for _ in range(STEPS):
            scope["step"]()
    engine.close()
    stall, idle = Counter[int](), Counter[int]()
    for site in trace.sites:
        stall[site.line - 2] += site.cpu_stall_ns
        idle[site.line - 2] += site.gpu_stall_ns or 0
    return Figures(stall, idle, trace.record.duration_ns)


def _line(do: Do) -> str:
    """The line of the program that does this."""
    seconds = do.ms / 1e3
    return {
        "work": f"sleep({seconds})",
        "run": f"engine.push(lambda: sleep({seconds}), writes=[variable])",
        "wait": "engine.wait_for_var(variable)",
        "wait all": "engine.wait_for_all()",
    }[do.what]


def compare(name: str, program: list[Do], rounds: int) -> list[dict[str, object]]:
    """One row for each place that waits."""
    expected = modelled(program)
    seen = [measured(program) for _ in range(rounds)]
    rows: list[dict[str, object]] = []
    for at, do in enumerate(program):
        for what in ("stall", "idle"):
            model = getattr(expected, what)[at]
            found = int(statistics.median(getattr(each, what)[at] for each in seen))
            if not do.what.startswith("wait") or model < NEGLIGIBLE * expected.duration:
                continue
            rows.append({
                "program": name, "place": at, "figure": what, "modelled_ms": model / MS,
                "measured_ms": round(found / MS, 3), "off": round(model / found - 1, 4),
            })  # fmt: skip
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write the figures to results/")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each program")
    arguments = parser.parse_args()
    rows = []
    for name, program in PROGRAMS.items():
        for row in compare(name, program, arguments.rounds):
            rows.append(row)
            good = abs(float(str(row["off"]))) <= ENOUGH
            print(
                f"{name:15} place {row['place']} {row['figure']:5}  modelled"
                f" {row['modelled_ms']:8.2f} ms  measured {row['measured_ms']:8.2f} ms"
                f"  {row['off']:+7.2%}  {'ok' if good else 'OFF'}"
            )
    worst = max(abs(float(str(row["off"]))) for row in rows)
    print(f"worst: {worst:.2%} of at most {ENOUGH:.0%}, over {len(rows)} figures")
    if arguments.keep:
        about = {
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": f"{platform.machine()}, Python {platform.python_version()}",
            "rounds": arguments.rounds,
            "worst": worst,
        }
        PLACE.write_text(json.dumps({**about, "figures": rows}, indent=1) + "\n")
    return int(worst > ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
