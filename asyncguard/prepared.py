"""The shipped rules files, kept parsed beside the bytecode of this package.

Python keeps the bytecode of modules, and does not keep what a TOML file says. It is kept here as
bytecode is: in the same folder, trusted as that is, made anew where the file has changed, and not
written where Python writes none (`python -B`).
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent


def rules_directory() -> Path:
    """The directory of the shipped rules files: `asyncguard.data` once installed."""
    checkout = _PACKAGE.parent / "rules"
    if checkout.is_dir() and not (_PACKAGE / "data").is_dir():
        return checkout
    return _PACKAGE / "data"


def toml(path: Path) -> dict[str, Any]:
    """Return what a rules file says, kept if it is a shipped one; raises OSError and ValueError."""
    status = os.stat(path)
    stamp = status.st_size, status.st_mtime_ns
    place = _beside(path.name) if path.parent == rules_directory() else None
    match _load(place):
        case (before, dict(known)) if before == stamp:
            return known
    import tomli

    from asyncguard import files

    data: dict[str, Any] = tomli.loads(files.read_text(path))
    _store(place, (stamp, data))
    return data


def _beside(name: str) -> Path | None:
    """Return where something is kept; None where Python keeps no bytecode of this module."""
    cached = __spec__.cached if __spec__ is not None else None
    return Path(cached).with_suffix(f".{name}") if cached else None


def _load(place: Path | None) -> Any:
    """Return what is kept; None if nothing is."""
    try:
        return marshal.loads(place.read_bytes()) if place is not None else None
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _store(place: Path | None, value: Any) -> None:
    if place is None or sys.dont_write_bytecode:
        return
    from asyncguard import files

    with suppress(OSError, ValueError):  # ValueError: it holds a date, which marshal does not know
        place.parent.mkdir(exist_ok=True)
        files.replace(place, [marshal.dumps(value)])
