"""What kind of loop is this? The first signs: what it iterates over, and its names.

What its body does adds to them (`Frame.evidence`); `LoopRecord.kind` weighs all.
"""

from __future__ import annotations

import re

import libcst as cst

from asyncguard.lint.builtin_calls import source_of
from asyncguard.lint.frames import Frame, LoopRecord
from asyncguard.lint.tree import dotted, walk
from asyncguard.lint.values import MEDIUM, Value

_EPOCH = re.compile(r"epoch", re.IGNORECASE)


def for_record(frame: Frame, node: cst.For, iterable: Value) -> LoopRecord:
    """Open the record of a `for` loop."""
    targets = frozenset(n.value for n in walk(node.target) if isinstance(n, cst.Name))
    names = targets | {last for n in _iterated_names(node.iter) if (last := n)}
    record = LoopRecord(
        node, targets, epoch_name=any(_EPOCH.search(name) for name in names) and not _batchy(names)
    )
    origin = source_of(iterable)
    if origin.kind == "loader":
        record.loader = origin.confidence if origin.confidence else MEDIUM - 1
        if origin.confidence < MEDIUM and not frame.trains:
            record.loader = origin.confidence
    return record


def _batchy(names: frozenset[str] | set[str]) -> bool:
    return any(
        re.search(r"batch|step|iter(?!s?_per_epoch)", n) for n in names if not _EPOCH.search(n)
    )


def _iterated_names(node: cst.BaseExpression) -> set[str]:
    if not isinstance(node, cst.Call):
        return set()
    if dotted(node.func) not in ("range", "trange", "tqdm.trange", "tqdm"):
        return set()
    return {n.value for n in walk(node) if isinstance(n, cst.Name)} - {"range", "trange", "tqdm"}


def while_record(node: cst.While) -> LoopRecord:
    """Open the record of a `while` loop."""
    names = {n.value for n in walk(node.test) if isinstance(n, cst.Name)}
    return LoopRecord(node, frozenset(), epoch_name=bool(names) and all(map(_EPOCH.search, names)))
