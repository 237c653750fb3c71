"""Copies of the folder that a program lives in, so that nothing in place is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asyncguard.model import AsyncguardError

LEFT_OUT = frozenset({
    ".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".asyncguard_cache",
    ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox",
})  # fmt: skip
MOST = 1 << 30  # bytes; of more, a copy takes too long to be made without asking


def folder_of(script: Path) -> Path:
    """Return the folder to copy: the working directory if the script is below it, else its own."""
    here = Path.cwd()
    return here if script.resolve().is_relative_to(here) else script.resolve().parent


def copied(folder: Path, target: Path) -> None:
    """Copy a folder; raises AsyncguardError where it is too large or cannot be read."""
    size = sum(map(_size, _files(folder)))
    if size > MOST:
        raise AsyncguardError(
            f"{folder} holds {size >> 20:,} MiB: run `asyncguard tune` in the script's own folder"
        )
    try:
        shutil.copytree(folder, target, ignore=_ignored, symlinks=True)
    except (OSError, shutil.Error) as error:
        raise AsyncguardError(f"{folder} cannot be copied: {error}") from error


def linked(folder: Path, scratch: Path) -> None:
    """Let copies in `scratch` find what lies beside the folder, such as `../data`."""
    for beside in folder.resolve().parent.iterdir():
        link = scratch / beside.name
        if beside.name not in LEFT_OUT and not link.exists() and beside != folder.resolve():
            link.symlink_to(beside)


def _ignored(directory: str, names: list[str]) -> set[str]:
    """Leave out environments, caches, and what is not a regular file, a folder or a link."""
    return {name for name in names if name in LEFT_OUT or _is_special(Path(directory, name))}


def _is_special(path: Path) -> bool:
    return not (path.is_symlink() or path.is_dir() or path.is_file())


def _files(folder: Path) -> Iterator[Path]:
    for directory, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        yield from (Path(directory, name) for name in names)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


@contextmanager
def branch(folder: Path, name: str, scratch: Path) -> Iterator[Path]:
    """Check out a new branch of the folder's repository beside it; yield the folder in there.

    Raises AsyncguardError where there is no repository, the name is taken, or changes are not
    committed, which the branch would lack.
    """
    root = Path(_git(folder, "rev-parse", "--show-toplevel"))
    if _git(root, "status", "--porcelain", "--untracked-files=no"):
        raise AsyncguardError(f"{root} has changes that are not committed; commit or stash them")
    tree = scratch / "branch"
    _git(root, "worktree", "add", "--quiet", "-b", name, str(tree))
    try:
        yield tree / folder.resolve().relative_to(root.resolve())
    finally:
        _git(root, "worktree", "remove", "--force", str(tree))


def commit(folder: Path, message: str) -> None:
    """Commit what has changed in a checkout; raises AsyncguardError."""
    _git(folder, "commit", "--quiet", "--all", "--message", message)


def delete_branch(folder: Path, name: str) -> None:
    """Delete a branch on which nothing was committed."""
    _git(folder, "branch", "--quiet", "-D", name)


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise AsyncguardError(f"git: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise AsyncguardError(f"git {words[0]}: {said[-1] if said else 'failed'}")
    return done.stdout.strip()
