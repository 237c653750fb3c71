"""The arguments of one call, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from asyncguard.lint.domain.values import Value


class Argument(NamedTuple):
    """One argument of a call; `stars` is 0, 1 (`*args`) or 2 (`**kwargs`)."""

    keyword: str
    stars: int
    node: cst.BaseExpression
    value: Value


Arguments = Sequence[Argument]
