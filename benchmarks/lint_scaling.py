#!/usr/bin/env python3
"""How the time to check one file grows with its sites: it should be in proportion.

    python benchmarks/lint_scaling.py [SHAPE ...] [--sizes N ...] [--limit SECONDS] [--write]

Each shape is a file with one step loop and N sites in it (or N helpers that it calls). For each
size the table shows the processor time to check it (the least of three runs, or of those that fit
into a second), beside that of libcst's parser on the same text in the same run, and the exponent of
the growth since the size before: 1 is linear, 2 quadratic. A size that would take longer than the
limit, by the growth so far, is left out. The exit status is 1 if the growth to the largest size
measured is worse than linear by more than the noise, or if 1,600 reads take longer than 1.5 s.

`--write` keeps the figures in benchmarks/results/lint_scaling.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import libcst

from asyncguard.lint.check import check_source
from asyncguard.lint.run.pool import collecting_seldom
from asyncguard.lint.run.settings import Settings

RESULTS = Path(__file__).parent / "results" / "lint_scaling.json"
SIZES = (100, 400, 1600, 10_000)
LINEAR = 1.25  # an exponent that the noise of a busy machine makes of 1
READS = 1600, 1.5  # so many reads, in at most so many seconds
ENOUGH, RUNS = 1.0, 3  # seconds, and runs, of one kind
LINE = "{:12} {:>7} {:>7} {:>10} {:>12} {:>10} {:>9}"
LOOP = """\
import torch
def train(model, loader, optimizer, flag):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
"""


def in_loop(lines: Iterable[str]) -> str:
    return LOOP + "".join(f"        {line}\n" for line in lines)


def reads(size: int) -> str:
    """Read a number from the device at each site."""
    return in_loop(f"keep(loss[{n}].item())" for n in range(size))


def branches(size: int) -> str:
    """Bind a number that is read from the device in each `if`."""
    return in_loop(f"if flag > {n}: value_{n} = loss[{n}].item()" for n in range(size))


def decisions(size: int) -> str:
    """Decide by a device value at each site, and read it where it decides so."""
    return in_loop(f"if loss > {n}: value_{n} = loss.item()" for n in range(size))


def joins(size: int) -> str:
    """Bind a device value in each `if`, which the paths after it join."""
    return in_loop(f"if flag > {n}: value_{n} = loss * {n}" for n in range(size))


def guarded_reads(size: int) -> str:
    """Read in each `if`, behind a period of its own."""
    return in_loop(f"if batch % {n + 2} == 0: print(loss * {n})" for n in range(size))


def bindings(size: int) -> str:
    """Compute each value from the one before."""
    lines = ["value_0 = loss", *(f"value_{n + 1} = value_{n} * 2" for n in range(size - 1))]
    return in_loop([*lines, f"print(value_{size - 1})"])


def calls(size: int) -> str:
    """Call one helper, which reads its argument, at each site."""
    helper = "def read(x):\n    return x.item()\n"
    return LOOP.replace("def train", f"{helper}def train") + "".join(
        f"        keep(read(loss[{n}]))\n" for n in range(size)
    )


def helpers(size: int) -> str:
    """Call a helper of its own, which reads its argument, at each site."""
    defined = "".join(f"def read_{n}(x):\n    return x.item()\n" for n in range(size))
    return LOOP.replace("def train", f"{defined}def train") + "".join(
        f"        keep(read_{n}(loss))\n" for n in range(size)
    )


def nested(size: int) -> str:
    """Nest periods, 20 deep, again and again, with a read at the bottom of each."""
    deep, lines = 20, []
    for group in range(max(size // deep, 1)):
        lines += [f"{'    ' * n}if batch % {n + 2} == 0:" for n in range(deep)]
        lines.append(f"{'    ' * deep}print(loss * {group})")
    return in_loop(lines)


def skips(size: int) -> str:
    """Leave the iteration early, again and again, with a read after each."""
    return in_loop(
        line
        for n in range(size // 2)
        for line in (f"if batch % {n + 2}: continue", f"print(loss * {n})")
    )


def sums(size: int) -> str:
    """Add a number that is read to a sum of its own."""
    lines = (f"    total_{n} = 0.0\n" for n in range(size))
    head, _, rest = LOOP.partition("    for")
    return (
        head
        + "".join(lines)
        + f"    for{rest}"
        + "".join(f"        total_{n} += loss.item()\n" for n in range(size))
    )


def one_sum(size: int) -> str:
    """Add to one sum at each site."""
    head, _, rest = LOOP.partition("    for")
    lines = (f"        total += loss[{n}].item()\n" for n in range(size))
    return f"{head}    total = 0.0\n    for{rest}{''.join(lines)}    keep(total)\n"


def own_sums(size: int) -> str:
    """Add to attributes of the object."""
    starts = "".join(f"        self.total_{n} = 0.0\n" for n in range(size))
    lines = "".join(f"            self.total_{n} += loss.item()\n" for n in range(size))
    return (
        "import torch\nclass Trainer:\n    def train(self, model, loader, optimizer):\n"
        f"{starts}        for batch in loader:\n            loss = model(batch).sum()\n"
        f"            loss.backward()\n            optimizer.step()\n{lines}"
    )


def kept(size: int) -> str:
    """Keep the graph in a list of its own at each site."""
    return in_loop(f"losses_{n}.append(loss)" for n in range(size))


def attributes(size: int) -> str:
    """Set attributes of objects, which are made anew."""
    lines = (f"batch.value_{n} = loss * {n}" for n in range(size))
    return in_loop([*lines, "batch = loss", "print(batch)"])


def loops(size: int) -> str:
    """Go over the elements of a value in loops of their own."""
    return in_loop(f"for x_{n} in batch: print(x_{n} * loss)" for n in range(size))


def clocks(size: int) -> str:
    """Stop a clock after each operation."""
    lines = "".join(
        f"    start = time.time()\n    y_{n} = model(x)\n    print(time.time() - start)\n"
        for n in range(size)
    )
    return f"import time\nimport torch\ndef measure(model, x):\n{lines}"


def steps(size: int) -> str:
    """Train in loops of their own, on a backend that never waits."""
    loop = """\
    for X in loader:
        with autograd.record():
            l = net(X).sum()
        l.backward()
        trainer.step(1)
"""
    return "from mxnet import autograd\ndef train(net, loader, trainer):\n" + loop * (size // 5)


def entries(size: int) -> str:
    """Store into one dict, by constant keys, and read each entry."""
    stores = (f"logs['key_{n}'] = loss * {n}" for n in range(size))
    return in_loop(["logs = {}", *stores, *_reads_of_entries(size)])


def _reads_of_entries(size: int) -> Iterator[str]:
    return (f"keep(logs['key_{n}'].item())" for n in range(size))


def display(size: int) -> str:
    """Write one dict out, and read each entry."""
    made = ", ".join(f"'key_{n}': loss * {n}" for n in range(size))
    return in_loop([f"logs = {{{made}}}", *_reads_of_entries(size)])


def entry_joins(size: int) -> str:
    """Store into one dict in each `if`, which the paths after it join."""
    return in_loop(["logs = {}", *(f"if flag > {n}: logs['key_{n}'] = loss" for n in range(size))])


def shared_entries(size: int) -> str:
    """Store into a dict of the module, and pass it on, at each site."""
    stores = "".join(
        f"        LOGS['key_{n}'] = loss * {n}\n        keep(LOGS)\n" for n in range(size)
    )
    head = LOOP.replace("import torch\n", "import torch\nLOGS = {}\ndef keep(logs): return logs\n")
    return head.replace("    for", "    global LOGS\n    for") + stores


def rebindings(size: int) -> str:
    """Bind one name again and again, with a read of it after each."""
    lines = (f"loss = loss * 2 + keep({n})\n        keep(loss.item())" for n in range(size))
    return in_loop(lines)


def chain(size: int) -> str:
    """Compute each value from the one before, and read it."""
    lines = (f"value_{n + 1} = value_{n} * 2\n        keep(value_{n}.item())" for n in range(size))
    return in_loop(["value_0 = loss", *lines])


def own_reads(size: int) -> str:
    """Read attributes of the object, which another method sets."""
    sets = "".join(f"        self.value_{n} = torch.ones({n}).cuda()\n" for n in range(size))
    lines = "".join(f"            keep(self.value_{n}.item())\n" for n in range(size))
    return (
        f"import torch\nclass Trainer:\n    def __init__(self):\n{sets}"
        "    def train(self, model, loader, optimizer):\n        for batch in loader:\n"
        "            model(batch).sum().backward()\n            optimizer.step()\n"
        f"{lines}"
    )


def comparisons(size: int) -> str:
    """Compare so many values in one chain."""
    return in_loop([f"keep(loss{' < batch' * size})", "keep(loss.item())"])


def conjunction(size: int) -> str:
    """Ask for many reads in one condition."""
    return in_loop([f"if {' and '.join(_parts(size))}: break"])


def disjunction(size: int) -> str:
    """Keep what one of many reads says, of values that an option may leave out."""
    source = in_loop([f"found = flag or {' or '.join(_parts(size))}"])
    return source.replace("flag)", "flag=None)")


def _parts(size: int) -> list[str]:
    return [f"loss[{n}].item()" for n in range(size)]


SHAPES: Mapping[str, Callable[[int], str]] = {
    "reads": reads,
    "branches": branches,
    "decisions": decisions,
    "joins": joins,
    "guards": guarded_reads,
    "bindings": bindings,
    "calls": calls,
    "helpers": helpers,
    "nested": nested,
    "skips": skips,
    "sums": sums,
    "one sum": one_sum,
    "own sums": own_sums,
    "kept": kept,
    "attributes": attributes,
    "loops": loops,
    "clocks": clocks,
    "steps": steps,
    "entries": entries,
    "display": display,
    "entry joins": entry_joins,
    "shared": shared_entries,
    "rebindings": rebindings,
    "chain": chain,
    "own reads": own_reads,
    "comparisons": comparisons,
    "conjunction": conjunction,
    "disjunction": disjunction,
}


class Figures(NamedTuple):
    """One file checked: processor seconds, of the linter and libcst's parser, and the findings."""

    shape: str
    sites: int
    findings: int
    seconds: float
    parser_seconds: float
    exponent: float | None  # of the growth since the size before


def measure(shape: str, size: int, before: Figures | None) -> Figures:
    """Check one file, and parse it."""
    source, settings = SHAPES[shape](size), Settings(cache=False, jobs=1)
    parser = least(lambda: libcst.parse_module(source))
    findings = 0

    def check() -> None:
        nonlocal findings
        with collecting_seldom():  # as `asyncguard check` does
            findings = len(check_source(source, "train.py", settings))

    took = least(check)
    exponent = None
    if before is not None:
        exponent = math.log(took / before.seconds) / math.log(size / before.sites)
    return Figures(shape, size, findings, took, parser, exponent)


def least(work: Callable[[], object]) -> float:
    """Run something again and again, for a second and three times; return its shortest time.

    As many runs of a large file as of a small one: the least of many, beside a single run, would
    show the noise of the machine as growth.
    """
    times: list[float] = []
    while sum(times) < ENOUGH or len(times) < RUNS:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measured(shape: str, sizes: Sequence[int], limit: float) -> Iterator[Figures]:
    """Measure a shape at growing sizes, as long as the next is likely to keep within the limit."""
    measure(shape, 10, None)  # loads the catalogue
    last: Figures | None = None
    for size in sizes:
        if last is not None:
            growth = last.exponent if last.exponent is not None else 1
            if last.seconds * (size / last.sites) ** growth > limit:
                print(LINE.format(shape, size, "", f"> {limit:.0f} s", "", "", ""))
                return
        last = measure(shape, size, last)
        yield last


def line_of(figures: Figures) -> str:
    exponent = "" if figures.exponent is None else f"{figures.exponent:.2f}"
    each = f"{figures.seconds / figures.sites * 1e6:.0f} us"
    ratio = f"{figures.seconds / figures.parser_seconds:.1f}"
    cells = figures.shape, figures.sites, figures.findings, f"{figures.seconds:.2f} s"
    return LINE.format(*cells, each, ratio, exponent)


def holds(rows: Sequence[Figures]) -> bool:
    """Whether every shape grows in proportion, and many reads take no longer than they may."""
    largest = {row.shape: row for row in rows if row.exponent is not None}
    slow = [row.shape for row in largest.values() if (row.exponent or 0) > LINEAR]
    if slow:
        print(f"worse than linear: {', '.join(slow)}")
    reads = next((row for row in rows if (row.shape, row.sites) == ("reads", READS[0])), None)
    if reads is not None and reads.seconds > READS[1]:
        print(f"{READS[0]} reads take {reads.seconds:.1f} s, which is more than {READS[1]} s")
    return not slow and (reads is None or reads.seconds <= READS[1])


def main() -> int:
    """Measure each shape, print the table, and keep it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", nargs="*", help=f"of {', '.join(SHAPES)}; all by default")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many sites")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a size may take")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    options = parser.parse_args()
    if unknown := set(options.shapes) - set(SHAPES):
        parser.error(f"no shape {', '.join(sorted(unknown))}; there are {', '.join(SHAPES)}")
    print(LINE.format("shape", "sites", "found", "checked", "each", "of parser", "exponent"))
    rows: list[Figures] = []
    for shape in options.shapes or SHAPES:
        for figures in measured(shape, sorted(options.sizes), options.limit):
            print(line_of(figures), flush=True)
            rows.append(figures)
    if options.write:
        machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
        about = {"machine": machine, "python": platform.python_version()}
        kept = {**about, "figures": [row._asdict() for row in rows]}
        RESULTS.write_text(json.dumps(kept, indent=2) + "\n")
    return 0 if holds(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
