"""Calls of functions of the checked code: their summaries stand for them.

A summary is instantiated with the arguments: a parameter that the function reads is read at the
call, and its result is put together from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from asyncguard.lint.contexts.effects import note_call, note_event, note_site
from asyncguard.lint.contexts.frame import MAX_DEPTH, Frame, evaluate
from asyncguard.lint.contexts.homes import enclosing_frame, host_of
from asyncguard.lint.contexts.iteration import first_device, placed_batch
from asyncguard.lint.contexts.passing import gives, passes
from asyncguard.lint.contexts.trainings import note_act
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import (
    FunctionInfo,
    Site,
    Summary,
    class_of,
    function_of,
)
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, on_parameter, together
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.reasons import CERTAIN, HIGH, MEDIUM, NAMED, Provenance
from asyncguard.lint.domain.values import (
    ARRAYS,
    CLASS,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    MODEL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Place,
    Role,
    Value,
    confirmed,
    container,
    from_params,
    with_role,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret import copies
from asyncguard.lint.interpret.arguments import bind_arguments, is_on_host
from asyncguard.lint.interpret.growth import note_added_by_call
from asyncguard.lint.interpret.learning import learn_from_function
from asyncguard.lint.interpret.moves import handed_paths, moved_dict, note_moved_by_call
from asyncguard.lint.interpret.narrowing import own_parameter
from asyncguard.lint.interpret.placement import hand_default, names_host
from asyncguard.lint.interpret.reads_of_calls import reads_of_call
from asyncguard.lint.interpret.registries import note_registered
from asyncguard.lint.interpret.ruling_out import constants, handed_on, ruling_out
from asyncguard.lint.interpret.types import instance_of
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import argument_paths, dotted, names_in
from asyncguard.model import Loop


def call_function(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a function whose body is at hand: its summary stands for it."""
    info = function_of(callee)
    arguments = _with_bound(node, callee, arguments)
    if type(info.node) is cst.Lambda:
        return inline(frame, node, info, arguments)
    edge = note_call(frame, info)
    note_event(frame, "call", node, callee=info)
    _note_decorated(frame, callee, arguments)
    hand_default(frame, info)
    summary = frame.analysis.summary_for(info)
    copies.after_call(frame, info, summary)
    _note_work(frame, summary)
    _note_runs(frame, node, info, arguments, summary)
    moved = note_moved_by_call(frame, node, info, arguments, summary.moved)
    bound = bind_arguments(info, arguments, callee.element)
    passes(frame, info, bound)
    for value in bound.values() if frame.parent is None else ():
        note_registered(frame, info, value)
    learn_from_function(frame, info, arguments, bound)
    if edge is not None and summary.keeps:
        edge.gives = gives(frame, summary.keeps, bound)
    given = constants(frame, info, arguments, bound)
    own = handed_on(frame, arguments, bound)
    if edge is not None:
        edge.handed, edge.handed_on = given, own
    if not summary.reads and not summary.added and summary.result == UNKNOWN_VALUE:
        return UNKNOWN_VALUE
    if summary.added:
        added = [(index, key, substitute(value, bound)) for index, key, value in summary.added]
        note_added_by_call(frame, handed_paths(node, info, arguments), added)
    passed = ruling_out(frame, info, arguments, bound) | given
    if edge is not None:
        if not frame.analysis.places_batches:
            edge.handed = Dependence(_on_host(info, arguments, bound))
        edge.handed |= passed
    reads_of_call(frame, node, _reads_for(frame, info, summary, bound, passed), bound, own)
    result = moved_dict(summary.result, moved)
    made = result or _instantiated(frame, summary.result, {**bound, **moved})
    return _of_class(info, callee, made)


def _reads_for(
    frame: Frame,
    info: FunctionInfo,
    summary: Summary,
    bound: Mapping[int, Value],
    passed: Dependence,
) -> tuple[Site, ...]:
    """Return what a function reads for a call that rules out some of it."""
    if _RUNS(info.name) and not info.qualname.startswith(f"{frame.function.qualname}."):
        return ()  # it reads them once a run, beside its steps
    reads = tuple(r for r in summary.reads if not r.params.is_ruled_out_by(passed))
    if info.hook != Loop.STEP:
        return reads
    reported = frozenset(summary.sites)  # reported there, or left to the calls
    return tuple(r for r in reads if r not in reported or _is_settled(r, bound))


def _note_decorated(frame: Frame, callee: Value, arguments: Arguments) -> None:
    """Note the classes of this file that a function is handed: `Fast = faster(Slow)`.

    It may be a decorator that is called by hand. What other files do to a class is not known in
    time.
    """
    for argument in arguments:
        if argument.value.kind == CLASS:
            cls = class_of(argument.value)
            if cls.module is frame.analysis and callee not in cls.decorators:
                cls.decorators += (callee,)


def _of_class(info: FunctionInfo, callee: Value, made: Value) -> Value:
    """Return what a class method makes: `cls(...)` is an instance of the class it is called on."""
    called_on = callee.element
    if not info.takes_class or made.ref is None or made.ref is not info.cls:
        return made
    on_class = called_on is not None and called_on.kind == CLASS
    return instance_of(class_of(called_on)) if on_class and called_on is not None else made


def _is_settled(read: Site, bound: Mapping[int, Value]) -> bool:
    """Whether a call settles a read that is in doubt: it hands a device value itself."""
    handed = (bound.get(param, UNKNOWN_VALUE) for param in read.params.on)
    return read.confidence < MEDIUM and all(value.kind == DEVICE for value in handed)


def _on_host(
    info: FunctionInfo, arguments: Arguments, bound: Mapping[int, Value]
) -> frozenset[int]:
    """Return the parameters that a call hands what is in host memory, or leaves `None`."""
    handed = {
        index
        for index, value in bound.items()
        if is_on_host(value) and not _is_accelerator(info.parameters[index].name, value)
    }
    if not any(argument.stars for argument in arguments):
        left = (i for i, p in enumerate(info.parameters) if p.may_be_none and i not in bound)
        handed.update(left)
    return frozenset(handed)


_DEVICE = family("parameter.device")


def _is_accelerator(parameter: str, value: Value) -> bool:
    """Whether a parameter is handed a device other than the host, as far as is known."""
    return value.kind == HOST and _DEVICE(parameter) and not names_host(value)


def _instantiated(frame: Frame, summarised: Value, bound: dict[int, Value]) -> Value:
    """Return the result of one call, of what the function returns in general."""
    result = _yielded(substitute(summarised, bound), bound.values())
    if result.kind == DEVICE and not result.params:
        frame.operation(result.framework)
    if result.confidence == NAMED and result.role == Role.MODEL_OUTPUT and frame.trains:
        return confirmed(result, result.why._replace(kind=Provenance.HOT_NAME))
    return result


def _yielded(result: Value, passed: Iterable[Value]) -> Value:
    """Return what a generator of batches gives that goes through one of these loaders."""
    if result.element is None or result.element.role is not Role.BATCH:
        return result
    loader = next((value for value in passed if value.role is Role.PLACED), None)
    return result if loader is None else result._replace(element=placed_batch(loader))


def _with_bound(node: cst.Call, callee: Value, arguments: Arguments) -> Arguments:
    """Return the arguments with those that `functools.partial` has bound."""
    if not (callee.items or callee.fields):
        return arguments
    before = [Argument("", 0, node.func, value) for value in callee.items or ()]
    by_name = [Argument(name, 0, node.func, value) for name, value in callee.fields]
    return [*before, *arguments, *by_name]


def _note_work(frame: Frame, summary: Summary) -> None:
    """Note what a function that is called does: it trains, runs a model, steps an environment."""
    if not summary.work:
        return
    if summary.work & Work.RUNS_MODEL:
        frame.nest.does(summary.work & Work.OF_CALLER)
    elif summary.work & Work.ENQUEUES:
        frame.nest.enqueues(Work.NONE)
    frame.nest.contains(summary.work & Work.LOOPS)
    frame.nest.loops_over(summary.work & Work.CONTAINS_TRAINING)
    if summary.work & Work.STEPS_ENVIRONMENT:
        note_act(frame)


def _note_runs(
    frame: Frame, node: cst.Call, info: FunctionInfo, arguments: Arguments, summary: Summary
) -> None:
    """Note that what is called runs a model, or a loop of its own in which it does so."""
    if info.hook == Loop.STEP and summary.work & Work.CONTAINS_RUNS:
        return  # a part of each step, whatever it goes over
    frame.nest.runs_what_repeats(summary.work & Work.CONTAINS_RUNS)
    if summary.work & Work.RUNS_MODEL:
        members = (names_in(a.node) for a in arguments if a.value.kind == MODEL)
        frame.nest.feeds(names_in(node.func).union(*members), argument_paths(node))


_RUNS = family("function.runs_steps")


def inline(frame: Frame, node: cst.Call, info: FunctionInfo, arguments: Arguments) -> Value:
    """Call a lambda: its one expression is evaluated for these very arguments."""
    enclosing = enclosing_frame(info)
    inner = Frame(
        host_of(info), info, parent=enclosing, speculative=frame.speculative, depth=frame.depth
    )
    inner.nest.loops = frame.loops  # it runs in them
    if frame.depth > MAX_DEPTH:
        return UNKNOWN_VALUE
    bound = bind_arguments(info, arguments, None)
    extra = [a.value for a in arguments if not a.keyword and not a.stars]
    for index, parameter in enumerate(info.parameters):
        value = bound.get(index, UNKNOWN_VALUE)
        if parameter.stars == 1:
            value = container(UNKNOWN_VALUE, tuple(extra[index:]))
        elif parameter.stars == 2:
            value = container(UNKNOWN_VALUE)
        elif index not in bound and parameter.default is not None and enclosing is not None:
            value = evaluate(enclosing, parameter.default)
        inner.env[parameter.name] = value
    inner.depth += 4
    result = evaluate(inner, info.node.body) if type(info.node) is cst.Lambda else UNKNOWN_VALUE
    for site in (*inner.sites, *(r for r in inner.reads if r not in inner.sites)):
        value = Value(DEVICE, site.point.framework, site.why, doubt=site.doubt, params=site.params)
        if site not in inner.sites:
            value = Value(params=site.params)
        note_site(frame, site.point, node, value, sink=site.sink, via=site, subject=node)
    if inner.nest.work & Work.RUNS_MODEL:
        frame.nest.does(Work.RUNS_MODEL)
    return result


def substitute(result: Value, bound: dict[int, Value], depth: int = 0) -> Value:
    """Put the arguments in the place of the parameters that a result came from."""
    if depth > 4 or (result.kind != CONTAINER and not result.params):
        return result
    passed = [bound[param] for param in sorted(result.params.on) if param in bound]
    if result.kind == DEVICE and passed and all(map(names_host, passed)):
        return Value(HOST_ARRAY, result.framework)  # made where it was told: `zeros(device="cpu")`
    if result.role is Role.MOVED:
        kept = next((v.role for v in passed if v.role in _KEPT), Role.MOVED)
        return with_role(from_params(result, INDEPENDENT), kept)
    if result.params and _says_little(result):
        made = _made_of(result, passed)
        if made is not None:
            return made
        if result.kind == UNKNOWN:
            return UNKNOWN_VALUE
    result = _with_parts(_computed_with(result, passed), bound, depth + 1)
    params = together(value.params for value in passed)
    return with_role(from_params(result, params), _role_with(result, passed))


def _says_little(result: Value) -> bool:
    """Whether arguments say more of a result than is known of it itself."""
    inferred = result.kind == DEVICE and result.confidence < MEDIUM
    return inferred or result.kind == UNKNOWN


def _role_with(result: Value, passed: list[Value]) -> Role:
    """Return the role of a result; one that may be anywhere is where an argument is."""
    placed = any(value.place is Place.DEVICE for value in passed)
    return Role.NONE if placed and result.place is Place.EITHER else result.role


def _made_of(result: Value, passed: list[Value]) -> Value | None:
    """Return what arguments say of a result of which little else is known."""
    merged = _joined(value for value in passed if _is_known(value))
    if merged is None or (result.kind == DEVICE and merged.kind == UNKNOWN):
        return None
    if result.role is Role.PART_OF_ARGUMENT and merged.kind == CONTAINER:
        held = first_device(merged)  # of what it holds
        merged = (merged.element or merged) if held.kind == CONTAINER else held
    role = Role.MASK if result.role == Role.MASK and merged.kind in ARRAYS else Role.NONE
    given = result.role == Role.GIVEN or merged.role is Role.SLICE
    return merged._replace(role=merged.role if given else role, literal=None)


_KEPT = frozenset({Role.MASK, Role.INDICES})  # wherever such an array is moved


def as_given(frame: Frame, node: cst.BaseExpression | None, value: Value) -> Value:
    """Return what is returned; of an argument, as it was handed or moved, with a note of that."""
    if type(node) is cst.Tuple and value.items is not None:
        items = zip(node.elements, value.items, strict=False)
        parts = tuple(as_given(frame, element.value, item) for element, item in items)
        return value._replace(items=parts) if len(parts) == len(value.items) else value
    while value.role is Role.MOVED and type(node) is cst.Call and type(node.func) is cst.Attribute:
        node = node.func.value
    index = own_parameter(frame, dotted(node)) if type(node) is cst.Name else -1
    if index < 0 or value.kind not in (UNKNOWN, DEVICE):
        return value
    if value.role is Role.MOVED:
        return from_params(value, on_parameter(index))
    given = value.kind == UNKNOWN and value.role is Role.NONE
    return with_role(value, Role.GIVEN) if given else value


def _with_parts(result: Value, bound: dict[int, Value], depth: int) -> Value:
    """Put the arguments in the place of parameters in what a result holds."""
    element, items = result.element, result.items
    if element is None and not items and not result.fields:
        return result
    return result._replace(
        element=element and substitute(element, bound, depth),
        items=items and tuple(substitute(item, bound, depth) for item in items),
        fields=result.fields.mapped(lambda value: substitute(value, bound, depth)),
    )


def _joined(values: Iterable[Value]) -> Value | None:
    merged: Value | None = None
    for value in values:
        merged = value if merged is None else join(merged, value)
    return merged


def _is_known(value: Value) -> bool:
    """Whether an argument says something of a result that came from it."""
    return value.kind in (DEVICE, HOST_ARRAY, CONTAINER, HOST) or bool(value.params)


def _computed_with(result: Value, passed: list[Value]) -> Value:
    """Return what is computed with these arguments: it is where they are."""
    if result.kind == HOST_ARRAY:
        return next((value for value in passed if value.kind == DEVICE), result)
    if result.kind == DEVICE and _is_computed_there(passed, result):
        return Value(HOST_ARRAY, result.framework, role=result.role)
    return result


def _is_computed_there(passed: list[Value], result: Value) -> bool:
    """Whether what is computed with these arguments is in host memory, as one of them is for sure.

    A framework does not mix the two; a batch may have been moved out of sight.
    """
    moved = result.role == Role.MOVED
    if moved or any(value.params or first_device(value).kind == DEVICE for value in passed):
        return False
    there = (v for v in passed if v.kind == HOST_ARRAY and v.framework == result.framework)
    open_ = result.place is Place.EITHER or _is_as_declared(result)
    enough = MEDIUM if open_ else HIGH
    return any(value.confidence >= enough and value.role != Role.BATCH for value in there)


def _is_as_declared(result: Value) -> bool:
    """Whether nothing but the declared type of an argument says where a result is."""
    return bool(result.params) and result.why.kind in (CERTAIN.kind, Provenance.ANNOTATION)


def run_given(frame: Frame, arguments: Arguments) -> None:
    """Note what a function does that is handed over to be run at once: `strategy.run(step)`."""
    info = arguments[0].value.ref if arguments else None
    if isinstance(info, FunctionInfo):
        note_call(frame, info)
        if frame.analysis.summary_for(info).work & Work.GRADIENTS:
            frame.nest.does(Work.STEP)


def mark_compiled(frame: Frame, arguments: Arguments) -> None:
    """`jit(f)` traces f: nothing in it waits at run time."""
    info = arguments[0].value.ref if arguments else None
    if isinstance(info, FunctionInfo):
        frame.compiles.add(info)
        if frame.parent is None and info.module is frame.analysis:
            info.compiled = True  # known before anything of the file is run
