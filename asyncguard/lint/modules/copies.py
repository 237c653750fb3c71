"""Files that a generator wrote from another file, which is the one that people edit.

A generated file says so at its start; `rules/generated.toml` holds how.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from asyncguard.catalogue import GENERATED, build, entries, read, rules_directory

HEADER = 10_000  # characters in which a notice stands


class Notice(NamedTuple):
    """One way to say it: `pattern` finds the `source` in the line `hit`, and nothing in `miss`."""

    id: str
    pattern: str
    hit: str
    source: str
    miss: str


class Notices(NamedTuple):
    """The file of notices; they stand in the first `lines` of a generated file."""

    lines: int
    notice: tuple[Notice, ...]


@lru_cache(maxsize=1)
def notices() -> Notices:
    """Return the notices that ship with asyncguard."""
    data = read(rules_directory() / GENERATED, Notices._fields)
    notice = (build(Notice, each, GENERATED) for each in entries(GENERATED, "notice", data))
    return Notices(data["lines"], tuple(notice))


def named_source(text: str) -> str:
    """Return the file that a text says it was generated from, "" if it says nothing of the kind."""
    known = notices()
    start = "\n".join(islice(text.splitlines(), known.lines))
    for notice in known.notice:
        if found := re.search(notice.pattern, start, re.MULTILINE):
            return found["source"]
    return ""


def by_file_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return paths by the names of the files."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(os.path.basename(path), []).append(path)
    return found


def source_among(by_name: Mapping[str, Sequence[str]], path: str, text: str) -> str:
    """Return which of some files a file was generated from, "" if from none of them."""
    named = named_source(text[:HEADER])
    return _resolved(named, path, by_name) if named else ""


def _resolved(named: str, path: str, by_name: Mapping[str, Sequence[str]]) -> str:
    """Return the checked file that a notice in `path` means: the one beside it comes first."""
    found = [other for other in by_name.get(os.path.basename(named), ()) if other != path]
    beside = [other for other in found if os.path.dirname(other) == os.path.dirname(path)]
    tail = named.lstrip("./")
    named_so = [other for other in found if f"/{other.replace(os.sep, '/')}".endswith(f"/{tail}")]
    return next((paths[0] for paths in (beside, named_so, found) if len(paths) == 1), "")


def is_of_python(module: str) -> bool:
    """Whether a module is of Python's standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names
