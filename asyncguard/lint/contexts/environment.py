"""What is off where the environment does not set it."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from asyncguard.lint.syntax.tree import dotted, text_of, walk_expressions


def is_unset(value: cst.CSTNode) -> bool:
    """Whether a value is off where the environment does not set it.

    `os.getenv("X")`, `os.environ.get("X", "0") == "1"`, `bool(int(os.getenv("X", "0")))`.
    """
    match value:
        case cst.Comparison(left=left, comparisons=[target]):
            unset = _environment(left)
            if not unset:
                return False
            wanted = target.comparator
            if type(target.operator) is cst.In and isinstance(
                wanted, (cst.Tuple, cst.List, cst.Set)
            ):
                return all(
                    text_of(element.value) not in (None, *unset) for element in wanted.elements
                )
            return type(target.operator) is cst.Equal and text_of(wanted) not in (None, *unset)
        case cst.Call(func=cst.Name(value="int" | "bool" | "float"), args=[given]):
            return is_unset(given.value) or _environment(given.value) == ["0"]
        case cst.Call():
            return _environment(value) == [""]
    return False


def _environment(value: cst.CSTNode) -> list[str]:
    """Return the text that this reads from the environment where that is not set; none if other."""
    if type(value) is not cst.Call:
        return []
    name = dotted(value.func)
    if type(value.func) is cst.Attribute and value.func.attr.value in _CLEANED:
        clean = _CLEANED[value.func.attr.value]
        return [clean(text) for text in _environment(value.func.value)]
    if name.rpartition(".")[2] != "getenv" and not name.endswith("environ.get"):
        return []
    default = [text_of(given.value) for given in value.args[1:2]]
    return [text for text in default or [""] if text is not None]


_CLEANED: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
}


def variables_of(value: cst.CSTNode) -> frozenset[str]:
    """Return the variables of the environment that turn something on."""
    reads = (node for node in walk_expressions(value) if _environment(node))
    named = (text_of(node.args[0].value) for node in reads if node.args)
    return frozenset(name for name in named if name)
