"""One traced run of a program in a copy of its folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import store


class Run(NamedTuple):
    """What a run printed, how it ended, and its trace."""

    output: str
    status: int
    record: TraceRecord


def run(
    folder: Path, program: Sequence[str], options: Sequence[str], trace: Path, seconds: float | None
) -> Run:
    """Run `asyncguard run` on a program; `options` are that command's.

    Raises AsyncguardError where the program leaves no trace or takes longer than `seconds`.
    """
    command = [sys.executable, "-m", "asyncguard", "run", "--quiet", "--timeline", "-o", str(trace)]
    try:
        done = subprocess.run(
            [*command, *options, *program],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AsyncguardError(f"{program[0]}: not done after {seconds:g} s (--timeout)") from error
    if not trace.exists():
        said = done.stderr.strip().splitlines()
        raise AsyncguardError(
            f"{program[0]}: it left no trace: {said[-1] if said else 'nothing said'}"
        )
    return Run(done.stdout, done.returncode, store.load(trace))
