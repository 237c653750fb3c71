"""The parameters of a function, as its signature declares them."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from asyncguard.lint.syntax.tree import dotted


class Parameter(NamedTuple):
    """One parameter of a function; `stars` is 0, 1 (`*args`) or 2 (`**kwargs`)."""

    name: str
    annotation: cst.BaseExpression | None
    default: cst.BaseExpression | None
    stars: int = 0

    @property
    def may_be_none(self) -> bool:
        """Whether a call that leaves it out means None."""
        return self.default is not None and dotted(self.default) == "None"


def parameters_of(node: cst.Parameters) -> tuple[Parameter, ...]:
    """Return a signature's parameters, in order."""
    found = [*map(_parameter, (*node.posonly_params, *node.params))]
    if type(node.star_arg) is cst.Param:
        found.append(_parameter(node.star_arg, stars=1))
    found += map(_parameter, node.kwonly_params)
    if node.star_kwarg:
        found.append(_parameter(node.star_kwarg, stars=2))
    return tuple(found)


def _parameter(param: cst.Param, stars: int = 0) -> Parameter:
    annotation = param.annotation.annotation if param.annotation else None
    return Parameter(param.name.value, annotation, param.default, stars)
