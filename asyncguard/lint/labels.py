"""What the rules are called, read from the first constants of their modules.

Nothing is imported for it: a check whose files are all in the cache needs no more, and no libcst.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence
from functools import lru_cache
from inspect import cleandoc
from pathlib import Path
from typing import NamedTuple

CHECKS = Path(__file__).parent / "checks"
IN_EVERY_STEP = "in every step"  # how often a hot finding happens, in its message
# The rules about waits in code that runs as a graph: they stand for the others there, worst first.
IN_GRAPHS = CAPTURED, SPLIT = "ASG501", "ASG502"
ERRORS = frozenset({"ASG000", CAPTURED})  # what these find fails, and does not merely cost time

GAPS = "the host's side is pinned, but has gaps"  # why a copy blocks that was told not to


class Label(NamedTuple):
    """What a rule is called, whether it runs when nothing is selected, and what it betters.

    `explanation` is what `asyncguard explain` prints; its first line is the summary.
    """

    code: str
    name: str
    default: bool = True
    refines: tuple[str, ...] = ()
    explanation: str = ""
    message: str = ""  # what it says of a finding, if that is one text
    remedy: str = ""  # the clause that ends it: what to do, where no advice fits better
    fixable: bool = False  # whether an example of it shows a repair

    @property
    def summary(self) -> str:
        """What the rule finds, in one sentence without its full stop."""
        return self.explanation.partition("\n")[0].rstrip(".")

    @property
    def url(self) -> str:
        """Where to read more."""
        return self.explanation.rpartition("Reference: ")[2].strip()


_CONSTANT = re.compile(
    r"^(CODE|NAME|DEFAULT|REFINES|MESSAGE|REMEDY) = (\(\n(?:.+\n)+?\)|.+)$", re.MULTILINE
)


@lru_cache(maxsize=1)
def labels() -> list[Label]:
    """Return the labels of all rules, by code."""
    found = [_label(path) for path in CHECKS.glob("asg*.py")]
    return sorted(found, key=lambda label: label.code)


def _label(path: Path) -> Label:
    text = path.read_text(encoding="utf-8")
    constants = {name.lower(): literal_eval(v) for name, v in _CONSTANT.findall(text)}
    explanation = text.removeprefix('"""').partition('"""')[0]
    return Label(**constants, explanation=cleandoc(explanation), fixable="fixed=" in text)


def lines_as_text(numbers: Sequence[int]) -> str:
    """Return the numbers of some lines as text: `lines 3, 5 and 8`; they stand in their order."""
    if not numbers:
        return "other lines"
    *before, last = map(str, numbers)
    return f"lines {', '.join(before)} and {last}" if before else f"line {last}"
