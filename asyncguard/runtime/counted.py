"""Which waits a limit counts: by kind, by API and by device."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from asyncguard import catalogue
from asyncguard.model import SyncKind
from asyncguard.runtime.registry import homes
from asyncguard.runtime.sites import Site

_KINDS = frozenset(kind.value for kind in SyncKind)


class Counted(NamedTuple):
    """What waits must be to count; None: no condition."""

    kinds: frozenset[str] | None = None
    apis: tuple[str, ...] | None = None  # names of the catalogue, or patterns
    device: str | None = None

    @classmethod
    def of(
        cls,
        kinds: str | Iterable[str] | None,
        apis: str | Iterable[str] | None,
        device: str | None,
    ) -> Counted:
        """Check what the user gave. Raises ValueError for kinds and APIs that there are not."""
        found = None if kinds is None else frozenset(map(_kind, _texts(kinds)))
        patterns = None if apis is None else tuple(_texts(apis))
        for pattern in patterns or ():
            if not _is_known(pattern):
                raise ValueError(f"apis: the catalogue has no {pattern!r}; see `asyncguard rules`")
        return cls(found, patterns, device)

    def has(self, site: Site) -> bool:
        """Whether a wait there counts."""
        point, device = site.blocker.point, site.blocker.device
        if self.kinds is not None and point.kind.value not in self.kinds:
            return False
        if self.apis is not None and not any(fnmatchcase(point.id, api) for api in self.apis):
            return False
        return self.device is None or f"{device}:".startswith(f"{self.device}:")


def _is_known(pattern: str) -> bool:
    """Whether an API is so called; those of other packages' adapters are not ours to know."""
    if pattern.partition(".")[0] in homes().keys() - catalogue.load().frameworks.keys():
        return True
    return any(fnmatchcase(point.id, pattern) for point in catalogue.load())


def _texts(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _kind(kind: str) -> str:
    value = kind.value if isinstance(kind, SyncKind) else kind
    if value not in _KINDS:
        raise ValueError(f"kinds: unknown {value!r}; one of {', '.join(sorted(_KINDS))}")
    return value
