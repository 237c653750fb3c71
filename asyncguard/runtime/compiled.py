"""The short ways of reads and marks, compiled: `quick`, or None where Python's own are taken.

They do the same (the tests of this folder run with both) and take a third of the time. None where
`_quick.c` could not be built, or ASYNCGUARD_PURE_PYTHON is set.
"""

from __future__ import annotations

import os
from types import ModuleType

INTERFACE = 2  # of `_quick.c`: a checkout that was updated may hold what was built before


def load() -> ModuleType | None:
    """The compiled module, if it is there, fits and is wanted."""
    if os.environ.get("ASYNCGUARD_PURE_PYTHON"):
        return None
    try:
        from asyncguard.runtime import _quick
    except ImportError:
        return None
    return _quick if getattr(_quick, "INTERFACE", 0) == INTERFACE else None


quick = load()
