"""Build what is released, with setuptools alone: `python tests/builds.py SOURCE TARGET`.

The source distribution, and from it a wheel for each of WHEELS, in a folder of that name. Processes
are forked from one that holds setuptools: each changes its folder and its environment.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import traceback
from collections.abc import Callable
from pathlib import Path

from setuptools import build_meta

WHEELS = {
    "pure": {"ASYNCGUARD_PURE_PYTHON": "1"},
    "compiled": {"ASYNCGUARD_PURE_PYTHON": ""},
    "no_compiler": {"ASYNCGUARD_PURE_PYTHON": "", "CC": "/nowhere/cc"},
}


def main(source: Path, target: Path) -> None:
    """Build all."""
    target.mkdir(exist_ok=True)
    forked(source, {}, lambda: build_meta.build_sdist(str(target)))
    (archive,) = target.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(target / "source")
    (unpacked,) = (target / "source").iterdir()
    for name, variables in WHEELS.items():
        (target / name).mkdir()
        forked(unpacked, variables, lambda name=name: build_meta.build_wheel(str(target / name)))
        shutil.rmtree(unpacked / "build")


def forked(folder: Path, variables: dict[str, str], build: Callable[[], str]) -> None:
    """Build in a folder and with these variables; end this process if that fails."""
    pid = os.fork()
    if pid:
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            sys.exit(1)
        return
    os.chdir(folder)
    os.environ.update(variables)
    try:
        build()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  (it is told, and the other process ends)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
