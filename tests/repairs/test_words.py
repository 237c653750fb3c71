"""What repairs know of others' names: examples fit as they say, and code asks for each entry."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from asyncguard.lint.fixes import words

PACKAGE = Path(words.__file__).parent.parent  # repairs, and the advice that asks them
KNOWN = words.known()
PATTERNS = KNOWN.pattern


@pytest.mark.parametrize(("id", "text"), [(p.id, text) for p in PATTERNS for text in p.hit])
def test_a_hit_fits(id: str, text: str) -> None:
    assert words.pattern(id).search(text)


@pytest.mark.parametrize(("id", "text"), [(p.id, text) for p in PATTERNS for text in p.miss])
def test_a_miss_does_not(id: str, text: str) -> None:
    assert not words.pattern(id).search(text)


@pytest.mark.parametrize(
    ("ask", "known"),
    [("words", KNOWN.words), ("table", KNOWN.table), ("pattern", KNOWN.pattern)],
)
def test_code_asks_for_each_entry_and_no_other(ask: str, known: list[words.Words]) -> None:
    asked = {
        node.args[0].value
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == ask
        and isinstance(node.args[0], ast.Constant)
    }
    assert asked == {entry.id for entry in known}
    assert len(known) == len(asked), "an id twice"


def test_each_entry_says_why_it_is_there() -> None:
    entries = [*KNOWN.words, *KNOWN.table, *KNOWN.pattern]
    assert all(entry.reason for entry in entries)
