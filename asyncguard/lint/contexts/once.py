"""Code that runs once, or seldom, because it ends what it waits for: retries, one-way switches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from asyncguard.lint.contexts.caches import counted_by_len, last_statement
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.syntax.tree import dotted

_ENDING = frozenset({cst.Break, cst.Return})
_TRIES = frozenset({cst.Try, cst.TryStar})


def retries(node: cst.While) -> bool:
    """Whether a loop repeats something until it succeeds: it goes round once, as a rule.

    `while not done: try: ...; done = True`, `while True: try: ...; break`.
    """
    attempt = node.body.body[-1] if node.body.body else None
    if type(attempt) not in _TRIES or not attempt.handlers:  # type: ignore[union-attr]
        return False
    last = last_statement(attempt.body)  # type: ignore[union-attr]
    if type(last) is not cst.Assign:
        return type(last) in _ENDING and dotted(node.test) == "True"
    wanted = _flag(node.test)
    return wanted == (dotted(last.targets[0].target), dotted(last.value))


def _flag(test: cst.BaseExpression) -> tuple[str, str]:
    """Return the flag that a test reads, and what it has to become for the test to fail."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        return dotted(test.expression), "True"
    if type(test) is not cst.Comparison or len(test.comparisons) > 1:
        return dotted(test), "False"
    asked = test.comparisons[0]
    same = type(asked.operator) in (cst.Is, cst.Equal)
    opposite = {"True": "False", "False": "True"}.get(dotted(asked.comparator), "")
    return (dotted(test.left), opposite) if same and opposite else ("", "-")


def switches(frame: Frame, node: cst.If) -> bool:
    """Whether a branch sets what an early exit before it asks for: it is not reached again.

    `if group["phase"] == "sgd": ...; continue`, and later `if ready: group["phase"] = "sgd"`.
    """
    words = [(target, value) for target, value in _kept(node.body) if _is_word(value)]
    return bool(words) and any(
        asked.left.deep_equals(target) and asked.comparisons[0].comparator.deep_equals(value)
        for asked in _asked_before(frame)
        for target, value in words
    )


def fills_or_fails(node: cst.If, block: Sequence[cst.CSTNode], index: int) -> bool:
    """Whether a branch fills what is empty, on pain of an error: it is not empty again.

    `if len(self.kept) == 0: self.begin()`, and later `if len(self.kept) == 0: raise ...`.
    """
    if not _asks_for_emptiness(node.test):
        return False
    later = (line for line in block[index + 1 :] if type(line) is cst.If)
    return any(
        line.test.deep_equals(node.test) and type(last_statement(line.body)) is cst.Raise
        for line in later
    )


def _asks_for_emptiness(test: cst.BaseExpression) -> bool:
    """Whether a test asks if a part of something is empty: `len(state["kept"]) == 0`."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    asked, counted = test.comparisons[0], counted_by_len(test.left)
    none = type(asked.comparator) is cst.Integer and asked.comparator.value == "0"
    held = type(counted) in (cst.Attribute, cst.Subscript)
    return none and held and type(asked.operator) is cst.Equal


def _kept(body: cst.BaseSuite) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield what a branch's own statements assign of what outlives a round."""
    for line in body.body:
        for small in line.body if type(line) is cst.SimpleStatementLine else ():
            if type(small) is cst.Assign:
                target = small.targets[0].target
                if type(target) in (cst.Attribute, cst.Subscript):
                    yield target, small.value


def _is_word(node: cst.BaseExpression) -> bool:
    return type(node) in (cst.SimpleString, cst.Integer) or dotted(node) in ("True", "False")


def _asked_before(frame: Frame) -> Iterator[cst.Comparison]:
    """Yield the comparisons for which a round ends early, before the current place."""
    for block, index in frame.blocks:
        yield from _early_exits(block[:index])


def _early_exits(block: Iterable[cst.CSTNode]) -> Iterator[cst.Comparison]:
    for line in block:
        if type(line) is not cst.If or type(line.test) is not cst.Comparison:
            continue
        equal = type(line.test.comparisons[0].operator) is cst.Equal
        if equal and type(last_statement(line.body)) in (cst.Continue, cst.Return):
            yield line.test
