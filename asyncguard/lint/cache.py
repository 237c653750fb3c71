"""Facts of files that have not changed, kept between runs.

One file in the cache directory holds the facts of a run, under a key of what all depend on:
asyncguard's version and rules, the options of the analysis, and which files are checked. Facts are
stale once their file changed, or one that was read for it, or for that one in turn. A cache that
cannot be read is thrown away.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import asyncguard
from asyncguard import catalogue
from asyncguard.lint.linking import FileFacts, Linked
from asyncguard.lint.settings import Settings

FILE = "lint.pickle"
Stamp = tuple[int, int]  # size, modification time in nanoseconds
IGNORE = "# Made by asyncguard.\n*\n"


Asked = tuple[str, str]  # a path, and that of a file that was read for it


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
        self.path = settings.root / settings.cache_dir / FILE
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
            with self.path.open("rb") as file:
                key, answer = pickle.load(file)
                if key != self.key:
                    return
                changed = [p for p, stamped in answer.stamps.items() if not _same(p, *stamped)]
                if not changed and answer.stamps.keys() == files:
                    self.linked = answer.linked
                    return
                before: Contents = pickle.load(file)
        except Exception:  # noqa: BLE001 - a cache is only ever a shortcut
            return
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
        self._write(Answer(stamps, linked), Contents(kept, frozenset(self.asked)))

    def _write(self, answer: Answer, contents: Contents) -> None:
        """Replace the file in one step, so that two runs at once cannot mix theirs."""
        import tempfile

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / ".gitignore").write_text(IGNORE)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                pickle.dump((self.key, answer), file, protocol=5)
                pickle.dump(contents, file, protocol=5)
            os.replace(file.name, self.path)
        except OSError:
            return


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
    parts = [asyncguard.__version__, repr(options), _own_digest(), *sorted(files)]
    return _hash("\0".join(parts).encode("utf-8", "replace"))


def _hash(data: bytes) -> str:
    import hashlib  # a check without a cache needs none

    return hashlib.blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _own_digest() -> str:
    """Digest the rules files and the stamps of the analyzer's own modules."""
    files = [
        *sorted(catalogue.rules_directory().glob("*.toml")),
        *sorted(Path(__file__).parent.rglob("*.py")),
    ]
    return "\n".join(f"{path.name} {_stamp(str(path))}" for path in files)
