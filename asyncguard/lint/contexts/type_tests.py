"""Tests of which type something is: `isinstance(x, T)`, `torch.is_tensor(x)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, item_path


class TypeTest(NamedTuple):
    """A test of which type something is: one of these, or an array of any framework's."""

    subject: cst.BaseExpression
    types: Sequence[cst.BaseExpression]

    @property
    def path(self) -> str:
        """Return where the subject is kept: `x`, `self.x`, `state["x"]`; "" of anything else."""
        return dotted(self.subject) or item_path(self.subject)


_ASKS_FOR_ARRAY = family("function.asks_for_array")
ANY_ARRAY = cst.Name("Tensor")


def type_test(node: cst.CSTNode) -> TypeTest | None:
    """Return what asks of which type something is: `isinstance(x, T)`, `torch.is_tensor(x)`."""
    if type(node) is not cst.Call or not 0 < len(node.args) < 3:
        return None
    asks, subject = dotted(node.func), node.args[0].value
    if asks == "isinstance" and len(node.args) == 2:
        types: Any = node.args[1].value
        several = type(types) is cst.Tuple
        return TypeTest(subject, [e.value for e in types.elements] if several else [types])
    one = len(node.args) == 1 and _ASKS_FOR_ARRAY(asks.rpartition(".")[2])
    return TypeTest(subject, [ANY_ARRAY]) if one else None


def asks_type(node: cst.CSTNode) -> bool:
    """Whether this asks of which type something is."""
    return type_test(node) is not None
