#!/usr/bin/env python3
"""How fast the linter is, beside ruff and TorchFix, on the same files.

    python benchmarks/lint_speed.py DIR... [--ruff EXE] [--torchfix EXE]

DIRs hold unpacked wheels. Each tool runs once, cold; asyncguard also with the cache that its cold
run wrote, and on one file of 300 lines. Peak memory is the largest of any one process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = "{:34} {:>9} {:>9} {:>9} {:>8}"


def measure(name: str, command: list[str], cwd: Path, cold: float | None) -> float:
    """Run a command and print its line; returns its seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    cpu = usage.ru_utime + usage.ru_stime
    ratio = f"{wall / cold:.2f}" if cold else ""
    memory = f"{usage.ru_maxrss / 1024:.0f} MB"
    print(LINE.format(name, f"{wall:.2f} s", f"{cpu:.2f} s", memory, ratio), flush=True)
    return wall


def small_file(directories: list[Path]) -> Path:
    """Return a file of about 300 lines that imports torch."""
    for directory in directories:
        for path in sorted(directory.rglob("*.py")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if 280 <= text.count("\n") <= 320 and "import torch" in text and "for " in text:
                return path
    raise SystemExit("no file of 300 lines that imports torch")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+")
    parser.add_argument("--ruff", default=shutil.which("ruff"))
    parser.add_argument("--torchfix", default=shutil.which("torchfix"))
    options = parser.parse_args()
    directories = [path.resolve() for path in options.directories]
    files = [file for path in directories for file in path.rglob("*.py")]
    lines = sum(file.read_bytes().count(b"\n") for file in files)
    print(f"{len(files)} files, {lines} lines, {os.cpu_count()} processors")
    print(LINE.format("", "wall", "cpu", "memory", "of cold"))
    paths = [str(path) for path in directories]
    check = [sys.executable, "-m", "asyncguard.cli", "check", "--exit-zero"]
    if shutil.which("asyncguard"):
        check = ["asyncguard", "check", "--exit-zero"]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        cold = measure("asyncguard, cold", [*check, *paths], here, None)
        measure("asyncguard, warm cache", [*check, *paths], here, cold)
        measure(
            "asyncguard, one file of 300 lines", [*check, str(small_file(directories))], here, cold
        )
        if options.ruff:
            ruff = [options.ruff, "check", "--select", "ALL", "--no-cache", "--exit-zero", "-q"]
            measure("ruff, all rules, no cache", [*ruff, *paths], here, cold)
        if options.torchfix:
            measure("TorchFix, all rules", [options.torchfix, "--select=ALL", *paths], here, cold)
    return 0


if __name__ == "__main__":
    sys.exit(main())
