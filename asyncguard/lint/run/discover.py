"""Which files are checked: paths of the command line -> source files.

Directories are walked for `*.py` and `*.ipynb`, leaving out hidden folders, virtual environments,
installed packages and build output. What is given by name is checked whatever it is called, unless
the configuration's `exclude` names it: pre-commit hands over every changed file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from asyncguard.lint.run.settings import Settings
from asyncguard.model import AsyncguardError

SUFFIXES = (".py", ".ipynb")
LEFT_OUT = {"node_modules", "__pycache__", "__pypackages__", "site-packages", "build", "dist"}


def source_files(paths: Sequence[Path], settings: Settings) -> list[Path]:
    """The files to check, each once, in the order of the paths and sorted within directories.

    Raises AsyncguardError for a path that does not exist.
    """
    seen: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise AsyncguardError(f"{path}: no such file or directory")
        for file in _walk(path, settings) if path.is_dir() else [path]:
            if not is_excluded(file, settings):
                seen.setdefault(os.path.abspath(file), file)
    return list(seen.values())


def is_excluded(path: Path, settings: Settings) -> bool:
    """Whether a pattern names the path: its name, or the path from `root` or any folder above."""
    if not settings.exclude:
        return False
    relative = os.path.relpath(path, settings.root)
    return any(_matches(relative, path.name, pattern.rstrip("/")) for pattern in settings.exclude)


def _matches(relative: str, name: str, pattern: str) -> bool:
    if fnmatch(name, pattern) or fnmatch(relative, pattern):
        return True
    parts = Path(relative).parts
    return any(fnmatch(os.path.join(*parts[:end]), pattern) for end in range(1, len(parts)))


def _walk(top: Path, settings: Settings) -> Iterator[Path]:
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _is_left_out(here / name, settings))
        yield from (here / name for name in sorted(files) if name.endswith(SUFFIXES))


def _is_left_out(folder: Path, settings: Settings) -> bool:
    return (
        folder.name.startswith(".")
        or folder.name in LEFT_OUT
        or is_excluded(folder, settings)
        or (folder / "pyvenv.cfg").exists()
    )
