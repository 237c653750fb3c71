"""What is made of text at every start, kept beside the bytecode of this package.

Python keeps the bytecode of modules. It keeps neither that of the text which `dataclasses` compiles
for each class, almost half of importing libcst with its 200 classes, nor what a TOML file says.
Both are kept here as bytecode is: in the same folder, trusted as that is, made anew where what they
were made of has changed, and not written where Python writes none (`python -B`).
"""

from __future__ import annotations

import dataclasses
import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

_PACKAGE = Path(__file__).parent
MOST = 4_000  # texts; more than that are of versions that are gone
_NAME = "exec"  # of the function that `dataclasses` calls; Python's own is found behind it

_codes: dict[str, CodeType] | None = None  # by their texts, within `kept_code`


@contextmanager
def kept_code(name: str) -> Iterator[None]:
    """Let what is imported within compile no text that an earlier process has compiled.

    `name` says what is imported, where not all processes import the same.
    """
    global _codes
    place = _beside(name)
    before = _load(place)
    outer, _codes = _codes, before if isinstance(before, dict) else {}
    codes, known = _codes, len(_codes)
    setattr(dataclasses, _NAME, execute)
    try:
        yield
    finally:
        _codes = outer
        if outer is None:
            delattr(dataclasses, _NAME)
        if known < len(codes):
            _store(place, dict([*codes.items()][-MOST:]))


def execute(text: str, names: dict[str, Any], local: dict[str, Any] | None = None) -> None:
    """Execute a text of `dataclasses` or of this package, as `exec` does."""
    code = None if _codes is None else _codes.get(text)
    if code is None:
        code = compile(text, "<string>", "exec", dont_inherit=True)
        if _codes is not None:
            _codes[text] = code
    exec(code, names, local)


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
