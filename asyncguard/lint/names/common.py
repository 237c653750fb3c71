"""Names of Python's own functions and methods, which say nothing about whose values they handle."""

from __future__ import annotations
