"""A constant that is made on the host and uploaded: make it on the device instead.

`torch.tensor(0.0, device=d)` copies from the host and waits; `torch.zeros((), device=d)` is one
more operation in the queue, with the same value, type and device. Only plain numbers are rewritten.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.domain.effects import Site
from asyncguard.lint.report.reports import FixMaker, Source
from asyncguard.lint.syntax.tree import Place
from asyncguard.model import Edit, Fix

_KEPT = frozenset({"device", "dtype", "requires_grad"})


def on_device(site: Site) -> tuple[FixMaker, tuple[cst.CSTNode, ...]] | None:
    """Return the fix of an upload of a plain number, and the nodes that it must find."""
    call, makers = site.node, site.point.makers
    if not makers or type(call) is not cst.Call or type(call.func) is not cst.Attribute:
        return None
    if site.via is not None or not call.args or call.args[0].keyword is not None:
        return None
    keywords = [argument.keyword for argument in call.args[1:]]
    number = _number(call.args[0].value)
    if number is None or any(k is None or k.value not in _KEPT for k in keywords):
        return None
    typed = any(k is not None and k.value == "dtype" for k in keywords)
    func, argument = call.func, call.args[0].value
    maker = _maker(number, makers, typed=typed)

    def make(places: dict[int, Place], source: Source) -> Fix | None:
        function, value = places.get(id(func)), places.get(id(argument))
        if function is None or value is None:
            return None
        text = f"(), {source.text(value)}" if maker == makers[-1] else "()"
        _, _, line, end = function
        name = Edit(line, end - len(func.attr.value), line, end, maker)
        edits = (name, Edit(*value, text))
        return Fix(f"make the constant on the device with `{maker}`", edits, safe=True)

    return make, (func, argument)


def _number(node: cst.BaseExpression) -> int | float | None:
    """Return a plain number; None of anything else."""
    if type(node) is cst.UnaryOperation and type(node.operator) is cst.Minus:
        inner = _number(node.expression)
        return None if inner is None else -inner
    if type(node) is cst.Integer:
        return int(node.value, 0)
    return float(node.value) if type(node) is cst.Float else None


def _maker(number: int | float, makers: tuple[str, ...], *, typed: bool) -> str:
    """Return the function that makes the number.

    A zero or one of no given type is a float only if it is written as one.
    """
    zeros, ones, full = makers
    if typed or isinstance(number, float):
        if number == 0 and not str(number).startswith("-"):
            return zeros
        if number == 1:
            return ones
    return full
