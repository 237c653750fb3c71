"""What to do about the sync points of a trace: pure functions over its record."""

from __future__ import annotations

from asyncguard.advise.hints import hints
from asyncguard.advise.suggest import suggest

__all__ = ["hints", "suggest"]
