"""What all nodes have in common, and the kinds of them that stand in the same places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class CSTNode(msgspec.Struct, eq=False, gc=False):
    """A node: a record that is equal to itself alone, and, being part of a tree, in no cycle."""

    def deep_equals(self, other: CSTNode) -> bool:
        """Whether two trees say the same."""
        return type(self) is type(other) and all(
            _equal(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__
        )


class BaseExpression(CSTNode):
    """An expression."""


class BaseSlice(CSTNode):
    """A part of what stands between the brackets of a subscript."""


class BaseSuite(CSTNode):
    """The body of a compound statement."""

    body: Sequence[CSTNode]


class BaseStatement(CSTNode):
    """What may stand on a line of its own: a line of simple statements, or a compound one."""


class BaseSmallStatement(CSTNode):
    """A simple statement."""


class BaseCompoundStatement(BaseStatement):
    """A statement that others stand in."""


class MatchPattern(CSTNode):
    """A pattern of `match`."""


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, CSTNode):
        return one.deep_equals(other)
    if isinstance(one, (list, tuple)):
        return (
            isinstance(other, (list, tuple))
            and len(one) == len(other)
            and all(map(_equal, one, other))
        )
    return bool(one == other)
