"""Loops that draw a few batches and end: a calibration, a preview, a warm-up.

    for index, batch in enumerate(loader):
        if index >= 4:
            break

The bound stands in the code, as a number or as what an argument is by default. A bound that is
asked for otherwise is an option, which mostly asks for all.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.contexts.caches import last_statement
from asyncguard.lint.contexts.counters import MORE
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_SAMPLE = family("parameter.sample")
FEW = 256  # batches, or what is counted of them: images, say
_LIMITING = {"zip": 0, "islice": 1}  # which argument of these bounds the rounds
_REACHES = frozenset({*MORE, cst.Equal})


def draws_few(frame: Frame, node: cst.For, targets: frozenset[str]) -> bool:
    """Whether a loop ends after a few rounds, by its head or by a count that breaks it off."""
    if _is_limited(frame, node.iter):
        return True
    counts = [(path, test) for test in _breaking(node.body) if (path := dotted(test.left))]
    return any(
        _is_few(frame, test.comparisons[0].comparator)
        and (path in targets or _counts_up(node.body, path))
        for path, test in counts
    )


def _is_limited(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether the head of a loop limits it: `zip(range(3), loader)`, `islice(loader, 3)`."""
    if type(node) is not cst.Call or len(node.args) != 2:
        return False
    at = _LIMITING.get(dotted(node.func).rpartition(".")[2])
    if at is None:
        return False
    bound = node.args[at].value
    if at == 0:  # `zip` is given a range
        is_range = type(bound) is cst.Call and dotted(bound.func) == "range"
        if not is_range or len(bound.args) != 1:  # type: ignore[attr-defined]
            return False
        bound = bound.args[0].value  # type: ignore[attr-defined]
    return _is_few(frame, bound)


def _breaking(body: cst.BaseSuite) -> Iterator[cst.Comparison]:
    """Yield the comparisons with a bound that break a loop off, of its body's own statements."""
    for line in body.body:
        test = line.test if type(line) is cst.If else None
        if type(test) is not cst.Comparison or len(test.comparisons) != 1:
            continue
        reaches = type(test.comparisons[0].operator) in _REACHES
        if reaches and type(last_statement(line.body)) is cst.Break:  # type: ignore[union-attr]
            yield test


def _counts_up(body: cst.BaseSuite, path: str) -> bool:
    """Whether a block adds to a counter."""
    return any(
        type(part) is cst.AugAssign
        and type(part.operator) is cst.AddAssign
        and dotted(part.target) == path
        for part in walk(body)
    )


def _is_few(frame: Frame, bound: cst.BaseExpression) -> bool:
    """Whether a bound is a small number, or an argument that is one by default.

    Or one that has to be given, and caps a sample by its name.
    """
    path = dotted(bound)
    parameters = frame.function.parameters if path and frame.function is not None else ()
    asked = next((p for p in parameters if p.name == path), None)
    if asked is not None and asked.default is None:
        return bool(_SAMPLE(asked.name))
    number = asked.default if asked is not None else bound
    return type(number) is cst.Integer and number.evaluated_value <= FEW
