"""How many examples a property is tried on: `ASYNCGUARD_THOROUGH=1` has the tests try them all."""

from __future__ import annotations

import os


def examples(all_of_them: int) -> int:
    """Return a third of them, as an ordinary run tries, or all."""
    return all_of_them if os.environ.get("ASYNCGUARD_THOROUGH") else all_of_them // 3
