"""Copies of the folder that a program lives in, so that nothing in place is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from asyncguard.model import AsyncguardError

LEFT_OUT = frozenset({
    ".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".asyncguard_cache",
    ".asyncguard_runs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox",
})  # fmt: skip
MOST = 1 << 29  # bytes that are copied in all; the rest is linked
LARGE, SMALL = 1 << 24, 1 << 20  # bytes; larger files are data, of those that git ignores too


def folder_of(script: Path) -> Path:
    """Return the folder to copy: the working directory if the script is below it, else its own."""
    here = Path.cwd()
    return here if script.resolve().is_relative_to(here) else script.resolve().parent


def copied(folder: Path, target: Path, exclude: Sequence[str] = ()) -> dict[Path, tuple[int, int]]:
    """Copy a folder but for what patterns of `exclude` name; raises AsyncguardError if it cannot.

    Large files, and those that git ignores, if they are not small, are data: links to them stand in
    the copy. Returns these files, with their sizes and the times they were written at, in ns.
    """
    ignored, shared, left = _ignored(folder), {}, MOST
    try:
        for directory, folders, names in os.walk(folder):
            here = target / Path(directory).relative_to(folder)
            here.mkdir(parents=True, exist_ok=True)
            parts = [Path(directory, name) for name in sorted((*folders, *names))]
            kept = [part for part in parts if not _is_left_out(folder, part, exclude)]
            folders[:] = [part.name for part in kept if part.is_dir() and not part.is_symlink()]
            for part in kept:
                if part.is_symlink():
                    (here / part.name).symlink_to(os.readlink(part))
                elif part.is_file():
                    status = part.stat()
                    is_ignored = any(name in ignored for name in _names(folder, part))
                    if status.st_size > min(left, SMALL if is_ignored else LARGE):
                        (here / part.name).symlink_to(part.resolve())
                        shared[part] = status.st_size, status.st_mtime_ns
                    else:
                        left -= status.st_size
                        shutil.copy2(part, here / part.name)
    except OSError as error:
        raise AsyncguardError(f"{folder} cannot be copied: {error}") from error
    return shared


def require_same(shared: Mapping[Path, tuple[int, int]]) -> None:
    """Raise AsyncguardError if a program wrote to a file that its copy shares with the folder."""
    for path, known in shared.items():
        status = path.stat() if path.exists() else None
        if status is None or (status.st_size, status.st_mtime_ns) != known:
            raise AsyncguardError(
                f"{path}: the program writes to it, and it is too large to be copied; "
                f"leave it out: --exclude {path.name}"
            )


def _is_left_out(folder: Path, path: Path, exclude: Sequence[str]) -> bool:
    names = path.relative_to(folder).as_posix(), path.name
    return path.name in LEFT_OUT or any(
        fnmatch(name, pattern.rstrip("/")) for name in names for pattern in exclude
    )


def _names(folder: Path, path: Path) -> Iterator[str]:
    """Yield a path and the folders around it, as seen from the folder."""
    inner = path.relative_to(folder)
    yield from (part.as_posix() for part in (inner, *inner.parents))


def _ignored(folder: Path) -> frozenset[str]:
    """Return the files and folders that git ignores, as seen from the folder; none without git."""
    command = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    try:
        found = _git(folder, *command)
    except AsyncguardError:
        return frozenset()
    return frozenset(name.rstrip("/") for name in found.split("\0") if name)


def linked(folder: Path, scratch: Path) -> None:
    """Let copies in `scratch` find what lies beside the folder, such as `../data`."""
    for beside in folder.resolve().parent.iterdir():
        link = scratch / beside.name
        if beside.name not in LEFT_OUT and not link.exists() and beside != folder.resolve():
            link.symlink_to(beside)


@contextmanager
def branch(folder: Path, name: str, scratch: Path, committed: Sequence[str]) -> Iterator[Path]:
    """Check out a new branch of the folder's repository beside it; yield the folder in there.

    In the end a branch that is not among the `committed` ones is deleted. Raises AsyncguardError
    where there is no repository, the name is taken, or changes are not committed, which the branch
    would lack.
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
        if name not in committed:
            _git(root, "branch", "--quiet", "-D", name)


def commit(folder: Path, message: str) -> None:
    """Commit what has changed in a checkout; raises AsyncguardError."""
    _git(folder, "commit", "--quiet", "--all", "--message", message)


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
