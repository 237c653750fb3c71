"""Which run a trace is of: job, run, host, git revision and devices, for whoever compares many."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from asyncguard import files

# What launchers and trackers call the job (what a scheduler started) and the run (one training).
JOBS = ("ASYNCGUARD_JOB", "SLURM_JOB_ID", "RAY_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_NAME")
RUNS = ("ASYNCGUARD_RUN", "TORCHELASTIC_RUN_ID", "WANDB_RUN_ID", "MLFLOW_RUN_ID")
UNNAMED = {"", "none"}  # torchrun's own name of a run that nobody named
_REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SMALL = 1 << 20  # bytes of a file of git's that is read


def identity(
    root: str, devices: Iterable[str], environment: Mapping[str, str] | None = None
) -> dict[str, str | list[str]]:
    """What is known of this run, by name; nothing that is not known."""
    environment = os.environ if environment is None else environment
    found: dict[str, str | list[str]] = {
        "job": _first(JOBS, environment),
        "run": _first(RUNS, environment) or _rendezvous(environment),
        "host": socket.gethostname(),
        "revision": revision(Path(root)),
        "devices": sorted(set(devices)),
    }
    return {name: value for name, value in found.items() if value}


def now() -> str:
    """The time of the day, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def revision(folder: Path) -> str:
    """The git commit that is checked out around `folder`; "" where there is none.

    Reads git's files and starts no program.
    """
    for each in (folder, *folder.parents):
        git = each / ".git"
        try:
            if git.is_dir():
                return _head(git)
            if git.is_file():  # a worktree or a submodule
                return _head(each / _text(git).removeprefix("gitdir:").strip())
        except (OSError, ValueError):
            return ""
    return ""


def _head(git: Path) -> str:
    head = _text(git / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _REVISION.fullmatch(head) else ""
    name = head.removeprefix("ref:").strip()
    common = git / "commondir"
    shared = git / _text(common).strip() if common.is_file() else git
    loose = shared / name
    if ".." not in Path(name).parts and loose.is_file():
        found = _text(loose).strip()
        return found if _REVISION.fullmatch(found) else ""
    for line in _text(shared / "packed-refs").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name and _REVISION.fullmatch(commit):
            return commit
    return ""


def _text(path: Path) -> str:
    return files.read_text(path, _SMALL)


def _first(names: Iterable[str], environment: Mapping[str, str]) -> str:
    values = (environment.get(name, "") for name in names)
    return next((value for value in values if value not in UNNAMED), "")


def _rendezvous(environment: Mapping[str, str]) -> str:
    """Where the ranks of one run meet: the same for all of them."""
    address, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    return f"{address}:{port}" if address and port else ""
