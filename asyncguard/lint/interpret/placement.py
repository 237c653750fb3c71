"""Where arrays are: factories, uploads and moves between host and device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from asyncguard.catalogue import SyncPoint, load
from asyncguard.lint.contexts.effects import note_site
from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import FunctionInfo, class_of
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, together
from asyncguard.lint.domain.reasons import Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CALLABLE,
    DEVICE,
    HOST,
    HOST_ARRAY,
    INSTANCE,
    MODEL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    doubted,
    from_params,
)
from asyncguard.lint.interpret.arguments import DEVICE_NAME, conditions_hold, last
from asyncguard.lint.interpret.presence import is_there_already
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Device, SyncKind

CPU_WORDS = ("cpu",)
DEFAULT = "<default device> "  # of a framework, as a variable: no name in source is like it


def names_host(value: Value) -> bool:
    """Whether this is the device that is the host itself: `"cpu"`, `torch.device("cpu")`."""
    return isinstance(value.literal, str) and value.literal.startswith(CPU_WORDS)


def placed(frame: Frame, framework: str, arguments: Arguments) -> Value:
    """A tensor made by a factory lives where `device=` says; without it, on the host."""
    known = frame.analysis.knowledge.frameworks[framework]
    if known.asynchronous_cpu:
        frame.operation(framework)
        return device(framework)
    for argument in arguments:
        if argument.keyword in ("device", "map_location", "ctx") and not argument.value.is_none:
            return _made_on(frame, framework, argument.value)
    where = frame.lookup(DEFAULT + framework)
    if where is not None and where.literal is not None:
        return _made_on(frame, framework, where)
    if any(a.stars == 2 for a in arguments):
        return device(framework, frame.reason(Provenance.GUESS, "its options may name a device"))
    if framework in frame.function.placed_for:
        return device(framework, frame.reason(Provenance.GUESS, "a caller has set the device"))
    if frame.analysis.device == Device.ACCELERATOR:
        return device(framework, Reason(Provenance.USAGE, "`device` is set to `accelerator`"))
    return Value(HOST_ARRAY, framework, Reason(Provenance.USAGE))


def _made_on(frame: Frame, framework: str, where: Value) -> Value:
    """Return an array that is made on a device, or on the one that is the host."""
    if names_host(where):
        return Value(HOST_ARRAY, framework)
    made = device(framework, frame.reason(Provenance.CATALOGUE, "it is made on a device"))
    made = from_params(made, where.params)  # of `x.device`: it is where that is
    return made if where.kind != UNKNOWN else doubted(made, Doubt.INFERRED)


def set_default(frame: Frame, name: str, where: Value) -> None:
    """Note where a framework makes arrays from here on that name no device."""
    framework = frame.analysis.knowledge.default_device.get(name)
    if framework is not None:
        frame.bind(DEFAULT + framework, where)


def hand_default(frame: Frame, callee: FunctionInfo) -> None:
    """Note that a function of the file is called where arrays are made on a device by default."""
    if callee.module is not frame.analysis:
        return  # analysed before or after, as it comes
    known = frozenset(frame.analysis.knowledge.default_device.values())
    set_here = {f: frame.lookup(DEFAULT + f) for f in known}
    placed = {f for f, where in set_here.items() if where is not None and not _is_host(where)}
    callee.placed_for |= placed


def _is_host(where: Value) -> bool:
    return where.literal is None or names_host(where)


def enter_device(frame: Frame, name: str, where: Value) -> Callable[[], None]:
    """Note where a block makes arrays that name no device; return what ends that."""
    framework = frame.analysis.knowledge.device_contexts.get(name)
    if framework is None:
        return lambda: None
    path = DEFAULT + framework
    before = frame.lookup(path) or UNKNOWN_VALUE
    frame.bind(path, where)
    return lambda: frame.bind(path, before)


def moved_to(frame: Frame, arguments: Arguments) -> Value | None:
    """Return where `.to(...)` moves: HOST_ARRAY for a literal "cpu", DEVICE for another device."""
    for argument in arguments:
        if argument.keyword not in ("", "device"):
            continue
        text = argument.value.literal
        if isinstance(text, str):
            if text.startswith(CPU_WORDS):
                return Value(HOST_ARRAY)
            return Value(DEVICE)
    return None


def uploads(frame: Frame, owner: Value, method: str, arguments: Arguments) -> bool:
    """Whether a method of a host array returns a device value: an upload entry knows it."""
    known = frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, method), ())
    points = [p for p in known if p.framework == owner.framework and p.rule == "ASG106"]
    if not points:
        return False
    if any(_names_a_type(frame, point, arguments) for point in points):
        return True
    moved = moved_to(frame, arguments)
    if moved is not None:
        return moved.kind == DEVICE
    if len(arguments) == 1 and arguments[0].stars == 2:
        return True  # by a dict, which names a device if it names anything
    options = {option for point in points for option in _options(point)}
    where = [a for a in arguments if a.keyword not in options]
    return not where or any(map(_says_where, where))


def _options(point: SyncPoint) -> tuple[str, ...]:
    """Return the keywords of an upload that say how, and not where."""
    return () if point.unless is None else (*point.unless.keyword_true, *point.unless.flag)


def _says_where(argument: Argument) -> bool:
    return _is_tensor(argument) or names_a_device(argument) or _is_other(argument)


_A_TYPE = family("dtype.given")


def _is_tensor(argument: Argument) -> bool:
    """Whether an argument of `.to` is a tensor on the device: its name says no type."""
    name = dotted(argument.node).rpartition(".")[2]
    return argument.value.kind == DEVICE and not (name and _A_TYPE(name))


def _is_other(argument: Argument) -> bool:
    """Whether an argument of `.to` is unknown, a place then or a tensor: its name says no type."""
    name = dotted(argument.node).rpartition(".")[2]
    given = argument.value.kind == UNKNOWN and not argument.keyword
    return given and bool(name) and not _A_TYPE(name)


def _names_a_type(frame: Frame, point: SyncPoint, arguments: Arguments) -> bool:
    """Whether an argument is one of the types that an upload goes by: `.type(cuda.FloatTensor)`."""
    wanted = point.when is not None and bool(point.when.argument_in)
    return wanted and conditions_hold(frame, point, arguments)


def names_a_device(argument: Argument) -> bool:
    """Whether an argument of `.to` is a device, as far as its name says."""
    if argument.keyword:
        return argument.keyword == "device" and not names_host(argument.value)
    literal = argument.value.literal
    if argument.value.kind == HOST and literal is not None:
        kind = literal.partition(":")[0] if isinstance(literal, str) else ""
        return kind in load().devices or type(literal) is int
    if argument.value.kind == HOST and DEVICE_NAME(last(argument.value.name)):
        return True  # it was made as one
    node: Any = argument.node
    while type(node) in (cst.Subscript, cst.Call):
        node = node.value if type(node) is cst.Subscript else node.func
    named = dotted(node).rpartition(".")[2]
    if not named and type(node) is cst.Attribute:
        named = node.attr.value
    return DEVICE_NAME(named)


def unknown_upload(
    frame: Frame, node: cst.Call, owner: cst.BaseExpression, method: str, arguments: Arguments
) -> Value | None:
    """`batch.to(device)` of something unknown: within a training step, most likely an upload."""
    points = frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, method), ())
    if arguments and not _names_where(frame, points, arguments):
        return None
    if prior_for(frame, dotted(owner)).kind in CALLABLE:
        return None
    if not frame.loops and _makes_instance(owner):
        why = frame.reason(Provenance.MOVED, "it is made and moved to a device")
        return Value(MODEL, next(iter(frame.analysis.frameworks), ""), why)
    active = frame.analysis.frameworks
    known = (p for p in points if p.kind == SyncKind.UPLOAD and p.framework in active)
    point = next(known, None)
    if point is None:
        return None
    why = frame.reason(Provenance.MOVED, f"`.{method}` moves it to a device")
    _note_move(frame, point, node, owner, method, arguments, why)
    part = type(owner) is cst.Call or dotted(owner).startswith("self.")  # of a model, maybe
    return Value(DEVICE, point.framework, why, Role.NAME_INFERRED if part else Role.MOVED)


def _note_move(
    frame: Frame,
    point: SyncPoint,
    node: cst.Call,
    owner: cst.BaseExpression,
    method: str,
    arguments: Arguments,
    why: Reason,
) -> None:
    """Note the upload, unless what is moved most likely is there: then as far as calls tell."""
    there = is_there_already(frame, owner, arguments)
    if not there and conditions_hold(frame, point, arguments):
        _upload(frame, point, node, owner, why)
    elif there and type(owner) is cst.Name:
        upload_if_on_host(frame, node, evaluate(frame, owner), method, arguments)


def upload_if_on_host(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> None:
    """Note the upload of an argument in those calls that hand an array in host memory for it.

    Where the code itself says no more than that it goes where another argument is.
    """
    if owner.kind not in (UNKNOWN, DEVICE) or owner.params.only < 0:
        return
    where = together(a.value.params for a in arguments)
    active = frame.analysis.frameworks
    for point in frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, method), ()):
        if point.kind != SyncKind.UPLOAD or point.framework not in active:
            continue
        if conditions_hold(frame, point, arguments) and any(map(_says_where, arguments)):
            made = handed_on_host(frame, point, owner.params.only, where)
            note_site(frame, point, node, made, subject=node)
            return


def handed_on_host(
    frame: Frame, point: SyncPoint, param: int, where: Dependence = INDEPENDENT
) -> Value:
    """Return what is uploaded of an argument, in calls that hand host memory for it.

    And that do not hand what is in host memory for those that say `where` it goes.
    """
    why = frame.reason(Provenance.CALL, "callers hand an array in host memory")
    return device(point.framework, why, Dependence(where.on, when_host=frozenset({param})))


def moved_instance(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value | None:
    """Return what `batch.to(device)` makes of an argument of a checked class; None of others.

    The class's own method moves what it holds: each by a function that it hands to them, maybe.
    """
    if owner.kind != INSTANCE or not owner.params or type(node.func) is not cst.Attribute:
        return None
    info = class_of(owner).lookup(method) if owner.ref is not None else None
    if info is None or not _moves_members(frame, info):
        return None
    return unknown_upload(frame, node, node.func.value, method, arguments)


def _moves_members(frame: Frame, info: FunctionInfo) -> bool:
    """Whether a method does to what it holds what it is named after, and waits for each.

    What is known of its members is reported there.
    """
    points = frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, info.name), ())
    if not points:
        return False
    known = any(site.point in points for site in frame.analysis.summary_for(info).sites)
    if info.outlined is None or known:
        return False
    text = info.text
    late = any(f"{option}=True" in text for point in points for option in _options(point))
    return f".{info.name}(" in text and not late


def _upload(
    frame: Frame, point: SyncPoint, node: cst.Call, owner: cst.BaseExpression, why: Reason
) -> None:
    """Note the site of an upload, and that what is moved was in host memory.

    Of an argument, if no caller hands what is on the device already.
    """
    with frame.speculation():
        param = evaluate(frame, owner).params.only
    asked = Dependence(unless_there=frozenset({param})) if param >= 0 else INDEPENDENT
    read = device(point.framework, frame.by_name(why.text), asked)
    note_site(frame, point, node, read, subject=owner)
    known = frame.env.get(owner.value) if type(owner) is cst.Name else None
    if known is not None and known.kind == UNKNOWN:  # it stays there: `y = x.to(device)`
        frame.note(dotted(owner), Value(HOST_ARRAY, point.framework, why, Role.BATCH))


def _names_where(frame: Frame, points: Iterable[SyncPoint], arguments: Arguments) -> bool:
    """Whether an argument says where to move: a device or a type by its name, or options."""
    if len(arguments) == 1 and arguments[0].stars == 2:
        return True
    typed = any(_names_a_type(frame, point, arguments) for point in points)
    return typed or any(map(names_a_device, arguments))


def _makes_instance(node: cst.BaseExpression) -> bool:
    """Whether this makes an instance of a class: a model, if it is moved."""
    name = dotted(node.func).rpartition(".")[2] if type(node) is cst.Call else ""
    return name[:1].isupper()


def prepared(frame: Frame, arguments: Arguments) -> Value:
    """Return what `accelerator.prepare(model, loader)` gives: loaders that place their batches."""
    given = tuple(_prepared(frame, argument) for argument in arguments)
    return given[0] if len(given) == 1 else container(None, given)


def _prepared(frame: Frame, argument: Argument) -> Value:
    value = argument.value
    path = dotted(argument.node) if value.kind == UNKNOWN else ""
    known = prior_for(frame, path) if path else value
    return known._replace(role=Role.PLACED) if known.kind == "loader" else value


def copied_to_host(frame: Frame, owner: Value, framework: str, method: str) -> Value:
    """Return the array in host memory that a method gives: NumPy's own, if it says so.

    The copy of a mask is one.
    """
    role = Role.MASK if owner.role == Role.MASK else Role.NONE
    made = "numpy" if method == "numpy" else owner_on_host(frame, framework)
    return Value(HOST_ARRAY, made, role=role)


def owner_on_host(frame: Frame, framework: str) -> str:
    """Return whose the arrays are that a framework copies to the host: NumPy's, if it has none.

    So it is where NumPy's functions take the framework's arrays as they are.
    """
    return "numpy" if frame.analysis.knowledge.dispatches(framework, "") else framework
