"""Functions and classes that a file keeps in its lists and dicts: `@guard("nan")`, `register(f)`.

A decorator, or a function that is called at the top of a file, puts there what it is handed.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.values import (
    CLASS,
    CONTAINER,
    FUNCTION,
    UNKNOWN_VALUE,
    Value,
    container,
)
from asyncguard.lint.interpret.binding import SEQUENCES, holding
from asyncguard.lint.syntax.tree import walk

_KEPT = frozenset({FUNCTION, CLASS})
_ADDING = frozenset({"append", "appendleft", "add", "insert", "setdefault"})


def note_registered(frame: Frame, by: FunctionInfo, value: Value, *, within: bool = False) -> None:
    """Note that a function or class is handed to one that may keep it in a container of this file.

    `within`: to what that gives, as `@guard("nan")` does.
    """
    if frame.parent is not None or by.module is not frame.analysis or value.kind not in _KEPT:
        return
    by.module.materialise_body(by)
    handed = _of_inner(by.node) if within else frozenset(by.parameter_names)
    for name, kept in _kept(by.node) if handed else ():
        known = frame.env.get(name)
        added = _as_kept(kept, handed, value)
        if known is not None and known.kind == CONTAINER and added is not None:
            frame.bind(name, holding(known, "", added))


def _of_inner(node: cst.CSTNode) -> frozenset[str]:
    """Return the parameters of the functions that are defined in a function."""
    inner = (n for n in walk(node) if type(n) is cst.FunctionDef and n is not node)
    return frozenset(p.name.value for function in inner for p in function.params.params)


def _kept(node: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Yield what a function puts into lists and dicts that are none of its own, by their names."""
    nodes = [*walk(node)]
    targets = [node.target for node in nodes if type(node) is cst.AssignTarget]
    own = {target.value for target in targets if type(target) is cst.Name}
    for each in nodes:
        found = _put(each)
        if found is not None and found[0] not in own:
            yield found


def _put(node: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Subscript(value=cst.Name(value=name)))],
            value=value,
        ):
            return name, value
        case cst.Call(
            func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method)),
            args=[*_, cst.Arg(value=value)],
        ) if method in _ADDING:
            return name, value
    return None


def _as_kept(kept: cst.BaseExpression, handed: frozenset[str], value: Value) -> Value | None:
    """Return what is put there where a function is handed: it, or a tuple that holds it."""
    if _is_name(kept):
        return value if kept.value in handed else None  # type: ignore[attr-defined]
    if type(kept) not in SEQUENCES:
        return None
    parts = [_as_kept(part.value, handed, value) for part in kept.elements]  # type: ignore[attr-defined]
    return container(None, tuple(part or UNKNOWN_VALUE for part in parts)) if any(parts) else None


def _is_name(node: cst.CSTNode) -> bool:
    return type(node) is cst.Name
