"""Copies beside the program: which are started, what is done, and what uses their memory meanwhile.

Only what is known counts: memory of one block, allocated in sight, in flight for certain. What is
out of sight may wait for everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from asyncguard.catalogue import HostMemory, SyncPoint
from asyncguard.lint.contexts.copies import COPIES, STREAM, become, in_flight, of_value, stream
from asyncguard.lint.contexts.effects import note_site
from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.copies import (
    ANY,
    Copy,
    Layout,
    Made,
    Memory,
    Race,
    Size,
    Stream,
)
from asyncguard.lint.domain.definitions import FunctionInfo, Summary
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import DEVICE, HOST, HOST_ARRAY, SYMBOL, Value, device
from asyncguard.lint.interpret.arguments import (
    condition_holds,
    first_host_array,
    is_told,
    last,
    selected_arguments,
)
from asyncguard.lint.interpret.memory import (
    made_at,
    memory_of,
    of_method,
    pinned_at,
    remade,
    table_of,
)
from asyncguard.lint.interpret.placement import moved_to
from asyncguard.lint.interpret.structures import OF_MAPPINGS
from asyncguard.lint.names import family, is_in_place
from asyncguard.model import SyncKind

# ---- what starts


def is_promised(frame: Frame, point: SyncPoint, arguments: Arguments) -> bool:
    """Whether a call is told not to block, which it only does if its memory allows."""
    unless = point.unless
    if unless is None or not unless.staged or not is_told(unless.flag, arguments):
        return False
    return point.when is None or condition_holds(frame, point.when, arguments)


def told_by_flag(frame: Frame, owner: Value, method: str, arguments: Arguments) -> Value:
    """Return what is copied to the host without blocking: it is on the device, or it was no use."""
    for point in frame.analysis.knowledge.sync_methods.get((DEVICE, method), ()):
        if point.kind == SyncKind.UPLOAD or point.framework not in frame.analysis.frameworks:
            continue
        moved = moved_to(frame, arguments)
        if moved is None or moved.kind != HOST_ARRAY:
            return owner
        if is_promised(frame, point, arguments):
            why = frame.reason(Provenance.USAGE, f"`{unless_flag(point)}` copies it to the host")
            return device(point.framework, why, owner.params)
    return owner


def unless_flag(point: SyncPoint) -> str:
    """Return the option of a copy that is not to block, as it is written."""
    return f"{point.unless.flag[0]}=True" if point.unless is not None else ""


def start(
    frame: Frame,
    point: SyncPoint,
    node: cst.Call,
    owner: Value,
    arguments: Arguments,
    read: Value,
    subject: cst.CSTNode,
) -> None:
    """Note a copy that is told not to block: the site of one that does, the flight of others."""
    into = bool(point.source is not None and point.source.arguments)  # `y.copy_(x)`
    if point.kind == SyncKind.UPLOAD:
        given = selected_arguments(point.source.arguments, arguments) if point.source else []
        source = (given[0].value if given else Value()) if into else owner
        written = given[0].node if into and given else subject
        memory = _by_name(memory_of(source), written, table_of(frame, point.framework))
        typed = any(map(_names_a_type, arguments))
        held = memory.upload_held(keeps_order=not into and not typed) if memory else ""
    else:
        memory = memory_of(owner) if into else None
        held = memory.download_held() if memory else ""
    if held:
        note_site(frame, point, node, read, subject=subject, held=held)
    elif memory is not None and memory.pinned and memory.block is not None:
        _fly(frame, node, memory, fills=point.kind != SyncKind.UPLOAD)


_MANY = family("value.many")
_A_TYPE = family("dtype.given")


def _by_name(
    memory: Memory | None, written: cst.CSTNode, table: HostMemory | None
) -> Memory | None:
    """Return the memory of an array whose name may say that it holds many numbers."""
    if memory is None or table is None or memory.size is not Size.UNKNOWN:
        return memory
    many = any(map(_MANY, _names(written, table)))
    return memory._replace(size=Size.MANY) if many else memory


def _names(node: cst.CSTNode, table: HostMemory) -> Iterator[str]:
    """Yield the names, attributes and keys of the arrays all of which this holds."""
    match node:
        case cst.Name(name) | cst.Attribute(attr=cst.Name(name)):
            yield name
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
            yield str(key.evaluated_value)
        case cst.BinaryOperation(left=left, right=right):
            yield from _names(left, table)
            yield from _names(right, table)
        case cst.Call(args=[cst.Arg(cst.Tuple() | cst.List() as joined), *_]):
            for element in joined.elements:
                yield from _names(element.value, table)
        case cst.Call(cst.Attribute(value, cst.Name(method))) if _keeps_all(table, method):
            yield from _names(value, table)


def _keeps_all(table: HostMemory, method: str) -> bool:
    """Whether a method gives all the numbers of the array that it is called on."""
    kept = (table.views, table.transposes, table.packs, table.converts, (table.pins,))
    return any(method in names for names in kept)


def _names_a_type(argument: Argument) -> bool:
    """Whether an argument asks for elements of a type."""
    named = argument.value.kind == SYMBOL and _A_TYPE(last(argument.value.name))
    return argument.keyword == "dtype" or bool(named)


def _fly(frame: Frame, node: cst.Call, memory: Memory, *, fills: bool) -> None:
    made = made_at(frame, node)
    if memory.block is not None and made is not None:
        copy = Copy(memory.block, memory.part, fills, made)
        started = in_flight(frame.env).started(copy, stream(frame.env), _guards(frame))
        become(frame.env, started)


def _guards(frame: Frame) -> int:
    return len(frame.nest.guards)


def downloaded(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments, made: Value
) -> Value:
    """Return what a method of a device value gives, if that is in host memory: with its memory."""
    table = table_of(frame, made.framework) if made.kind == HOST_ARRAY else None
    if table is None:
        return made
    if method == table.pins:
        return made._replace(ref=pinned_at(frame, node, Layout.UNKNOWN))
    points = frame.analysis.knowledge.sync_methods.get((DEVICE, method), ())
    for point in points:
        fresh = point.kind != SyncKind.UPLOAD and not (point.source and point.source.arguments)
        if fresh and is_promised(frame, point, arguments):
            memory = pinned_at(frame, node)
            _fly(frame, node, memory, fills=True)
            return made._replace(ref=memory)
    return made


# ---- what is done


def forget(frame: Frame) -> None:
    """Note that something out of sight may wait for everything, or order it anew."""
    frame.waits = True
    if COPIES in frame.env:
        become(frame.env, in_flight(frame.env).after(ANY, _guards(frame)))


def after_call(frame: Frame, info: FunctionInfo, summary: Summary) -> None:
    """Note what a function of checked code has done, and what it has left in flight."""
    if summary.waits:
        forget(frame)
    if not (summary.copies.flights or summary.copies.events):
        return
    for block in {flight.copy.block for flight in summary.copies.flights}:
        if _is_made_by(info, block):
            remade(frame, block)
    copies = in_flight(frame.env)
    current = stream(frame.env)
    become(frame.env, copies.with_those_of(summary.copies, current, _guards(frame)))


def _is_made_by(info: FunctionInfo, made: Made) -> bool:
    where = info.outlined
    return (
        where is not None
        and made.path == info.module.path
        and (where.first <= made.place[0] <= where.last)
    )


def order(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value | None:
    """Call a method of an event or a stream; return the event that it gives, if it does."""
    given = arguments[0].value if arguments else None
    table = table_of(frame, owner.framework)
    if table is None:
        if method in frame.analysis.knowledge.copy_waits:
            forget(frame)
        return None
    if owner.kind == "event":
        _order_event(frame, table, owner, method, given)
        return None
    mine = of_value(owner)
    copies, guards = in_flight(frame.env), _guards(frame)
    if method in table.waits:
        frame.waits = True
        become(frame.env, copies.after(mine, guards))
    elif method in table.wait_streams and given is not None:
        become(frame.env, copies.ordered(mine, after=of_value(given), event=None))
    elif method in table.wait_events and given is not None:
        become(frame.env, copies.ordered(mine, after=None, event=_event(given)))
    elif method in table.record_events:
        event = given or Value("event", owner.framework, ref=made_at(frame, node))
        if (made := _event(event)) is not None:
            become(frame.env, copies.recorded(made, mine))
        return event
    return None


def _order_event(
    frame: Frame, table: HostMemory, owner: Value, method: str, given: Value | None
) -> None:
    copies, event = in_flight(frame.env), _event(owner)
    where = of_value(given) if given is not None else stream(frame.env)
    if method in table.waits:
        frame.waits = True
        become(frame.env, copies.after_event(event, _guards(frame)))
    elif method in table.records and event is not None:
        frame.waits = True  # of whoever handed it over, it tells less now
        become(frame.env, copies.recorded(event, where))
    elif method in table.awaits:
        become(frame.env, copies.ordered(where, after=None, event=event))


def _event(value: Value) -> Made | None:
    return value.ref if value.kind == "event" and isinstance(value.ref, Made) else None


def enter_stream(frame: Frame, name: str, item: cst.Call) -> Callable[[], None]:
    """Note which stream the copies of a block go to; return what ends that."""
    if name not in frame.analysis.knowledge.stream_contexts or not item.args:
        return lambda: None
    before = stream(frame.env)
    with frame.speculation():
        _go_to(frame, evaluate(frame, item.args[0].value))
    return lambda: _set_stream(frame, before)


def _go_to(frame: Frame, value: Value) -> None:
    if not value.is_none:
        _set_stream(frame, of_value(value))


def _set_stream(frame: Frame, it: Stream) -> None:
    frame.env[STREAM] = Value("stream", ref=it)


# ---- what uses memory


def use(frame: Frame, node: cst.CSTNode, *values: Value, writes: bool = False) -> None:
    """Note that the host reads or writes arrays, or the first that a container holds."""
    if COPIES in frame.env:
        for value in values:
            _use(frame, node, value, writes=writes)


def _use(frame: Frame, node: cst.CSTNode, value: Value, *, writes: bool) -> None:
    array = first_host_array(value)
    memory = memory_of(array) if array is not None else None
    if memory is None or memory.block is None:
        return
    copies = in_flight(frame.env)
    copy = copies.used(memory, writes=writes)
    if copy is None or frame.speculative:
        return
    become(frame.env, copies.told(copy))
    if frame.analysis.waits(value.framework or "torch"):
        guarded = frame.nest.context().guarded
        frame.races.append(Race(copy, writes, node, guarded))


def call_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> None:
    """Note what a method of an array in host memory reads or writes there."""
    if COPIES not in frame.env:
        return
    table = table_of(frame, owner.framework)
    if table is None:
        return
    in_place = is_in_place(method)
    if not _is_view(frame, owner.framework, table, method):
        copied = method in table.copies and any(a.value.kind == DEVICE for a in arguments)
        writes = in_place or method in table.in_place
        if not copied:
            use(frame, node, owner, writes=writes)
    use(frame, node, *(argument.value for argument in arguments))


def call_function(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> None:
    """Note which of its arguments a function of the catalogue reads or writes in host memory."""
    if name in frame.analysis.knowledge.stream_setters and arguments:
        _go_to(frame, arguments[0].value)
    if COPIES not in frame.env:
        return
    framework = frame.analysis.knowledge.framework_of(name)
    table = table_of(frame, framework)
    if table is None or _is_view(frame, framework, table, last(name)):
        return
    for at, argument in enumerate(arguments):
        written = argument.keyword == table.out or (at == 0 and name in table.writes)
        use(frame, node, argument.value, writes=written)


def _is_view(frame: Frame, framework: str, table: HostMemory, method: str) -> bool:
    """Whether a method or function asks for no element: views, sizes, and what the device does."""
    asks_nothing = (
        method in table.unread
        or method in table.views
        or method in table.transposes
        or method in table.spreads
        or method in table.parts
    )
    knowledge = frame.analysis.knowledge
    plain = knowledge.methods.get(framework, {}).get(method) == HOST
    return asks_nothing or (plain and (DEVICE, method) not in knowledge.sync_methods)


def of_method_result(frame: Frame, node: cst.Call, owner: Value, method: str, made: Value) -> Value:
    """Return what a method of an array in host memory gives, with its memory."""
    if made.kind != HOST_ARRAY or method in OF_MAPPINGS:  # a dictionary has no memory of its own
        return made
    table, memory = table_of(frame, owner.framework), memory_of(owner)
    if table is None:
        return made
    if method == table.pins:
        if memory is not None and memory.pinned:
            return made._replace(ref=memory)
        layout = memory.layout if memory is not None else Layout.UNKNOWN
        return made._replace(ref=pinned_at(frame, node, layout))
    if made.framework != owner.framework:  # NumPy's, of the same memory
        return made._replace(ref=memory)
    return made._replace(ref=of_method(table, memory, method))
