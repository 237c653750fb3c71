"""What a site costs: the memory of a trace grows by so much with each, and by nothing else."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import asyncguard
from asyncguard.engine import np

FEW, MANY = 500, 2500
LIMIT = 1000  # bytes a site: 100 MB of 100,000


def lines(path: Path, sites: int) -> Any:
    """A function with so many lines that wait, and one that calls it."""
    source = "def run(x):\n" + "    x.item()\n" * sites
    source += "def train(x):\n    run(x)\n"
    path.write_text(source)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    return names


def kept(path: Path, sites: int) -> int:
    """The bytes that a trace of so many sites holds when it is over."""
    names, value = lines(path, sites), np.ones(1)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with asyncguard.trace() as trace:
            for _ in range(3):
                names["train"](value)
                asyncguard.step()
        grown = tracemalloc.get_traced_memory()[0] - before
        assert len(trace.sites) == sites
        assert all(site.callers for site in trace.sites)
        return grown
    finally:
        tracemalloc.stop()


def test_a_site_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    kept(tmp_path / "warm.py", 10)  # whatever is loaded once is loaded here
    few, many = kept(tmp_path / "few.py", FEW), kept(tmp_path / "many.py", MANY)
    assert (many - few) / (MANY - FEW) < LIMIT
