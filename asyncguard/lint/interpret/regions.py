"""Regions: what makes code part of a graph, or keeps it out of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from asyncguard import catalogue
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.options import Asked
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.regions import Graphs, Region
from asyncguard.lint.domain.values import CLASS, CONTAINER, FUNCTION, Value
from asyncguard.lint.syntax.tree import dotted

_FORWARD = ("forward", "__call__")
Options = dict[str, str]  # the keyword arguments of a call, as far as they are names


def options_of(call: cst.BaseExpression) -> Options:
    """Return the keyword arguments of a call that are names: `True`, `None`, `flag`."""
    if type(call) is not cst.Call:
        return {}
    return {a.keyword.value: dotted(a.value) for a in call.args if a.keyword is not None}


def within(frame: Frame, name: str, call: cst.Call) -> Asked | None:
    """Return what holds in the block of a context manager that makes a region."""
    found = frame.analysis.knowledge.regions.contexts.get(name)
    region = found and _made(frame, found, name, options_of(call))
    return Asked(graphs=Graphs(frozenset({region}))) if region else None


def note_handed(frame: Frame, name: str, call: cst.Call, arguments: Arguments) -> None:
    """Note what a function makes part of a graph that it is handed, or keeps out of one."""
    region = region_of(frame, name, options_of(call))
    if region is not None and arguments and not arguments[0].keyword:
        own = _own_method(frame, arguments[0].node)
        _enter(frame, region, [own or arguments[0].value])


def _own_method(frame: Frame, node: cst.BaseExpression) -> Value | None:
    """Return the method that `self.step = torch.compile(self.step)` replaces."""
    owner, _, name = dotted(node).partition(".")
    cls = frame.function.cls
    method = cls.lookup(name) if cls is not None and owner == "self" and name else None
    return Value(FUNCTION, ref=method) if method is not None else None


def region_of(frame: Frame, name: str, options: Options) -> Region | None:
    """Return the region that a function or decorator makes of what it is handed."""
    known = frame.analysis.knowledge.regions
    if (found := known.functions.get(name)) is not None:
        return _made(frame, found, name, options)
    found = known.disables.get(name)
    made = found and _made(frame, found, name, {})
    return made._replace(disabled=True) if made else None


def note_method(frame: Frame, call: cst.Call, owner: Value, method: str) -> None:
    """Note that a method makes a region: of its model, or of what follows."""
    known, nest = frame.analysis.knowledge.regions, frame.nest
    if (found := known.methods.get(method)) is not None and isinstance(owner.ref, ClassInfo):
        region = _made(frame, found, f"{owner.ref.name}.{method}", options_of(call))
        if region is not None and owner.ref.lookup(method) is None:
            _enter(frame, region, [owner])
    if frame.speculative:
        return
    if (found := known.begins.get(method)) is not None:
        region = _made(frame, found, method, {})
        nest.capturing |= Graphs(frozenset({region} if region else ()))
    if (found := known.ends.get(method)) is not None:
        nest.capturing = nest.capturing.without(found.id)


def _made(frame: Frame, known: catalogue.Region, api: str, options: Options) -> Region | None:
    """Return the region that a call with these keyword arguments makes."""
    if options.get(known.off, "False") == "True":
        return None
    whole = not known.whole or options.get(known.whole) == "True"
    return Region(known.id, known.asks, api, frame.analysis.path, frame.line(), whole)


def _enter(frame: Frame, region: Region, values: Iterable[Value]) -> None:
    if not frame.speculative:
        frame.enters.update((info, region) for info in _functions(values))


def _functions(values: Iterable[Value]) -> Iterator[FunctionInfo]:
    """Yield the functions of the checked code that a call of these values runs."""
    for value in values:
        if value.kind == CONTAINER:
            yield from _functions(value.items or ())
        elif isinstance(value.ref, ClassInfo) and value.kind != CLASS:
            methods = map(value.ref.lookup, _FORWARD)
            yield from [method for method in methods if method is not None][:1]
        elif isinstance(value.ref, FunctionInfo) and type(value.ref.node) is not cst.Lambda:
            yield value.ref
