"""Facts of files that have not changed, kept between runs.

One file in the cache directory holds the facts of a run, under a key of what all depend on:
asyncguard's version and rules, the options of the analysis, and which files are checked. Facts are
stale once their file changed, or one that was read for it, or for that one in turn. A cache that
cannot be read is thrown away.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import asyncguard
from asyncguard import catalogue
from asyncguard.lint.linking import FileFacts
from asyncguard.lint.settings import Settings

FILE = "lint.pickle"
Stamp = tuple[int, int]  # size, modification time in nanoseconds
IGNORE = "# Made by asyncguard.\n*\n"


Asked = tuple[str, str]  # a path, and that of a file that was read for it


class Contents(NamedTuple):
    """What a run leaves: facts by path, the stamps of the files, and who asked for what."""

    facts: dict[str, FileFacts]
    stamps: dict[str, tuple[Stamp, str]]  # and a digest of the contents
    asked: frozenset[Asked]


NOTHING = Contents({}, {}, frozenset())


class Cache:
    """What the last run of one configuration left; `store` writes what this one leaves."""

    def __init__(self, settings: Settings, options: object, files: Iterable[str]) -> None:
        self.enabled = settings.cache
        self.path = settings.root / settings.cache_dir / FILE
        self.key = _key(options, files)
        self.before = self._load() if self.enabled else NOTHING
        self.stale = self._stale()
        self.asked = {pair for pair in self.before.asked if pair[0] not in self.stale}

    def get(self, path: str) -> FileFacts | None:
        """Return the facts of a file if nothing that they depend on has changed."""
        return self.before.facts.get(path) if path not in self.stale else None

    def note(self, asked: Iterable[Asked]) -> None:
        """Note which files were read for which."""
        self.asked.update(asked)

    def _stale(self) -> set[str]:
        """Return the files that changed, and all that depend on these by however many steps."""
        askers: dict[str, list[str]] = {}
        for asker, path in self.before.asked:
            askers.setdefault(path, []).append(asker)
        pending = [p for p, stamped in self.before.stamps.items() if not _same(p, *stamped)]
        stale: set[str] = set()
        while pending:
            path = pending.pop()
            if path not in stale:
                stale.add(path)
                pending += askers.get(path, ())
        return stale

    def store(self, facts: Mapping[str, FileFacts]) -> None:
        """Keep the facts of this run."""
        if not self.enabled or (not self.stale and facts.keys() == self.before.facts.keys()):
            return
        stamps: dict[str, tuple[Stamp, str]] = {}
        for path in facts:
            if path in self.before.stamps and path not in self.stale:
                stamps[path] = self.before.stamps[path]
            elif (stamp := _stamp(path)) is not None:
                stamps[path] = stamp, _digest(path)
        kept = {path: known for path, known in facts.items() if path in stamps}
        self._write(Contents(kept, stamps, frozenset(self.asked)))

    def _load(self) -> Contents:
        try:
            key, contents = pickle.loads(self.path.read_bytes())
        except Exception:  # noqa: BLE001 - a cache is only ever a shortcut
            return NOTHING
        return contents if key == self.key else NOTHING

    def _write(self, contents: Contents) -> None:
        """Replace the file in one step, so that two runs at once cannot mix theirs."""
        import tempfile

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / ".gitignore").write_text(IGNORE)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                pickle.dump((self.key, contents), file, protocol=5)
            os.replace(file.name, self.path)
        except OSError:
            return


def _same(path: str, stamp: Stamp, digest: str) -> bool:
    """Whether a file holds what it held: it was not written since, or to no effect."""
    now = _stamp(path)
    return now == stamp or (now is not None and now[0] == stamp[0] and _digest(path) == digest)


def _digest(path: str) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError:
        data = b""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _key(options: object, files: Iterable[str]) -> str:
    """Digest what all entries depend on; the set of files decides what imports mean."""
    parts = [asyncguard.__version__, repr(options), _own_digest(), *sorted(files)]
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _own_digest() -> str:
    """Digest the rules files and the stamps of the analyzer's own modules."""
    files = [
        *sorted(catalogue.rules_directory().glob("*.toml")),
        *sorted(Path(__file__).parent.rglob("*.py")),
    ]
    return "\n".join(f"{path.name} {_stamp(str(path))}" for path in files)
