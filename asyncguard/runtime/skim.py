"""The figures of a trace alone, read in a thousandth of a second: a fleet has thousands of them.

Checked are the types of what is read; whole traces, with their call paths, are `store`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from asyncguard import files
from asyncguard.model import AsyncguardError, SyncKind
from asyncguard.runtime.store import FORMAT, VERSION

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_START = f'{{"format": "{FORMAT}"'.encode()


class SkimmedSite(msgspec.Struct, frozen=True, gc=False):
    """What happened at one site; as in `SiteStats`."""

    path: str
    line: Natural
    function: str
    api: str
    framework: str
    kind: SyncKind
    count: Natural
    cpu_stall_ns: Natural
    gpu_stall_ns: Natural | None = None
    source: str = ""
    device: str = ""
    library: list[Natural | str] = []  # numbers of the trace's frames


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Which run a trace is of, and which rank of it."""

    rank: Natural | None = None
    world_size: Natural | None = None
    job: str = ""
    run: str = ""
    host: str = ""
    revision: str = ""
    started: str = ""
    devices: list[str] = []


class Skimmed(msgspec.Struct, frozen=True, gc=False):
    """One trace: its sites and what they add up to; times in nanoseconds."""

    format: Literal["asyncguard-trace"]
    version: Annotated[int, msgspec.Meta(ge=1, le=VERSION)]
    sites: list[SkimmedSite]
    step_count: Natural
    duration_ns: Natural
    command: str = ""
    frames: list[str] = []
    extra: Identity = Identity()

    @property
    def total_syncs(self) -> int:
        """The number of waits."""
        return sum(site.count for site in self.sites)

    @property
    def cpu_stall_ns(self) -> int:
        """Host time spent blocked."""
        return sum(site.cpu_stall_ns for site in self.sites)

    def library(self, site: SkimmedSite) -> str:
        """The innermost frame of the library that waits; "" where the line itself does."""
        first = site.library[0] if site.library else ""
        if isinstance(first, str):
            return first
        return self.frames[first] if first < len(self.frames) else ""


_decoder = msgspec.json.Decoder(Skimmed)


def skim(path: Path) -> Skimmed:
    """Read the figures of a trace; raises AsyncguardError naming the file and the remedy."""
    try:
        return _decoder.decode(files.read(path))
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot read the trace: {error.strerror or error}; "
            "'asyncguard run -o TRACE script.py' writes one"
        ) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise AsyncguardError(
            f"{path}: not a trace that this version reads: {error}; record it again"
        ) from error


def traces_below(folder: Path) -> list[Path]:
    """Return the traces in a folder and the folders in it, by name; other files are left out."""
    try:
        found = sorted(path for path in folder.rglob("*.json") if _is_trace(path))
    except OSError as error:
        raise AsyncguardError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if not found:
        raise AsyncguardError(f"{folder}: holds no traces; 'asyncguard run -o TRACE' writes one")
    return found


def _is_trace(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_START)) == _START
