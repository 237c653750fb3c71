"""torch.cuda.set_sync_debug_mode: waits that torch itself warns of or refuses, in all threads.

As on CUDA, explicit barriers (torch.cuda.synchronize, an event's or a stream's) are not among them.
"""

from __future__ import annotations

from typing import Any

from asyncguard.model import SyncKind
from asyncguard.runtime import limits
from asyncguard.runtime.sites import Site

MESSAGE = "called a synchronizing CUDA operation"  # torch's words
_KINDS = frozenset(kind.value for kind in SyncKind) - {SyncKind.BARRIER.value}
_WARN, _ERROR = 1, 2


class SynchronizingOperation(limits.SyncLimitExceeded, RuntimeError):  # noqa: N818  as its base
    """What torch raises in the mode "error"."""


class _Limit(limits.limit_syncs):
    """Says of a wait what torch says."""

    def spend(self, site: Site) -> None:
        """Warn, once a line, or raise."""
        if not self.terms.counted.has(site):
            return
        if self.on == "raise":
            raise SynchronizingOperation(MESSAGE)
        self._warn(MESSAGE, UserWarning, site)


class SyncDebug:
    """The mode, as torch._C is asked for it and told it: 0, 1 ("warn") or 2 ("error")."""

    def __init__(self) -> None:
        self.mode = 0
        self._limit: _Limit | None = None

    def set(self, mode: int) -> None:
        """Change it."""
        if self._limit is not None:
            limits.let_all_go(self._limit)
        self._limit = None
        self.mode = mode
        if mode in (_WARN, _ERROR):
            on: Any = "warn" if mode == _WARN else "raise"
            self._limit = _Limit(0, on=on, kinds=_KINDS, device="cuda")
            limits.hold_all(self._limit)
