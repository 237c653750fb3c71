"""The effects that running a function has: the sites, calls and events that a frame notes."""

from __future__ import annotations

from functools import partial

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts.copies import waited
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import Edge, Event, FunctionInfo, Site, function_of
from asyncguard.lint.domain.handed import ANYTHING, Handed
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.reasons import HIGH, LOW, MEDIUM, Reason
from asyncguard.lint.domain.values import (
    DEVICE,
    FUNCTION,
    MODEL,
    SYMBOL,
    UNKNOWN,
    Role,
    Value,
    with_role,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.evidence.items import how_it_asks, of_place
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Loop, SyncKind

# What can be done with a node of a graph as well, which has no value yet: that waits for nothing.
_OF_SYMBOLS = frozenset({SyncKind.TEXT, SyncKind.TRUTH, SyncKind.SHAPE})


def _repeated(frame: Frame, point: SyncPoint, via: Site | None) -> tuple[Context, Reason | None]:
    """Return how often a site is run when its function is, and why that is so."""
    context = frame.nest.context_of(point.kind, news=frame.findings > 0)
    hot = frame.nest.why_repeated()
    if via is None:
        return context, hot
    if via.context.loop is Loop.STEP:  # a loop of its own, whoever calls it
        context, hot = context._replace(loop=Loop.STEP, guarded=False), via.hot
    switches = context.switches | via.context.switches
    return context._replace(switches=switches, graphs=context.graphs | via.graphs), hot


def note_site(
    frame: Frame,
    point: SyncPoint,
    node: cst.CSTNode,
    value: Value,
    *,
    sink: bool = False,
    whole: bool = False,
    via: Site | None = None,
    subject: cst.CSTNode | None = None,
    held: str = "",
) -> None:
    """Note that `node` waits, because `value` is on the device.

    `held`: why a copy does that was told not to.
    """
    frame.waits |= waited(frame.env, point, value, held, len(frame.nest.guards))
    if point.kind == SyncKind.UPLOAD:
        frame.nest.enqueues(Work.NONE)  # what is moved there is worked on
    was_awaited = value.role is Role.SETTLED and point.kind != SyncKind.BARRIER
    if frame.speculative or was_awaited or not frame.analysis.waits(point.framework):
        return
    if point.kind == SyncKind.UPLOAD and frame.analysis.sends_freely:
        return
    if _has_no_value(frame, point, sink=sink):
        return
    limit = {"high": HIGH, "medium": MEDIUM, "low": LOW}[point.confidence.value]
    context, hot = _repeated(frame, point, via)
    site = Site(
        point,
        node,
        frame.function,
        context,
        value.why,
        value.doubt,
        min(value.confidence, limit),
        sink,
        whole,
        via,
        subject,
        tuple(frame.loops),
        frame.statement,
        tuple(frame.blocks),
        value.params | frame.omitted,
        value.role,
        hot,
        if_handed=value.kind == UNKNOWN,
        entry=value.name if value.kind == UNKNOWN else "",
        standing=frozenset()
        if via
        else of_place(point, node, subject, frame.function, partial(_is_imported, frame))
        | frame.nest.items,
        how=via.how if via else how_it_asks(node, frame.statement),
        held=held,
    )
    if site.params:
        frame.reads.append(site)
    if value.kind != UNKNOWN:
        frame.sites.append(site)
    known = frame.analysis.knowledge.frameworks.get(point.framework)
    if known is not None and known.reads_once and point.kind in _READS:
        _keep_read(frame, node)


def _keep_read(frame: Frame, node: cst.CSTNode) -> None:
    """Note that the arrays of variables keep what was read of them: the next read is free."""
    if type(node) is cst.Call:
        owner = [node.func.value] if type(node.func) is cst.Attribute else []
        read = [*owner, *(argument.value for argument in node.args)]
    else:
        read = [node]  # type: ignore[list-item]
    for path in filter(None, map(dotted, read)):
        value = frame.lookup(path)
        if value is not None and value.kind == DEVICE:
            frame.note(path, with_role(value, Role.SETTLED))


_READS = frozenset({SyncKind.SCALAR, SyncKind.ARRAY, SyncKind.TEXT, SyncKind.TRUTH})


def _has_no_value(frame: Frame, point: SyncPoint, *, sink: bool) -> bool:
    """Whether what is read is a node of a graph, of which this asks for no value."""
    asks = sink or point.kind in _OF_SYMBOLS or bool(point.source and point.source.protocols)
    return asks and point.framework in frame.analysis.symbolic


def _is_imported(frame: Frame, name: str) -> bool:
    """Whether a name stands for a module, or for what one holds."""
    value = frame.lookup(name) if name else None
    return value is not None and value.kind == SYMBOL


def note_event(
    frame: Frame,
    what: str,
    node: cst.CSTNode,
    framework: str = "",
    callee: FunctionInfo | None = None,
) -> None:
    """Note something else that rules ask about."""
    if not frame.speculative:
        loops, blocks = tuple(frame.loops), tuple(frame.blocks)
        frame.events.append(Event(what, node, framework, callee, loops, blocks))


def note_call(frame: Frame, callee: FunctionInfo | None) -> Edge | None:
    """Note a call of a function whose body is at hand."""
    if callee is None or frame.speculative:
        return None
    conditions = len(frame.nest.asked.shapes)
    why, context = frame.nest.why_repeated(), frame.nest.context()
    when = frame.omitted.options
    frame.edges.append(Edge(callee, context, frame.line(), why, conditions=conditions, when=when))
    return frame.edges[-1]


def note_escape(frame: Frame, value: Value) -> None:
    """Note a function that is handed on: it is called about as often, by whoever has it."""
    info = function_of(value) if value.kind == FUNCTION else None
    if info is not None and type(info.node) is not cst.Lambda:
        note_call(frame, info)
        frame.analysis.summary_for(info)
        own, name = frame.function.cls, info.name
        if own is not None and own.lookup(name) is info:
            note_call_by_name(frame, f"{own.name}.{name}")  # a subclass may have its own


def note_call_by_name(frame: Frame, name: str, handed: Handed = ANYTHING) -> None:
    """Note a call of a method or function that may be any of that name: no model's own."""
    tables = frame.analysis.knowledge.model_methods
    own = any(tables[f].get(name) == MODEL for f in frame.analysis.frameworks)
    if not frame.speculative and not own:
        frame.named.setdefault((name, frame.nest.context(), handed), frame.line())
