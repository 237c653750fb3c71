"""Bells: locks that a thread sleeps on until somebody rings."""

from __future__ import annotations

import _thread


def closed_bell() -> _thread.LockType:
    """Return a lock to sleep on: `acquire` blocks until somebody rings."""
    bell = _thread.allocate_lock()
    bell.acquire()
    return bell


def ring(bell: _thread.LockType) -> None:
    if bell.locked():
        try:
            bell.release()
        except RuntimeError:
            return  # somebody else rang in between


def ring_all(bells: list[_thread.LockType]) -> None:
    """Ring and take away every bell; several threads may be at it."""
    try:
        while bells:
            ring(bells.pop())
    except IndexError:
        return  # another thread rang the last one
