"""Files that somebody else may have written: read without hanging, replaced without surprises.

A repository, an archive or a colleague may put anything under a name that asyncguard opens: a FIFO
that never ends, a link to a device, JSON nested a million deep. `read` opens regular files alone,
`parse_json` returns plain data or raises ValueError, and `replace` writes whole files in one step.
Within `planned`, files read as they are to be, before anything is written.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from asyncguard.model import AsyncguardError

MOST = 1 << 30  # bytes of one file
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO would keep us waiting for its writer
    | getattr(os, "O_NOCTTY", 0)
)
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_open_file = open  # as it is before a traced program changes it
_LEAST = 4096  # bytes to ask for; files of the kernel say that they hold none
FOLDER = "is a directory"
_KINDS = (
    (stat.S_ISDIR, FOLDER),
    (stat.S_ISFIFO, "is a FIFO, not a file"),
    (stat.S_ISSOCK, "is a socket, not a file"),
    (stat.S_ISLNK, "is a link, not a file"),
)


_plan: Mapping[str, bytes] = {}  # what files are to hold, by their real paths


@contextmanager
def planned(contents: Mapping[str, bytes]) -> Iterator[None]:
    """Read these contents in place of what the files hold, as if they had been written.

    Contents are kept by path; processes that a check starts are told as well.
    """
    global _plan
    before, _plan = _plan, {os.path.realpath(path): data for path, data in contents.items()}
    try:
        yield
    finally:
        _plan = before


def plan() -> Mapping[str, bytes]:
    """Return what files are to hold, by their real paths."""
    return _plan


def planned_for(path: str | Path) -> bytes | None:
    """Return what a file is to hold; None if it stays as it is."""
    return _plan.get(os.path.realpath(path)) if _plan else None


def read(path: str | Path, most: int = MOST, *, follow: bool = True) -> bytes:
    """Return the bytes of a regular file of at most `most` bytes.

    A link stands for its target if `follow`, and else is refused. Raises OSError, whose `strerror`
    says why in words, for everything else: directories, FIFOs, sockets and devices (which are not
    even opened), files that are missing or too large, names that no file can have.
    """
    if (data := planned_for(path)) is not None:
        return data
    descriptor, size = _open(path, most, follow)
    parts: list[bytes] = []
    try:
        wanted = max(size + 1, _LEAST)
        while part := os.read(descriptor, wanted):
            parts.append(part)
            if len(part) == size:
                break  # all of it: one byte more was asked for
    finally:
        os.close(descriptor)
    return b"".join(parts)


def head(path: str | Path, size: int) -> bytes:
    """Return the first bytes of a regular file of any size; raises OSError as `read` does."""
    descriptor, _ = _open(path, sys.maxsize, follow=True)
    try:
        return os.read(descriptor, size)
    finally:
        os.close(descriptor)


def read_text(path: str | Path, most: int = MOST) -> str:
    """Return the text of a regular file in UTF-8; raises OSError as `read` does, and ValueError."""
    return read(path, most).decode("utf-8").replace("\r\n", "\n")


def why_unreadable(path: str | Path) -> str:
    """Return why `read` would refuse a file by its kind, "" if it would not."""
    try:
        return _objection(os.stat(path), MOST)
    except OSError as error:
        return error.strerror or str(error)
    except ValueError:
        return _NO_NAME


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; raises ValueError for all that is not plain, finite data."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def replace(path: Path, parts: Iterable[bytes], *, prefix: str = "", suffix: str = ".tmp") -> None:
    """Put a file in place in one step: others find the old one or the new one, never a part.

    What stands there keeps its permissions. Raises OSError, with nothing left behind, where it
    cannot be written, or where a link, a device, a read-only file or no regular one stands.
    """
    import tempfile  # what only reads needs none

    before = _standing(path)
    handle, name = tempfile.mkstemp(suffix, prefix or f".{path.name}.", path.absolute().parent)
    try:
        with _open_file(handle, "wb") as file:
            file.writelines(parts)
        os.chmod(name, 0o666 & ~_umask() if before is None else stat.S_IMODE(before.st_mode))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def require_replaceable(path: Path, sources: Iterable[str | Path] = ()) -> None:
    """Raise OSError with the reason where `replace` would, or where one of the sources stands."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not os.access(folder, os.W_OK):
        raise OSError(errno.EACCES, "its folder cannot be written to")
    before = _standing(path)
    for source in sources:
        if before is not None and _is(source, before):
            raise OSError(errno.EINVAL, f"is {source}, which is read")


_NO_NAME = "no file can have this name"


def _open(path: str | Path, most: int, follow: bool) -> tuple[int, int]:
    """Open a regular file; returns its descriptor and its size."""
    try:
        # Looked at before it is opened as well: opening a device can do something.
        _require(os.stat(path, follow_symlinks=follow), most)
        descriptor = os.open(path, _FLAGS | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    except ValueError:  # a null character, or one that the file system's encoding lacks
        raise OSError(errno.EINVAL, _NO_NAME) from None
    try:
        status = os.fstat(descriptor)
        _require(status, most)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def _require(status: os.stat_result, most: int) -> None:
    if objection := _objection(status, most):
        raise OSError(errno.EINVAL, objection)


def _objection(status: os.stat_result, most: int) -> str:
    if stat.S_ISREG(status.st_mode):
        return "" if status.st_size <= most else f"is larger than {most:,} bytes"
    return next((text for is_kind, text in _KINDS if is_kind(status.st_mode)), "is a device")


def _standing(path: Path) -> os.stat_result | None:
    """Return the status of the regular file that is to be replaced; None where there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except ValueError:
        raise OSError(errno.EINVAL, _NO_NAME) from None
    _require(status, status.st_size)
    if not status.st_mode & _WRITABLE:
        raise OSError(errno.EACCES, "is read-only")
    return status


def _is(path: str | Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except (OSError, ValueError):
        return False


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def require_directory() -> None:
    """Raise AsyncguardError where the working directory has been deleted."""
    try:
        Path.cwd()
    except OSError as error:
        raise AsyncguardError(
            "the working directory has been deleted; change to another"
        ) from error
