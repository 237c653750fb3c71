"""Facts of files that have not changed, kept between runs.

One file in the cache directory holds the facts of a run, under a key of what all depend on:
asyncguard's version and rules, the options of the analysis, and which files are checked. Facts are
stale once their file changed, or one that was read for it, or for that one in turn.

The directory may lie in a repository that a stranger wrote, so nothing in it is trusted. What is
kept is plain data (MessagePack), and each value is checked against the type that it should have.
Only regular files are read, links are never followed, and a cache that does not fit is ignored.
Files are created only in a directory named `.asyncguard_cache`, each in one atomic step.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from asyncguard import catalogue
from asyncguard.lint.program.facts import FileFacts, Linked
from asyncguard.lint.run.settings import CACHE_DIRECTORY, Settings
from asyncguard.version import __version__

if TYPE_CHECKING:
    from io import BufferedReader


FILE = "lint.msgpack"
HEADER = b"asyncguard lint cache 1\n"  # then the key, the answer's length, the answer, the contents
LENGTH = 8  # bytes
MOST = 1 << 30  # bytes of a cache file; six large packages take 20 MB
IGNORE = b"# Made by asyncguard.\n*\n"
Stamp = tuple[int, int]  # size, modification time in nanoseconds
Asked = tuple[str, str]  # a path, and that of a file that was read for it
T = TypeVar("T")


class Answer(NamedTuple):
    """What a run said, and the stamps and digests of the files that it is true for."""

    stamps: Mapping[str, tuple[Stamp, str]]
    linked: Mapping[str, Linked]


class Contents(NamedTuple):
    """What a run learned, where something has changed since: facts by path, who asked for what."""

    facts: Mapping[str, FileFacts]
    asked: frozenset[Asked]


class Cache:
    """What the last run of one configuration left; `store` writes what this one leaves.

    `linked` is that run's answer, if it still holds; the facts behind it are not read then.
    """

    def __init__(self, settings: Settings, options: object, files: Iterable[str]) -> None:
        self.enabled = settings.cache
        self.path = _directory(settings) / FILE
        self.key = _key(options, files) if self.enabled else ""
        self.linked: Mapping[str, Linked] | None = None
        self.before = Contents({}, frozenset())
        self.stamps: Mapping[str, tuple[Stamp, str]] = {}
        self.stale: set[str] = set()
        if self.enabled:
            self._load(set(files))
        self.asked = {pair for pair in self.before.asked if pair[0] not in self.stale}

    def get(self, path: str) -> FileFacts | None:
        """Return the facts of a file if nothing that they depend on has changed."""
        return self.before.facts.get(path) if path not in self.stale else None

    def note(self, asked: Iterable[Asked]) -> None:
        """Note which files were read for which."""
        self.asked.update(asked)

    def _load(self, files: set[str]) -> None:
        """Read what the last run left, the facts only if its answer no longer holds."""
        try:
            with _open(self.path) as file:
                start = HEADER + self.key.encode()
                if file.read(len(start)) != start:
                    return
                length = int.from_bytes(file.read(LENGTH), "big")
                answer = _decode(file.read(length), Answer)
                changed = [p for p, stamped in answer.stamps.items() if not _same(p, *stamped)]
                if not changed and answer.stamps.keys() == files:
                    self.linked = answer.linked if _is_sound(answer.linked, files) else None
                    return
                before = _decode(file.read(), Contents)
        except (OSError, ValueError, RecursionError):
            return
        if all(path in files and facts.path == path for path, facts in before.facts.items()):
            self.before, self.stamps = before, answer.stamps
            self.stale = _with_askers(changed, before.asked)

    def store(self, facts: Mapping[str, FileFacts], linked: Mapping[str, Linked]) -> None:
        """Keep what this run learned and said."""
        if not self.enabled:
            return
        stamps: dict[str, tuple[Stamp, str]] = {}
        for path in facts:
            if path in self.stamps and path not in self.stale:
                stamps[path] = self.stamps[path]
            elif (stamp := _stamp(path)) is not None:
                stamps[path] = stamp, _digest(path)
        kept = {path: known for path, known in facts.items() if path in stamps}
        answer = _encode(Answer(stamps, linked))
        contents = _encode(Contents(kept, frozenset(self.asked)))
        length = len(answer).to_bytes(LENGTH, "big")
        try:
            _write(self.path, [HEADER, self.key.encode(), length, answer, contents])
        except OSError:
            return  # a cache is only ever a shortcut


def _directory(settings: Settings) -> Path:
    """Return the directory of our own: `cache-dir`, or one within it if it has another name."""
    directory = settings.root / settings.cache_dir
    return directory if directory.name == CACHE_DIRECTORY else directory / CACHE_DIRECTORY


def _open(path: Path) -> BufferedReader:
    """Open a regular file in a real directory; raises OSError for all else, links included."""
    _check_directory(path.parent)
    # A FIFO would keep us waiting for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb")  # noqa: SIM115
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST:
        file.close()
        raise OSError(f"{path} is not a cache file")
    return file


def _check_directory(directory: Path) -> None:
    if not stat.S_ISDIR(os.lstat(directory).st_mode):
        raise NotADirectoryError(f"{directory} is not a directory")


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Replace the file in one step, so that two runs at once cannot mix theirs."""
    import tempfile

    directory = path.parent
    directory.mkdir(parents=True, exist_ok=True)
    _check_directory(directory)
    _ignore(directory)
    descriptor, name = tempfile.mkstemp(".tmp", dir=directory)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(parts)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _ignore(directory: Path) -> None:
    """Keep the directory out of version control, unless something there is called that already."""
    try:
        with open(directory / ".gitignore", "xb") as file:
            file.write(IGNORE)
    except FileExistsError:
        return


def _encode(value: object) -> bytes:
    import msgspec

    return msgspec.msgpack.encode(value)


def _decode(data: bytes, kind: type[T]) -> T:
    """Return the value, with every part of the type it should have; raises ValueError."""
    import msgspec

    return msgspec.msgpack.decode(data, type=kind)


def _is_sound(linked: Mapping[str, Linked], files: set[str]) -> bool:
    """Whether each finding speaks of the file that it is kept under, one of those checked."""
    return linked.keys() <= files and all(
        finding.path == path for path, told in linked.items() for finding in told.findings
    )


def _with_askers(changed: Iterable[str], asked: Iterable[Asked]) -> set[str]:
    """Return the files that changed, and all that depend on these by however many steps."""
    askers: dict[str, list[str]] = {}
    for asker, path in asked:
        askers.setdefault(path, []).append(asker)
    pending = [*changed]
    found: set[str] = set()
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += askers.get(path, ())
    return found


def _same(path: str, stamp: Stamp, digest: str) -> bool:
    """Whether a file holds what it held: it was not written since, or to no effect."""
    now = _stamp(path)
    return now == stamp or (now is not None and now[0] == stamp[0] and _digest(path) == digest)


def _digest(path: str) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError:
        data = b""
    return _hash(data)


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _key(options: object, files: Iterable[str]) -> str:
    """Digest what all entries depend on; the set of files decides what imports mean."""
    parts = [__version__, repr(options), _own_digest(), *sorted(files)]
    return _hash("\0".join(parts).encode("utf-8", "replace"))


def _hash(data: bytes) -> str:
    import hashlib  # a check without a cache needs none

    return hashlib.blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _own_digest() -> str:
    """Digest the rules files and the stamps of the analyzer's own modules."""
    files = [
        *sorted(catalogue.rules_directory().glob("*.toml")),
        *sorted(Path(__file__).parent.parent.rglob("*.py")),
    ]
    return "\n".join(f"{path.name} {_stamp(str(path))}" for path in files)
