"""Facts of files that have not changed, kept between runs.

One file in the cache directory holds the facts of a run, each under a key of everything that they
depend on: the file's bytes, asyncguard's version and rules, the options of the analysis, and the
bytes of the other files that were read for it. A cache that cannot be read is thrown away.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import asyncguard
from asyncguard import catalogue
from asyncguard.lint.linking import FileFacts
from asyncguard.lint.settings import Settings

FILE = "lint.pickle"
Stamp = tuple[int, int]  # size, modification time in nanoseconds
IGNORE = "# Made by asyncguard.\n*\n"


@dataclass(frozen=True)
class Entry:
    """One file's facts, and the stamps of the files that they were made from."""

    facts: FileFacts
    stamps: tuple[tuple[str, Stamp, str], ...]  # path, stamp, digest of the contents


class Cache:
    """The entries of one configuration; `store` writes them back."""

    def __init__(self, settings: Settings, options: object, files: Iterable[str]) -> None:
        self.enabled = settings.cache
        self.path = settings.root / settings.cache_dir / FILE
        self.key = _key(options, files)
        self.entries: dict[str, Entry] = self._load() if self.enabled else {}
        self.digests: dict[str, str] = {}

    def get(self, path: str) -> FileFacts | None:
        """Return the facts of a file if nothing that they depend on has changed."""
        entry = self.entries.get(path)
        if entry is not None and all(self._same(*stamp) for stamp in entry.stamps):
            return entry.facts
        return None

    def _same(self, path: str, stamp: Stamp, digest: str) -> bool:
        now = _stamp(path)
        return now == stamp or (
            now is not None and now[0] == stamp[0] and self._digest(path) == digest
        )

    def _digest(self, path: str) -> str:
        if path not in self.digests:
            try:
                data = Path(path).read_bytes()
            except OSError:
                data = b""
            self.digests[path] = hashlib.blake2b(data, digest_size=16).hexdigest()
        return self.digests[path]

    def store(self, facts: Mapping[str, FileFacts], fresh: Iterable[str]) -> None:
        """Keep the facts of this run; those of `fresh` files are new."""
        if not self.enabled:
            return
        new = set(fresh)
        kept = {path: entry for path, entry in self.entries.items() if path in facts}
        for path in new:
            entry = self._entry(path, facts[path])
            if entry is not None:
                kept[path] = entry
        if new or len(kept) != len(self.entries):
            self._write(kept)

    def _entry(self, path: str, facts: FileFacts) -> Entry | None:
        stamps = []
        for name in (path, *facts.depends):
            stamp = _stamp(name)
            if stamp is None:
                return None
            stamps.append((name, stamp, self._digest(name)))
        return Entry(facts, tuple(stamps))

    def _load(self) -> dict[str, Entry]:
        try:
            key, entries = pickle.loads(self.path.read_bytes())
        except Exception:  # noqa: BLE001 - a cache is only ever a shortcut
            return {}
        return dict(entries) if key == self.key else {}

    def _write(self, entries: dict[str, Entry]) -> None:
        """Replace the file in one step, so that two runs at once cannot mix theirs."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / ".gitignore").write_text(IGNORE)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                pickle.dump((self.key, entries), file, protocol=5)
            os.replace(file.name, self.path)
        except OSError:
            return


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
