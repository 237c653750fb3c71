"""What the rules are called, read from the first constants of their modules.

Nothing is imported for it: a check whose files are all in the cache needs no more, and no libcst.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

CHECKS = Path(__file__).parent / "checks"


class Label(NamedTuple):
    """What a rule is called, whether it runs when nothing is selected, and what it betters."""

    code: str
    name: str
    default: bool = True
    refines: tuple[str, ...] = ()


_CONSTANT = re.compile(r"^(CODE|NAME|DEFAULT|REFINES) = (.+)$", re.MULTILINE)


@lru_cache(maxsize=1)
def labels() -> list[Label]:
    """Return the labels of all rules, by code."""
    found = [_label(path) for path in CHECKS.glob("asg*.py")]
    return sorted(found, key=lambda label: label.code)


def _label(path: Path) -> Label:
    constants = _CONSTANT.findall(path.read_text(encoding="utf-8"))
    return Label(**{name.lower(): ast.literal_eval(value) for name, value in constants})
