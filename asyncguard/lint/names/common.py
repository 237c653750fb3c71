"""Names of Python's own functions and methods, which say nothing about whose values they handle."""

from __future__ import annotations

# Methods that are as common on other objects as on arrays: no sign by themselves.
COMMON = frozenset({"get", "update", "step", "wait", "save", "append", "extend", "write"})
HARMLESS = frozenset(
    {"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type", "id", "range",
     "slice"}
)  # fmt: skip
