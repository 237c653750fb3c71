"""What very many sites cost a trace: `python benchmarks/trace_sites.py [--sites N] [--keep]`;
needs torch.

Each line of a long function reads a tensor once in each of three steps. Printed are the time to
record, to make the record, to save and to load it and to render each format, each beside the time
of a tenth of the sites (what grows in proportion takes ten times as long), the size of the files,
and the memory of the process at its highest beyond what it had before, which must stay below
100 MB for 100,000 sites until the trace is saved. With --keep the figures go to
`results/trace_sites.json`.
"""

from __future__ import annotations

import argparse
import json
import linecache
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

STEPS = 3
BYTES = 1000  # a site, until the trace is saved: 100 MB of 100,000


def program(sites: int, folder: Path) -> Callable[[Any], None]:
    """A function with so many lines that read, from a file."""
    path = folder / "lines.py"
    path.write_text("def run(x):\n" + "    x.item()\n" * sites)
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    run: Callable[[Any], None] = space["run"]
    return run


def resident(what: str = "VmRSS") -> int:
    """The bytes of memory that this process occupies, or ("VmHWM") occupied at its highest."""
    status = Path("/proc/self/status").read_text().split(f"{what}:")[1]
    return int(status.split()[0]) * 1024


def measure(sites: int) -> dict[str, float]:
    """Seconds, megabytes and sizes for one number of sites."""
    import torch

    import asyncguard
    from asyncguard.advise import suggest
    from asyncguard.render import Screen, TraceReport, formats
    from asyncguard.runtime import store

    figures: dict[str, float] = {}

    def timed(name: str, action: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = action()
        figures[f"{name}, s"] = time.perf_counter() - began
        return result

    with tempfile.TemporaryDirectory() as folder:
        run = program(sites, Path(folder))
        value = torch.ones(())
        with asyncguard.trace():
            value.item()
        Path("/proc/self/clear_refs").write_text("5")  # the highest starts anew
        before = resident()
        with asyncguard.trace() as trace:
            for step in range(STEPS):
                timed("record, first" if step == 0 else "record, again", lambda: run(value))
                asyncguard.step()
        figures["recorded, MB"] = (resident("VmHWM") - before) / 1e6
        path = Path(folder, "trace.json")
        timed("save", lambda: trace.save(path))
        figures["saved, MB"] = (resident("VmHWM") - before) / 1e6
        figures["file, MB"] = path.stat().st_size / 1e6
        record = timed("load", lambda: store.load(path))
        assert len(record.sites) == sites, len(record.sites)
        linecache.clearcache()
        report = TraceReport(record, timed("suggest", lambda: suggest(record)))
        for name in ("text", "markdown", "json", "html"):
            show = formats("traces")[name]
            text = timed(name, lambda show=show: show(report, Screen()))
            figures[f"{name}, MB"] = len(text) / 1e6
    return figures


def apart(sites: int) -> dict[str, float]:
    """`measure` in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--sites", str(sites), "--one"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> int:
    """Measure, and print the figures side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--keep", action="store_true", help="keep the figures in results/")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.sites)))
        return 0
    few, many = apart(options.sites // 10), apart(options.sites)
    print(f"{'':16} {options.sites // 10:>10,} {options.sites:>10,} sites")
    for name, value in many.items():
        times = value / few[name] if few[name] else 0
        print(f"{name:16} {few[name]:10.2f} {value:10.2f}   {times:5.1f}x")
    highest = max(many["recorded, MB"], many["saved, MB"])
    limit = options.sites * BYTES / 1e6
    print(f"recorded and saved: {highest:.0f} MB (at most {limit:g})")
    if options.keep:
        kept = {
            "date": date.today().isoformat(),
            "sites": options.sites,
            "limit, MB": limit,
            "holds": highest <= limit,
            **{name: round(value, 2) for name, value in many.items()},
        }
        target = Path(__file__).parent / "results" / "trace_sites.json"
        target.write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if highest <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
