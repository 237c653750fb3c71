"""What is released, built once in a run for all tests that install or read it.

The environments of pre-commit and of the action find what they need in `needed`, on PYTHONPATH: pip
checks that this is what the package asks for, and neither downloads nor unpacks nor compiles it
again. tests/test_packaging.py downloads it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

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


@pytest.fixture(scope="session")
def needed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to this environment's pip, setuptools and dependencies of the wheel."""
    folder = tmp_path_factory.mktemp("needed")
    link(["pip", "setuptools", *requirements(wheel_in(built / "pure"))], folder)
    return folder


def requirements(wheel: Path) -> list[str]:
    (about,) = metadata.distributions(path=[str(wheel)])
    return about.requires or []


def link(wanted: Iterable[str], folder: Path) -> None:
    """Link the installed packages that meet requirements, and what these require, in a folder."""
    left, linked = [Requirement(each) for each in wanted], set()
    while left:
        requirement = left.pop()
        marker = requirement.marker
        if requirement.name in linked or (marker and not marker.evaluate({"extra": ""})):
            continue
        linked.add(requirement.name)
        package = metadata.distribution(requirement.name)
        left += [Requirement(each) for each in package.requires or []]
        for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
            if not Path(folder, top).exists():
                Path(folder, top).symlink_to(package.locate_file(top))
