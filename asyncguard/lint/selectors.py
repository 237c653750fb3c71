"""How rules are named by people: by code, by the start of a code, by name, or ALL for every rule.

One reading serves the configuration, the command line and the comments in source.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from asyncguard.lint.labels import labels

ALL = "ALL"
_START = "ASG"  # of every code


def parse(text: str) -> str:
    """Return a selector as code, start of a code or ALL; raises ValueError if no rule has it."""
    selector = text.strip().upper()
    known_labels = labels()
    coded = selector == ALL or selector.startswith(_START)
    if coded and any(matches(selector, label.code) for label in known_labels):
        return selector
    for label in known_labels:
        if label.name.upper() == selector:
            return label.code
    known = [name for label in known_labels for name in (label.code, label.name)]
    remedy = did_you_mean(text.strip(), known) or "; `asyncguard rules` lists them"
    raise ValueError(f"unknown rule {text.strip()[:40]!r}{remedy}")


def matches(selector: str, code: str) -> bool:
    """Whether a parsed selector means a rule."""
    return selector == ALL or code.startswith(selector)


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" with the likeliest of the known words; "" if none is like it."""
    by_case = {word.casefold(): word for word in known}
    close = get_close_matches(text.casefold()[:100], by_case, n=1)
    return f"; did you mean {by_case[close[0]]!r}?" if close else ""
