#!/usr/bin/env python3
"""How fast the linter is, beside ruff and TorchFix, on the same files.

    python benchmarks/lint_speed.py DIR... [--ruff EXE] [--torchfix EXE [--torchfix-on NAME]]
        [--runs N] [--write]

DIRs hold unpacked wheels. Of N runs the fastest counts; the tools alternate, so that a neighbour on
the machine disturbs all. asyncguard runs cold (it finds no cache, and leaves one), then with that
cache, then on one file of 300 lines that stands alone, then on one in the largest package, of which
it reads what surrounds the file, cold and with the cache. TorchFix, which takes minutes, runs once,
on all or on one of the wheels, which asyncguard then checks once by itself too. "of ruff" compares
walls with ruff's over all its rules, "CPU of ruff" the time of all processes. Memory is the most
that the processes of a tool held together, pages that they share counted once (Linux; elsewhere the
largest process's; it is looked at once a second).

`--write` keeps the figures in benchmarks/results/lint_speed.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

LINE = "{:38} {:>9} {:>9} {:>9} {:>8}"
RESULTS = Path(__file__).parent / "results" / "lint_speed.json"
EVERY = 1.0  # seconds between two looks at the memory, which take time
# What pip installs comes compiled; a checkout's modules are by the run that fills the cache.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
PSS = re.compile(r"^Pss:\s+(\d+)", re.MULTILINE)


@dataclass
class Figures:
    """One run of a tool; `wall` and `cpu` in seconds, `memory` in MB."""

    wall: float
    cpu: float
    memory: float


def run(command: list[str], cwd: Path) -> Figures:
    """Run a command once, in a session of its own so that its processes can be told."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=ENVIRONMENT,
    )
    ended = threading.Event()
    peaks = [0.0]
    watch = threading.Thread(target=watch_memory, args=(process.pid, ended, peaks))
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    ended.set()
    watch.join()
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: findings, where a tool says so
        raise SystemExit(f"failed with {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
    return Figures(wall, usage.ru_utime + usage.ru_stime, max(*peaks, usage.ru_maxrss / 1024))


def watch_memory(session: int, ended: threading.Event, peaks: list[float]) -> None:
    """Note how much the processes of a session hold, until they end."""
    while not ended.wait(EVERY):
        peaks.append(sum(map(held, processes(session))))


def processes(session: int) -> list[Path]:
    """Return the processes of a session, as folders of /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            found.append(folder)
    return found


def held(process: Path) -> float:
    """Return the memory of a process in MB, its share of what it shares."""
    try:
        return sum(map(int, PSS.findall((process / "smaps_rollup").read_text()))) / 1024
    except OSError:
        return 0.0


def small_file(directories: list[Path]) -> Path:
    """Return a file of about 300 lines that imports torch."""
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if 280 <= text.count("\n") <= 320 and "import torch" in text and "for " in text:
                return path
    raise SystemExit("no file of 300 lines that imports torch")


def commands(
    options: argparse.Namespace, directories: list[Path], alone: Path
) -> dict[str, list[str]]:
    """Return what to run, by name and in order; `alone` is the file that stands alone."""
    largest = max(directories, key=lambda directory: len([*directory.rglob("*.py")]))
    in_package = str(small_file([largest]))
    check = [sys.executable, "-m", "asyncguard", "check", "--exit-zero"]
    if found := shutil.which("asyncguard", path=str(Path(sys.executable).parent)):
        check = [found, "check", "--exit-zero"]
    paths = [str(path) for path in directories]
    ruff = [options.ruff, "check", "--select", "ALL", "--no-cache", "--exit-zero", "-q"]
    return {
        "ruff, all rules, no cache": [*ruff, *paths],
        "asyncguard, cold": [*check, *paths],
        "asyncguard, warm cache": [*check, *paths],
        "asyncguard, one file of 300 lines": [*check, "--no-cache", str(alone)],
        "asyncguard, one in its package, cold": [*check, in_package],
        "asyncguard, one in its package, warm": [*check, in_package],
    }


def measure(options: argparse.Namespace, directories: list[Path]) -> dict[str, Figures]:
    """Run everything as often as asked, and return the fastest runs."""
    best: dict[str, Figures] = {}
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:  # where the cache is
            here = Path(folder)
            alone = here / "alone"
            alone.mkdir()
            chosen = shutil.copy(small_file(directories), alone)
            for name, command in commands(options, directories, Path(chosen)).items():
                figures = run(command, here)
                if name not in best or figures.wall < best[name].wall:
                    best[name] = figures
    if options.torchfix:
        with tempfile.TemporaryDirectory() as folder:
            best |= torchfix(options, directories, Path(folder))
    return best


def torchfix(options: argparse.Namespace, wheels: list[Path], here: Path) -> dict[str, Figures]:
    """Run TorchFix, on one wheel beside asyncguard if one is named."""
    if not options.torchfix_on:
        paths = map(str, wheels)
        return {"TorchFix, all rules": run([options.torchfix, "--select=ALL", *paths], here)}
    chosen = [path for path in wheels if path.name == options.torchfix_on]
    cold = commands(options, chosen, here)["asyncguard, cold"]
    fix = [options.torchfix, "--select=ALL", *map(str, chosen)]
    return {
        f"asyncguard, cold, on {options.torchfix_on}": run(cold, here),
        f"TorchFix, all rules, on {options.torchfix_on}": run(fix, here),
    }


def version(*command: str) -> str:
    """Return what a tool says of its version."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def about(options: argparse.Namespace, directories: list[Path]) -> dict[str, object]:
    """Return what the figures depend on: the files, the machine, the versions."""
    files = [file for path in directories for file in path.rglob("*.py")]
    return {
        "wheels": [path.name for path in directories],
        "files": len(files),
        "lines": sum(file.read_bytes().count(b"\n") for file in files),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "load": round(os.getloadavg()[0], 1),
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        "python": platform.python_version(),
        "versions": [
            version(sys.executable, "-m", "asyncguard"),
            version(options.ruff),
            *([f"torchfix {version(options.torchfix)}"] if options.torchfix else []),
        ],
    }


def main() -> int:
    """Measure, print the table, and keep it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+")
    beside = str(Path(sys.executable).parent)
    parser.add_argument("--ruff", default=shutil.which("ruff", path=beside) or shutil.which("ruff"))
    parser.add_argument("--torchfix", default=None, help="its executable; left out otherwise")
    parser.add_argument("--torchfix-on", metavar="NAME", help="the wheel that it checks; else all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULTS.name}")
    options = parser.parse_args()
    directories = [path.resolve() for path in options.directories]
    facts = about(options, directories)
    print(f"{facts['files']} files, {facts['lines']} lines, {facts['machine']}")
    print(LINE.format("", "wall", "cpu", "memory", "of ruff"))
    best = measure(options, directories)
    ruff = best["ruff, all rules, no cache"]
    for name, figures in best.items():
        wall, cpu, memory = f"{figures.wall:.2f} s", f"{figures.cpu:.2f} s", figures.memory
        print(LINE.format(name, wall, cpu, f"{memory:.0f} MB", f"{figures.wall / ruff.wall:.2f}"))
    if options.write:
        kept = {
            name: {
                **{k: round(v, 2) for k, v in asdict(f).items()},
                "of ruff": round(f.wall / ruff.wall, 2),
                "CPU of ruff": round(f.cpu / ruff.cpu, 2),
            }
            for name, f in best.items()
        }
        RESULTS.write_text(json.dumps({**facts, "figures": kept}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
