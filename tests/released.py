"""What is released, built once in a run for all tests that install or read it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that one process of a run makes for all: builds share files of the source."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    folder = (factory.getbasetemp().parent if worker else factory.getbasetemp()) / name
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(folder, "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            Path(folder, "made").touch()
    return folder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution and, made from it, wheels in `pure`, `compiled`, `no_compiler`."""
    pytest.importorskip("setuptools", minversion="77")

    def make(folder: Path) -> None:
        command = [sys.executable, str(ROOT / "tests" / "builds.py"), str(ROOT), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return once(tmp_path_factory, "built", make)


def wheel_in(folder: Path) -> Path:
    (archive,) = folder.glob("*.whl")
    return archive
