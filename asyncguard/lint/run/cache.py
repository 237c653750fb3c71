"""Facts of files that have not changed, kept between runs.

One file in the cache directory holds the facts of a run, under a key of what all depend on:
asyncguard's version and rules, and the options of the analysis. They hold for the files that were
checked together, for these decide what imports mean. Facts are stale once their file changed, or
one that was read for it, or for that one in turn. Files that are checked alone, in a hook or by
name, take the facts of their project's last check for their context.

The directory may lie in a repository that a stranger wrote, so nothing in it is trusted. A cache is
believed only if it was signed with the key of this user (see `secret`); it is plain data
(MessagePack), and each value is checked against the type that it should have. Only regular files
are read, links are never followed, and a cache that does not fit is ignored. Files are created only
in a directory named `.asyncguard_cache`, each in one atomic step.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress as ignoring
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from asyncguard import catalogue, files
from asyncguard.lint.program.facts import FileFacts, FileResult
from asyncguard.lint.run import secret
from asyncguard.lint.run.settings import CACHE_DIRECTORY, Settings
from asyncguard.version import __version__

FILE = "lint.msgpack"
FEW_FILE = "lint.few.msgpack"  # of files that were checked without the rest of their project
# Then the key, the answer's length, the signatures of the answer and of the contents, and these.
HEADER = b"asyncguard lint cache 4\n"
LENGTH = 8  # bytes
SIGNATURE = 32  # bytes
SCRATCH = "lint.", ".tmp"  # how the names of files begin and end that are still being written
STALE = 3600  # seconds after which such a file has been left behind
IGNORE = b"# Made by asyncguard.\n*\n"
# Size, and times of the last modification and of the last change of the file or its status, in
# nanoseconds. The second cannot be set: archives and copies set the first to what it was elsewhere.
Stamp = tuple[int, int, int]
YOUNG = 2_000_000_000  # nanoseconds within which another write may leave a file's times the same
Stamps = Mapping[str, Stamp | None]  # by path; None of files that are gone
Asked = tuple[str, str]  # a path, and that of a file that was read for it
T = TypeVar("T")


class Answer(NamedTuple):
    """What a run said of some files, or all, and what it is true for.

    `checked` are the files that were checked together, with their stamps and digests; `beside`
    digests what else the answer depends on, and facts do not.
    """

    checked: frozenset[str]
    beside: str
    stamps: Mapping[str, tuple[Stamp, str]]
    linked: Mapping[str, FileResult]


class Contents(NamedTuple):
    """What a run learned, where something has changed since: facts by path, who asked for what."""

    facts: Mapping[str, FileFacts]
    asked: frozenset[Asked]


class Cache:
    """What the last run of one configuration left; `store` writes what this one leaves.

    `linked` is that run's answer, if it still holds; the facts behind it are not read then. What
    was left is of use to a run that checks the same files; with `within`, to one that checks some
    of them: `checked` are then those of that run, none if it left nothing for these.
    """

    def __init__(
        self,
        settings: Settings,
        options: object,
        beside: str,
        checked: Collection[str],
        name: str = FILE,
        *,
        within: bool = False,
    ) -> None:
        self.path = path_of(settings, name)
        self.secret = secret.key() if settings.cache else None
        self.key = _key(options) if self.secret else ""
        self.beside = beside
        self.checked = frozenset() if within else frozenset(checked)
        self.linked: Mapping[str, FileResult] | None = None
        self.before = Contents({}, frozenset())
        self.kept: Mapping[str, tuple[Stamp, str]] = {}  # of the files as they were kept
        self.stamps: dict[str, Stamp] = {}  # of the files as this run found them
        self.changed: set[str] = set()  # or gone, since
        self.stale: set[str] = set()
        if self.secret:
            self._load(self.secret, frozenset(checked), within)
        self.asked = {pair for pair in self.before.asked if pair[0] not in self.stale}

    def get(self, path: str) -> FileFacts | None:
        """Return the facts of a file if nothing that they depend on has changed."""
        return self.before.facts.get(path) if path not in self.stale else None

    def note(self, asked: Iterable[Asked]) -> None:
        """Note which files were read for which."""
        self.asked.update(asked)

    def _load(self, signing: bytes, wanted: frozenset[str], within: bool) -> None:
        """Read what the last run left, the facts only if its answer no longer holds."""
        self._stamp(self.checked)
        try:
            stored = _Stored.split(_read(self.path), self.key)
            answer = _decode(stored.answer(signing), Answer)
            if not (wanted <= answer.checked if within else wanted == answer.checked):
                return
            self._stamp(answer.checked)
            unchanged = {path for path, kept in answer.stamps.items() if self._same(path, *kept)}
            if unchanged == answer.checked and self.beside == answer.beside:
                sound = wanted <= answer.linked.keys() and _is_sound(answer.linked, answer.checked)
                self.linked = answer.linked if sound else None
                if sound:
                    return
            before = _decode(stored.contents(signing), Contents)
        except (OSError, ValueError, RecursionError):
            return
        if all(p in answer.checked and facts.path == p for p, facts in before.facts.items()):
            self.checked, self.before, self.kept = answer.checked, before, answer.stamps
            self.changed = {*(answer.checked - unchanged)}
            self.stale = with_importers(self.changed, before.asked)

    def _stamp(self, paths: Iterable[str]) -> None:
        self.stamps = {path: stamp for path in paths if (stamp := stamp_of(path)) is not None}

    def _same(self, path: str, stamp: Stamp, digest: str) -> bool:
        """Whether a file holds what it held: it was not written since, or to no effect."""
        now = self.stamps.get(path)
        return now == stamp or (now is not None and now[0] == stamp[0] and _digest(path) == digest)

    def store(self, facts: Mapping[str, FileFacts], linked: Mapping[str, FileResult]) -> None:
        """Keep what this run learned and said, of the files that nobody wrote to meanwhile.

        What files are to hold is nothing to keep.
        """
        if not self.secret or files.plan():
            return
        stamps = {path: stamped for path in facts if (stamped := self._stamped(path)) is not None}
        kept = {path: known for path, known in facts.items() if path in stamps}
        try:
            answer = _encode(Answer(self.checked, self.beside, stamps, linked))
            contents = _encode(Contents(kept, frozenset(self.asked)))
            _write(self.path, _Stored.join(self.key, answer, contents, self.secret))
        except (OSError, ValueError):  # ValueError: the name of a file is not text
            return  # a cache is only ever a shortcut

    def _stamped(self, path: str) -> tuple[Stamp, str] | None:
        """Return the stamp and digest of what was analysed; None if it has changed meanwhile."""
        if path in self.kept and path not in self.stale:
            return self.kept[path]
        digest = _digest(path)
        stamp = stamp_of(path)
        if digest is None or stamp is None or stamp != self.stamps.get(path):
            return None
        return _believed(stamp, time.time_ns()), digest


def _believed(stamp: Stamp, now: int) -> Stamp:
    """Return a stamp to keep: that of a file which was just written is none that will be met again.

    Clocks of file systems are coarse. The next run compares what such a file holds.
    """
    return (stamp[0], -1, -1) if max(stamp[1:]) > now - YOUNG else stamp


class _Stored(NamedTuple):
    """A cache file: its data, where the answer in it starts and ends, and what it is kept for."""

    data: memoryview
    start: int
    end: int
    head: bytes

    @classmethod
    def split(cls, data: bytes, key: str) -> _Stored:
        """Find the parts of a cache file; raises ValueError where it is not one for this key."""
        head = HEADER + key.encode()
        start = len(head) + LENGTH + 2 * SIGNATURE
        length = int.from_bytes(data[len(head) : len(head) + LENGTH], "big")
        if not data.startswith(head) or start + length > len(data):
            raise ValueError("it is not the cache that is looked for")
        return cls(memoryview(data), start, start + length, head)

    @staticmethod
    def join(key: str, answer: bytes, contents: bytes, signing: bytes) -> list[bytes]:
        """Return the parts of a cache file."""
        head = HEADER + key.encode()
        signatures = [_sign(signing, head, b"answer", answer), _sign(signing, head, b"", contents)]
        return [head, len(answer).to_bytes(LENGTH, "big"), *signatures, answer, contents]

    def answer(self, signing: bytes) -> memoryview:
        """Return the encoded answer; raises ValueError unless this user's asyncguard wrote it."""
        return self._signed(signing, b"answer", self.data[self.start : self.end], 2)

    def contents(self, signing: bytes) -> memoryview:
        """Return the encoded contents; raises ValueError unless this user's asyncguard wrote it."""
        return self._signed(signing, b"", self.data[self.end :], 1)

    def _signed(self, signing: bytes, part: bytes, data: memoryview, place: int) -> memoryview:
        from hmac import compare_digest

        at = self.start - place * SIGNATURE
        signature = self.data[at : at + SIGNATURE]
        if not compare_digest(signature, _sign(signing, self.head, part, data)):
            raise ValueError("somebody else wrote it")
        return data


def _sign(signing: bytes, head: bytes, part: bytes, data: bytes | memoryview) -> bytes:
    import hashlib  # a check without a cache needs none

    signature = hashlib.blake2b(head, digest_size=SIGNATURE, key=signing, person=part)
    signature.update(data)
    return signature.digest()


def path_of(settings: Settings, name: str = FILE) -> Path:
    """Return where a cache is kept: by default that of the last check of a whole project."""
    return _directory(settings) / name


def _directory(settings: Settings) -> Path:
    """Return the directory of our own: `cache-dir`, or one within it if it has another name."""
    directory = settings.root / settings.cache_dir
    return directory if directory.name == CACHE_DIRECTORY else directory / CACHE_DIRECTORY


def _read(path: Path) -> bytes:
    """Return a regular file of a real directory; raises OSError for all else, links included."""
    _check_directory(path.parent)
    return files.read(path, follow=False)


def _check_directory(directory: Path) -> None:
    if not stat.S_ISDIR(os.lstat(directory).st_mode):
        raise NotADirectoryError(f"{directory} is not a directory")


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Replace the file in one step, so that two runs at once cannot mix theirs."""
    directory = path.parent
    directory.mkdir(parents=True, exist_ok=True)
    _check_directory(directory)
    _sweep(directory, time.time() - STALE)
    ignore = directory / ".gitignore"
    if not os.path.lexists(ignore):
        _replace(ignore, [IGNORE])
    _replace(path, parts)


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    prefix, suffix = SCRATCH
    files.replace(path, parts, prefix=prefix, suffix=suffix)


def _sweep(directory: Path, before: float) -> None:
    """Delete what runs that were killed while they wrote have left."""
    prefix, suffix = SCRATCH
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and entry.name.endswith(suffix):
                with ignoring(OSError):
                    if entry.stat(follow_symlinks=False).st_mtime < before:
                        os.unlink(entry.path)


def _encode(value: object) -> bytes:
    import msgspec

    return msgspec.msgpack.encode(value)


def _decode(data: memoryview, kind: type[T]) -> T:
    """Return the value, with every part of the type it should have; raises ValueError."""
    import msgspec

    return msgspec.msgpack.decode(data, type=kind)


def _is_sound(linked: Mapping[str, FileResult], checked: frozenset[str]) -> bool:
    """Whether each finding speaks of the file that it is kept under, one of those checked."""
    return linked.keys() <= checked and all(
        finding.path == path for path, told in linked.items() for finding in told.findings
    )


def with_importers(changed: Iterable[str], asked: Iterable[Asked]) -> set[str]:
    """Return the files that changed, and all that depend on these by however many steps."""
    importers: dict[str, list[str]] = {}
    for importer, path in asked:
        importers.setdefault(path, []).append(importer)
    pending = [*changed]
    found: set[str] = set()
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += importers.get(path, ())
    return found


def _digest(path: str) -> str | None:
    """Digest a file; None if it cannot be read."""
    try:
        return _hash(files.read(path))
    except OSError:
        return None


def stamp_of(path: str) -> Stamp | None:
    """Return a file's size and times; None if there is none. What is planned has its own."""
    if (data := files.planned_for(path)) is not None:
        return len(data), -1, int(_hash(data)[:15], 16)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def stamped(others: Iterable[str]) -> Stamps:
    """Return the stamps of files, by which one is known to have changed; None of those gone."""
    return {path: stamp_of(path) for path in others}


def digest(others: Stamps) -> str:
    """Return what changes as soon as one of these files does."""
    import hashlib  # a check of whole folders needs none

    stamps = "\n".join(f"{path} {stamp}" for path, stamp in others.items())
    return hashlib.blake2b(stamps.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _key(options: object) -> str:
    """Digest what all entries depend on."""
    parts = [__version__, repr(options), _own_digest(), _here()]
    return _hash("\0".join(parts).encode("utf-8", "surrogatepass"))


def _here() -> str:
    """Return what relative paths start from; "" where that folder has been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _hash(data: bytes) -> str:
    import hashlib

    return hashlib.blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _own_digest() -> str:
    """Digest the rules files and the stamps of the analyzer's own modules."""
    own = [
        *sorted(catalogue.rules_directory().glob("*.toml")),
        *sorted(Path(__file__).parent.parent.rglob("*.py")),
    ]
    return "\n".join(f"{path.name} {stamp_of(str(path))}" for path in own)
