#!/usr/bin/env python3
"""What really waits, asked of packages that others wrote.

    python benchmarks/truth/truth.py --package NAME ... | --all [--fresh] [--jobs N]
    python benchmarks/truth/truth.py --table | --labels

Installs a package of packages.toml in an environment of its own, runs each of its cases on the
CPU and on a simulated CUDA device, in processes with limits of time and memory, and keeps for each
line of the package how often it ran and which waits began there, beside the findings of
`asyncguard check --select ALL`: benchmarks/results/truth/NAME.json.gz. A run that is broken off
goes on where it was, unless --fresh. The records make benchmarks/truth.md and
benchmarks/results/truth.json, which --table writes alone. --labels holds the records against the
labels that people read, in the files that are the same in the environments.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.truth import environments, joined, labels, table

HERE = Path(__file__).resolve().parent
RECORDS = HERE.parent / "results" / "truth"
STATE = HERE.parents[1] / ".cache" / "truth"
DEFAULTS: dict[str, Any] = {
    "install": [],
    "sdist": "",
    "without_dependencies": [],
    "without": [],
    "exclude": [],
    "options": {},
    "known": {},
    "environment": {},
    "needs_cpu": True,
    "simulated": True,
    "triton": False,
    "seconds": 60,
    "memory_gib": 9,
}
PATIENCE = 4  # times the seconds of a case, before a process is ended that does not end it


def digest(name: str) -> int:
    """A number that a name gives, as good as drawn."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def half(name: str) -> str:
    """Which half a package is in: a third of them, by the hash of the name, is the test half."""
    return "test" if digest(name) % 3 == 0 else "dev"


class Shard:
    """Some of a package's cases, run one after the other in a process of their own."""

    def __init__(self, python: Path, job: dict[str, Any], output: Path) -> None:
        self._python = python
        self._job = {**job, "output": str(output)}
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._size = 0
        self._waited = 0  # looks, a second apart, since it told something: not while all is halted

    def rows(self) -> Iterator[dict[str, Any]]:
        """What the processes have told so far; what began and did not end has killed them."""
        begun, outcome = "", ""
        for line in self._output.read_text().splitlines() if self._output.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:  # broken off within a line
                continue
            if "on_device" in row:
                outcome = "killed"
                continue
            if begun and ("begin" in row or "done" in row):
                yield {"case": begun, "outcome": outcome, "reason": "the process died"}
            begun, outcome = row.get("begin", ""), "unfit"
            if "case" in row:
                yield row
        if begun:
            yield {"case": begun, "outcome": outcome, "reason": "the process died"}

    def goes_on(self) -> bool:
        """Start what is left, or look after what runs; False when nothing is left."""
        if self._process is not None and self._process.poll() is None:
            self._watch()
            return True
        done = sorted({row["case"] for row in self.rows()})
        names = self._names()
        if names is not None and set(names) <= set(done):
            return False
        log = self._output.with_suffix(".log").open("ab")
        if names is None and self._process is not None:
            raise RuntimeError(f"the driver found no cases: {log.name}")
        job = self._output.with_suffix(".job")
        job.write_text(json.dumps({**self._job, "done": done}))
        self._process = subprocess.Popen(
            [self._python, HERE / "worker.py", job],
            stdout=log,
            stderr=log,
            cwd=tempfile.gettempdir(),
            env=environments.ENVIRONMENT,
        )
        self._size, self._waited = 0, 0
        return True

    def _names(self) -> list[str] | None:
        """The cases that are this process's share; None before it has told them."""
        for line in self._output.read_text().splitlines() if self._output.exists() else ():
            if line.startswith('{"cases":'):
                found: list[str] = json.loads(line)["cases"]
                return found
        return None

    def _watch(self) -> None:
        """End a process that has told nothing for too long."""
        size = self._output.stat().st_size if self._output.exists() else 0
        self._waited += 1
        if size != self._size:
            self._size, self._waited = size, 0
        elif self._waited > PATIENCE * self._job["seconds"] + 60:
            assert self._process is not None
            self._process.kill()
            self._process.wait()


def installed(name: str, entry: dict[str, Any]) -> tuple[Path, list[Path]]:
    """The interpreter that has a package, and where the package's modules lie."""
    python = environments.interpreter(
        name, entry["install"], without_dependencies=entry["without_dependencies"]
    )
    return python, environments.folders(python, entry["modules"])


def drive(name: str, entry: dict[str, Any], jobs: int, fresh: bool) -> dict[str, Any]:
    """Run a package's cases, and return its record."""
    python, folders = installed(name, entry)
    state = STATE / name
    state.mkdir(parents=True, exist_ok=True)
    if fresh:
        for old in state.iterdir():
            old.unlink()
    findings = joined.findings(python, folders, state / "findings.json", entry["exclude"])
    asked = joined.lines_of(findings)
    if entry["sdist"]:
        top = environments.source(entry["sdist"], state.with_suffix(".src"))
        entry["options"] = entry["options"] | {"folder": str(top)}
    job = {**entry, "folders": [str(folder) for folder in folders], "asked": asked}
    shards = [
        Shard(python, {**job, "share": [at, jobs]}, state / f"{at}-of-{jobs}.jsonl")
        for at in range(jobs)
    ]
    while sum(shard.goes_on() for shard in shards):
        time.sleep(1)
    rows = [row for shard in shards for row in shard.rows()]
    for row in rows:  # why results differ is known to who has looked
        row["reason"] = row["reason"] or entry["known"].get(row["case"], "")
    about = {"package": name, "half": half(name), "install": entry["install"]}
    return about | joined.record(sorted(rows, key=lambda row: row["case"]), findings)


def against_labels(packages: dict[str, Any]) -> None:
    """Hold the records against the labels, where the environments stand."""
    records = table.records(RECORDS)
    where = {}
    for record in records:
        name = record["package"]
        _, where[name] = installed(name, DEFAULTS | packages[name])
    found = labels.compared(records, where)
    kept = json.dumps(found._asdict(), indent=1, sort_keys=True)
    table.LABELS.write_text(kept + "\n", encoding="utf-8")


def main() -> int:
    """Drive the packages, or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--package", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    packages = tomli.loads((HERE / "packages.toml").read_text(encoding="utf-8"))
    unknown = [name for name in options.package if name not in packages]
    if unknown:
        parser.error(f"not in {HERE / 'packages.toml'}: {', '.join(unknown)}")
    for name in packages if options.all else options.package:
        record = drive(name, DEFAULTS | packages[name], options.jobs, options.fresh)
        RECORDS.mkdir(exist_ok=True)
        packed = json.dumps(record, separators=(",", ":"), sort_keys=True).encode()
        (RECORDS / f"{name}.json.gz").write_bytes(gzip.compress(packed, 9, mtime=0))
        print(table.row(record), flush=True)
    if options.labels:
        against_labels(packages)
    if options.table or options.labels or options.package or options.all:
        table.write(RECORDS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
