"""How rules are named by people: by code, by the start of a code, by name, or ALL for every rule.

One reading serves the configuration, the command line and the comments in source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from asyncguard.lint.labels import labels

ALL = "ALL"
_START = "ASG"  # of every code
_OTHERS = re.compile(r"[A-Za-z]{1,2}\d+").fullmatch  # codes of other tools: `E501`


def parse(text: str) -> str:
    """Return a selector as code, start of a code or ALL; raises ValueError if no rule has it."""
    selector = find(text)
    if selector is not None:
        return selector
    raise ValueError(why_unknown(text))


def why_unknown(text: str) -> str:
    """Say that no rule has a selector, and which one may be meant."""
    known = [label.name for label in labels()]
    if not _OTHERS(text.strip()):
        known += [label.code for label in labels()]
    remedy = did_you_mean(text.strip(), known) or "; `asyncguard rules` lists them"
    return f"unknown rule {text.strip()[:40]!r}{remedy}"


def find(text: str) -> str | None:
    """Return a selector as `parse` does, None if no rule has it."""
    return _known().get(text.strip().upper())


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    """Return all selectors by how they may be written."""
    found = {label.name.upper(): label.code for label in labels()}
    for label in labels():
        found |= {label.code[:end]: label.code[:end] for end in range(len(_START), 7)}
    return {**found, ALL: ALL}


def matches(selector: str, code: str) -> bool:
    """Whether a parsed selector means a rule."""
    return selector == ALL or code.startswith(selector)


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the likeliest of the known words; "" if none is like it."""
    by_case = {word.casefold(): word for word in known}
    close = get_close_matches(text.casefold()[:100], by_case, n=1)
    return f"; did you mean {by_case[close[0]]!r}?" if close else ""
