"""`asyncguard demo`: the whole job on real input, in under two minutes.

Lints a real training library, traces real frameworks (those that are installed; the reference
engine otherwise), and shows the gate failing on one added `.item()`. Each part prints the command
that it runs, so that a reader can run it by hand.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

from asyncguard import screens
from asyncguard.model import AsyncguardError

LIBRARY = ("d2l", "1.0.3")
PROGRAMS = Path(__file__).parent / "programs"
# What the demo adds to the training loop, after the line that starts so.
LOOP_LINES = {"torch": "        optimizer.step()", "engine": "        weights -="}
ADDED = '        if loss.item() > 1e6: raise SystemExit("diverged")'


def main() -> int:
    """Run every part; 0 if each showed what it should, 2 if one could not be shown."""
    _require_backend()
    console = Console(highlight=False, width=screens.screen(sys.stdout).width)
    failures = []
    with tempfile.TemporaryDirectory(prefix="asyncguard-demo-") as name:
        for title, part in _parts():
            console.rule(f"[bold]{title}")
            try:
                part(console, Path(name))
            except AsyncguardError as error:
                failures.append(title)
                print(f"asyncguard: {error}", file=sys.stderr)
    console.rule()
    if failures:
        print(f"asyncguard demo: not shown: {'; '.join(failures)}", file=sys.stderr)
        return 2
    console.print("Next: [bold]asyncguard check[/] your code, [bold]asyncguard run[/] your script.")
    return 0


def _parts() -> list[tuple[str, Callable[[Console, Path], None]]]:
    backend = _first_installed("mxnet")
    loop = _first_installed("torch")
    return [
        (f"1. Lint a real library: {' '.join(LIBRARY)}", _lint_library),
        (f"2. Trace 10,000 increments ({backend})", partial(_trace_increments, backend)),
        (f"3. Trace a training loop ({loop})", partial(_trace_loop, loop)),
        ("4. Gate: one .item() is added to that loop", partial(_gate_loop, loop)),
    ]


def fetch_library(name: str, version: str, cache: Path | None = None) -> Path:
    """Download a package's wheel with pip, once, and return the directory it is unpacked in."""
    cache = cache or cache_directory()
    target = cache / f"{name}-{version}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as staging:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*command, "--dest", staging, f"{name}=={version}"], capture_output=True, text=True
        )
        wheels = list(Path(staging).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise AsyncguardError(
                f"{name} {version} could not be downloaded ({reason}); check the network, or put "
                f"the unpacked wheel at {target}"
            )
        unpacked = Path(staging) / "unpacked"
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(unpacked)
        unpacked.rename(target)
    return target


def cache_directory() -> Path:
    """Where downloads are kept: `$XDG_CACHE_HOME/asyncguard`, or `~/.cache/asyncguard`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asyncguard"


def _lint_library(console: Console, directory: Path) -> None:
    with console.status("downloading (once) ..."):
        library = fetch_library(*LIBRARY)
    shown = "d2l/torch.py"
    _asyncguard(console, library, "check", "--statistics", "d2l", expected=1)
    console.print(f"\nThe first of them in {shown}:")
    _asyncguard(console, library, "check", shown, expected=1, lines=12)


def _trace_increments(framework: str, console: Console, directory: Path) -> None:
    program = shutil.copy(PROGRAMS / f"{framework}_increments.py", directory / "increments.py")
    _asyncguard(console, directory, "run", "-o", "increments.json", Path(program).name)


def _trace_loop(framework: str, console: Console, directory: Path) -> None:
    shutil.copy(PROGRAMS / f"{framework}_loop.py", directory / "loop.py")
    _asyncguard(console, directory, "run", "-o", "loop.json", "loop.py")


def _gate_loop(framework: str, console: Console, directory: Path) -> None:
    _asyncguard(console, directory, "gate", "--update", "loop.py", "loop.json")
    loop = directory / "loop.py"
    _insert_after(loop, LOOP_LINES[framework], ADDED)
    console.print(f"\nAdded to loop.py: [yellow]{ADDED.strip()}[/]\n")
    _asyncguard(console, directory, "run", "--quiet", "-o", "loop.json", "loop.py")
    _asyncguard(console, directory, "gate", "loop.py", "loop.json", expected=1)


def _insert_after(path: Path, start: str, added: str) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(start))
    lines.insert(index + 1, added)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _asyncguard(
    console: Console, directory: Path, *arguments: str, expected: int = 0, lines: int | None = None
) -> None:
    """Show and run one command; raises AsyncguardError if its exit status is not as expected.

    Its output is as wide as the demo's: the demo is for people to read, in a pipe or a log too.
    """
    console.print(f"[dim]$[/] [bold]asyncguard {' '.join(arguments)}[/]")
    sys.stdout.flush()
    done = subprocess.run(
        [sys.executable, "-m", "asyncguard", *arguments],
        cwd=directory,
        env={**os.environ, "COLUMNS": str(console.width)},
        stdout=None if lines is None else subprocess.PIPE,
        text=True,
    )
    if lines is not None:
        output = done.stdout.splitlines()
        print(*output[:lines], sep="\n")
        if len(output) > lines:
            console.print(f"[dim]... {len(output) - lines} more lines[/]")
    if done.returncode != expected:
        raise AsyncguardError(
            f"'asyncguard {' '.join(arguments)}' exited with {done.returncode}, not {expected}"
        )


def _require_backend() -> None:
    """Raise AsyncguardError where there is nothing to trace: no framework, and no NumPy."""
    if _first_installed("torch") == "engine" and importlib.util.find_spec("numpy") is None:
        raise AsyncguardError(
            "demo: needs a framework to trace, or numpy for the reference engine; install it with "
            "`pip install 'asyncguard[engine]'`"
        )


def _first_installed(framework: str) -> str:
    """`framework` where it is installed, else the reference engine, which needs NumPy alone."""
    return framework if importlib.util.find_spec(framework) else "engine"
