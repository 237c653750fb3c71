"""The key with which this user's asyncguard signs what it keeps in folders that others write too.

It lies in the user's own cache directory, never in a checked folder, so that a repository cannot
bring a cache that would be believed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from asyncguard import files

BYTES = 32
NAME = "cache.key"
_XDG = "XDG_CACHE_HOME", "~/.cache"


def directory() -> Path:
    """Return the folder of asyncguard in the user's cache directory."""
    variable, usual = ("LOCALAPPDATA", "~/AppData/Local") if os.name == "nt" else _XDG
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.expanduser(usual)
    return Path(base) / "asyncguard"


def key() -> bytes | None:
    """Return the key, made when it is first asked for; None where it cannot be kept."""
    path = directory() / NAME
    if not path.is_absolute():  # nobody's home
        return None
    try:
        return _read(path) or _make(path)
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    try:
        found = files.read(path, follow=False)
    except FileNotFoundError:
        return None
    return found if len(found) == BYTES else None


def _make(path: Path) -> bytes | None:
    """Write a new key, unless another process was first: then return that one's."""
    import secrets

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = path.with_name(f"{NAME}.{secrets.token_hex(8)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(secrets.token_bytes(BYTES))
        if path.exists():  # it is damaged
            os.replace(scratch, path)
        else:
            os.link(scratch, path)  # fails if another process has made one meanwhile
    except FileExistsError:
        pass
    finally:
        with suppress(OSError):
            os.unlink(scratch)
    return _read(path)
