"""What calls return, what they read, and what they say about the loop around them.

A call goes by what is called: a name known to the catalogue, a function of the checked code (its
summary says what it returns and which arguments it reads), a model, or a method of a value. Each
path first notes the sites of the call, then says what it returns.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.catalogue import Condition, SyncPoint, Trigger
from asyncguard.lint import builtin_calls, guards, loops
from asyncguard.lint.expressions import (
    CALLABLE,
    DESCRIBES,
    attribute_of,
    chosen_from_device,
    element_of,
    first_device,
    instance_of,
    protocol_site,
)
from asyncguard.lint.frames import MAX_DEPTH, Frame, LoopRecord, Site, evaluate, handles
from asyncguard.lint.program import ClassInfo, FunctionInfo
from asyncguard.lint.screen import HARMLESS
from asyncguard.lint.tree import dotted
from asyncguard.lint.values import (
    ACTION,
    ANSWER,
    ARRAYS,
    BATCH,
    CLASS,
    CONTAINER,
    DEVICE,
    DICT,
    EITHER,
    FUNCTION,
    GRADIENT,
    HIGH,
    HINTED,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INDICES,
    INSTANCE,
    LOW,
    MASK,
    MEDIUM,
    MODEL,
    MOVED,
    NAMED,
    NONE_VALUE,
    PAIRS,
    PLACE,
    STRUCTURE,
    SUPER,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    WHEREVER,
    Value,
    container,
    device,
    join,
    named,
    part_of,
    somewhere,
    weaken,
)
from asyncguard.lint.words import naming
from asyncguard.model import Confidence, Device, Loop, SyncKind


class Argument(NamedTuple):
    """One argument of a call; `stars` is 0, 1 (`*args`) or 2 (`**kwargs`)."""

    keyword: str
    stars: int
    node: cst.BaseExpression
    value: Value


Arguments = Sequence[Argument]


@handles(cst.Call)
def call(frame: Frame, node: cst.Call) -> Value:
    """A call: evaluate what is called, then the arguments, then decide."""
    guard = guards.of_call(frame, node)
    if guard is None:
        return _called(frame, node)
    with frame.guarded(guard):
        return _called(frame, node)


def _called(frame: Frame, node: cst.Call) -> Value:
    func = node.func
    if frame.loops and loops.names_epochs(node):
        frame.loops[-1].inner = frame.loops[-1].trainings = True
    if type(func) is cst.Attribute:
        path = dotted(func)
        stored = frame.lookup(path) if path else None
        if stored is None or stored.kind == UNKNOWN:
            owner = evaluate(frame, func.value)
            arguments = _arguments(frame, node)
            return call_method(frame, node, owner, func, arguments)
        return call_value(frame, node, stored, _arguments(frame, node))
    callee = evaluate(frame, func)
    if frame.loops and type(func) is cst.Name and func.value in frame.loops[-1].targets:
        frame.loops[-1].transparent = True  # it goes over functions
    if type(func) is cst.Call and _differentiates(frame, func.func):
        frame.evidence(strong=True, update=False, asked=True)
    return call_value(frame, node, callee, _arguments(frame, node))


def _differentiates(frame: Frame, func: cst.BaseExpression) -> bool:
    """Whether what this makes of a function runs a training step: `jax.grad(f)(x)`."""
    with frame.quiet():
        made = evaluate(frame, func)
    known = frame.analysis.knowledge.step_functions
    return made.kind == SYMBOL and known.find(made.name) is not None


def _arguments(frame: Frame, node: cst.Call) -> list[Argument]:
    """Evaluate the arguments; `*args` of known length counts as that many, a known dict by keys."""
    found: list[Argument] = []
    for a in node.args:
        value = evaluate(frame, a.value)
        frame.hand_over(value)
        if a.star == "*" and value.kind == CONTAINER and value.items is not None:
            found.extend(Argument("", 0, a.value, item) for item in value.items)
        elif a.star == "**" and value.kind == CONTAINER and value.fields:
            found.extend(Argument(key, 0, a.value, item) for key, item in value.fields)
        else:
            found.append(
                Argument(a.keyword.value if a.keyword else "", len(a.star), a.value, value)
            )
    return found


def call_value(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call something that is no method."""
    if callee.kind == SYMBOL:
        return call_symbol(frame, node, callee.name, arguments)
    if callee.kind == FUNCTION:
        return call_function(frame, node, callee, arguments)
    if callee.kind == EITHER and callee.items:
        results = [call_value(frame, node, function, arguments) for function in callee.items]
        return functools.reduce(join, results)
    if callee.kind == CLASS:
        frame.call(callee.ref.lookup("__init__"))
        return instance_of(callee.ref)
    if callee.kind in CALLABLE or callee.kind == DEVICE:
        # What is called cannot be an array, whatever its name suggests: `loss(y_hat, y)`.
        return call_model(frame, node, callee, arguments)
    if isinstance(callee.ref, ClassInfo) and (method := callee.ref.lookup("__call__")):
        return call_function(frame, node, Value(FUNCTION, ref=method, element=callee), arguments)
    answer = opaque(frame, node, arguments)
    return _computed(frame, dotted(node.func), arguments) or answer


_WAITS = naming(r"sync|wait|barrier|block", re.IGNORECASE)


def opaque(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """Note a call out of sight if it may wait: it is handed a device value, or is named so.

    What one gives that is handed none, its name says little of: losses of a whole step are numbers.
    """
    name = node.func.attr.value if type(node.func) is cst.Attribute else dotted(node.func)
    given = _any_device(arguments)
    if given and frame.loops:
        frame.loops[-1].ops = True
    if given or _WAITS(name):
        frame.event("opaque", node)
    if (made := _of_parameters(frame, name, arguments)).kind == DEVICE:
        return made
    unknown = given or any(
        a.value.kind in (UNKNOWN, CONTAINER) and a.value.params for a in arguments
    )
    return UNKNOWN_VALUE if unknown else Value(name=ANSWER)


def _any_device(arguments: Arguments) -> bool:
    """Whether a device value is handed over."""
    return any(first_device(a.value).kind == DEVICE for a in arguments)


# ---- models and optimizers


def call_model(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """A model's or criterion's output is a device value; calling one is device work."""
    made = callee.kind == MODEL and type(node.func) is cst.Call
    if made and not isinstance(callee.ref, FunctionInfo) and not _any_device(arguments):
        known = frame.analysis.knowledge.frameworks.get(callee.framework)
        if known is not None and known.graph_functions:
            return UNKNOWN_VALUE  # a layer that is made in passing makes a node of a graph
    if callee.name == GRADIENT:
        frame.evidence(strong=True, update=False, asked=True)
    frame.evidence()
    for argument in arguments:
        if argument.value.kind == UNKNOWN and type(argument.node) is cst.Subscript:
            chosen_from_device(frame, argument.node, callee.framework)
    if not any(a.value.kind == HOST_ARRAY and a.value.framework != "numpy" for a in arguments):
        frame.event("work", node, callee.framework)  # else the model is in host memory as well
    if isinstance(callee.ref, ClassInfo):
        for name in ("forward", "__call__", "hybrid_forward"):
            method = callee.ref.lookup(name)
            if method is not None:
                bound = Value(FUNCTION, ref=method, element=callee)
                result = call_function(frame, node, bound, arguments)
                if result.kind not in (UNKNOWN, HOST):
                    return result
                break
    if isinstance(callee.ref, FunctionInfo):
        if frame.analysis.summary_for(frame, callee.ref).trained:
            frame.evidence(strong=True)
        elif frame.loops and frame.loops[-1].step_name:
            frame.loops[-1].loader = max(frame.loops[-1].loader, LOW)  # one step is compiled
        return compiled_result(frame, callee.ref, callee.framework)
    output = device(callee.framework, callee.confidence)
    return output if callee.kind == "criterion" else output._replace(name=STRUCTURE)


def compiled_result(frame: Frame, info: FunctionInfo, framework: str) -> Value:
    """Whatever a compiled function makes comes out as device values, in the same containers."""
    return _on_device(frame.analysis.summary_for(frame, info).result, framework)


def _on_device(result: Value, framework: str) -> Value:
    if result.kind == CONTAINER:
        element = _on_device(result.element, framework) if result.element else result.element
        items = result.items and tuple(_on_device(item, framework) for item in result.items)
        fields = tuple((key, _on_device(value, framework)) for key, value in result.fields)
        return Value(CONTAINER, element=element, items=items, fields=fields)
    plain = result.kind == DEVICE and result.name != STRUCTURE
    return Value(DEVICE, framework, name="" if plain else STRUCTURE)


# ---- functions of the checked code


def call_function(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a function whose body is at hand: its summary stands for it."""
    info: FunctionInfo = callee.ref
    if callee.items or callee.fields:  # `functools.partial` has bound these
        before = [Argument("", 0, node.func, value) for value in callee.items or ()]
        bound_by_name = [Argument(name, 0, node.func, value) for name, value in callee.fields]
        arguments = [*before, *arguments, *bound_by_name]
    if type(info.node) is cst.Lambda:
        return inline(frame, node, info, arguments)
    if len(arguments) > 1 and arguments[0].value.kind == FUNCTION and _MAPS(info.name):
        return mapped_structure(frame, node, arguments)
    edge = frame.call(info)
    frame.event("call", node, callee=info)
    summary = frame.analysis.summary_for(frame, info)
    if summary.trained:
        frame.evidence(strong=True, update=summary.updates, asked=not summary.stepped)
    if summary.step_loops:
        frame.contains_steps()
    frame.rounds |= summary.rounds
    if summary.works:
        frame.evidence()
    if summary.acts:
        _act(frame)
    if not summary.reads and summary.result == UNKNOWN_VALUE:
        return UNKNOWN_VALUE
    bound = bind_arguments(info, arguments, callee.element)
    if edge is not None and not frame.analysis.places_batches:
        edge.spared = frozenset(index for index, value in bound.items() if _on_host(value))
    reads = summary.reads
    asked = {param for read in reads for param in read.params if param < 0}
    if given := frozenset(param for param in asked if _is_given_to(frame, bound.get(~param))):
        reads = tuple(read for read in reads if given.isdisjoint(read.params))
        if edge is not None:
            edge.spared |= given
    if info.hook == Loop.STEP:
        reads = tuple(read for read in reads if read not in summary.sites)  # reported there
    reads_of_call(frame, node, reads, bound)
    result = substitute(summary.result, bound)
    if result.kind == DEVICE and not result.params:
        frame.operation(result.framework)
    if result.confidence == NAMED and result.name == STRUCTURE and frame.trains:
        return result._replace(confidence=MEDIUM)
    return result


def _is_given_to(frame: Frame, value: Value | None) -> bool:
    """Whether an argument is not left out, by the caller's caller either, nor on the device."""
    if value is None or value == NONE_VALUE or value.kind == DEVICE:
        return False
    own = frame.function.parameters if frame.function is not None and value.params else ()
    return not any(own[p].may_be_none for p in value.params if 0 <= p < len(own))


_MAPS = naming(r"(^|_)(tree|nest(ed)?|structure|recursive(ly)?)_?map|map_(structure|tree|nest)")


def inline(frame: Frame, node: cst.Call, info: FunctionInfo, arguments: Arguments) -> Value:
    """Call a lambda: its one expression is evaluated for these very arguments."""
    inner = Frame(info.module, info, parent=info.closure, silent=frame.silent, depth=frame.depth)
    inner.loops = frame.loops  # it runs in them
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
        elif index not in bound and parameter.default is not None and info.closure is not None:
            value = evaluate(info.closure, parameter.default)
        inner.env[parameter.name] = value
    inner.depth += 4
    result = evaluate(inner, info.node.body) if type(info.node) is cst.Lambda else UNKNOWN_VALUE
    for site in (*inner.sites, *(r for r in inner.reads if r not in inner.sites)):
        value = Value(DEVICE, site.point.framework, site.confidence, params=site.params)
        if site not in inner.sites:
            value = Value(params=site.params)
        frame.site(site.point, node, value, sink=site.sink, via=site, subject=node)
    if inner.works:
        frame.evidence()
    return result


def reads_of_call(
    frame: Frame, node: cst.Call, reads: Sequence[Site], bound: dict[int, Value]
) -> None:
    """Note a site at the call for each read of an argument that is a device value here."""
    for read in reads:
        if read.guarded or read.loop == Loop.STEP:  # rare, or reported where it stands
            continue
        for param in read.params:
            value = bound.get(param, UNKNOWN_VALUE)
            if not read.whole:
                value = first_device(value)
            elif value.name == STRUCTURE and not read.compared:
                value = weaken(value, LOW)  # it may as well be a dict or a tuple of device values
            if read.point.kind == SyncKind.TEXT and value.name in (STRUCTURE, HINTED):
                continue  # which may be text already
            if not _reads(value):
                continue
            point = frame.analysis.translate(read.point, value.framework)
            if point is not None:
                frame.site(
                    point, node, value, sink=read.sink, whole=read.whole, via=read, subject=node
                )
            break


def bind_arguments(
    info: FunctionInfo, arguments: Arguments, owner: Value | None
) -> dict[int, Value]:
    """Match arguments with parameters, by position and keyword."""
    offset = 1 if owner is not None and info.has_self else 0
    bound: dict[int, Value] = {}
    if offset and owner is not None:
        bound[0] = owner
    index = {parameter.name: i for i, parameter in enumerate(info.parameters)}
    position = offset
    for argument in arguments:
        if argument.keyword:
            at = index.get(argument.keyword)
        elif argument.stars:
            continue
        else:
            at = min(position, len(info.parameters) - 1) if info.parameters else None
            if at is not None and at != position and info.parameters[at].stars != 1:
                at = None
            position += 1
            for i, parameter in enumerate(info.parameters):
                if parameter.stars == 1 and position - 1 >= i:
                    at = i
        if at is not None:
            before = bound.get(at)
            bound[at] = argument.value if before is None else _either(before, argument.value)
    return bound


def _either(left: Value, right: Value) -> Value:
    """Return the one of several `*args` that matters: a device value."""
    return right if right.kind == DEVICE and left.kind != DEVICE else left


def substitute(result: Value, bound: dict[int, Value], depth: int = 0) -> Value:
    """Put the arguments in the place of the parameters that a result came from."""
    if depth > 4 or (result.kind != CONTAINER and not result.params):
        return result
    told = result.kind == DEVICE and result.confidence < MEDIUM
    if (result.kind == UNKNOWN or told) and result.params:
        merged: Value | None = None
        for param in result.params:
            value = bound.get(param)
            if (value is not None and value.kind in (DEVICE, HOST_ARRAY, CONTAINER, HOST)) or (
                value is not None and value.params
            ):
                merged = value if merged is None else join(merged, value)
        if merged is not None and not (told and merged.kind == UNKNOWN):
            mask = result.name == MASK and merged.kind in ARRAYS
            return merged._replace(name=MASK if mask else "", literal=None)
        if not told:
            return UNKNOWN_VALUE
    params: frozenset[int] = frozenset().union(
        *(bound[p].params for p in result.params if p in bound)
    )
    passed = [bound[p] for p in result.params if p in bound]
    if result.kind == HOST_ARRAY:  # what is computed with a parameter
        result = next((value for value in passed if value.kind == DEVICE), result)
    elif result.kind == DEVICE and _is_computed_there(passed, result):
        result = Value(HOST_ARRAY, result.framework, name=result.name)
    element = substitute(result.element, bound, depth + 1) if result.element else result.element
    items = (
        tuple(substitute(item, bound, depth + 1) for item in result.items)
        if result.items is not None
        else None
    )
    fields = tuple((k, substitute(v, bound, depth + 1)) for k, v in result.fields)
    known = result.name == WHEREVER and any(
        bound[p].is_device and bound[p].name != WHEREVER for p in result.params if p in bound
    )
    name = "" if known else result.name
    return result._replace(params=params, element=element, items=items, fields=fields, name=name)


def _is_computed_there(passed: list[Value], result: Value) -> bool:
    """Whether what is computed with these arguments is in host memory, as one of them is for sure.

    A framework does not mix the two; a batch may have been moved out of sight.
    """
    moved = result.name == MOVED
    if moved or any(value.params or first_device(value).kind == DEVICE for value in passed):
        return False
    there = (v for v in passed if v.kind == HOST_ARRAY and v.framework == result.framework)
    return any(value.confidence == HIGH and value.name != BATCH for value in there)


# ---- names that the catalogue may know


def call_symbol(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Call something imported or builtin."""
    knowledge = frame.analysis.knowledge
    if name == "super":
        return Value(SUPER, ref=frame.function.cls)
    if "." in name and (cls := frame.analysis.called_class(frame, name)) is not None:
        return instance_of(cls)
    if "." in name and (function := frame.analysis.called_function(frame, name)) is not None:
        return call_value(frame, node, function, arguments)
    for point in knowledge.sync_functions.get(name, ()):
        if not _conditions_hold(frame, point, arguments) or _is_there(point, arguments):
            continue
        if (value := blocking_value(frame, point, arguments)) is not None:
            if point.kind == SyncKind.ARRAY:
                frame.operation(point.framework)  # what it fetches was computed there
            frame.site(point, node, value, subject=node)
            break
    if knowledge.step_functions.find(name) and (frame.loops or not knowledge.compiled.find(name)):
        # What a transformation makes may be called later.
        asked = "grad" in name
        frame.evidence(strong=True, update=not asked, asked=asked)
    if name in knowledge.clocks:
        frame.event("clock", node)
    if name in _ASKS and frame.loops:
        frame.loops[-1].once = True
    if name == "next":
        loops.note_draw(frame, node)
    if trigger := knowledge.trigger(name):
        trigger_sites(frame, node, trigger, _compared(frame, node, arguments))
    if len(arguments) > 1 and name == "map":
        return mapped(frame, node, arguments)
    if len(arguments) > 1 and name in knowledge.tree_maps:
        result = mapped_structure(frame, node, arguments)
        if result.kind != UNKNOWN or result.params:
            return result
    if special := builtin_calls.result(frame, name, arguments):
        return special
    if knowledge.compiled.find(name):
        mark_compiled(arguments)
    result = symbol_result(frame, name, arguments)
    frame.prepares |= result.kind == "optimizer" and frame.context() == (Loop.NONE, False)
    if result.kind == DEVICE:
        frame.event("work", node, result.framework)
    elif result.kind == UNKNOWN and name not in HARMLESS:
        frame.call_by_name(name.rpartition(".")[2])
        opaque(frame, node, arguments)
        made = _of_parameters(frame, name, arguments)
        imported = made.kind == UNKNOWN and "." in name
        return (_computed(frame, name, arguments) if imported else None) or made
    return result


# Names of a model's parameters, and of the parts of it that are some; others count or choose.
_PARAMETERS = naming(
    r"(^|\.)_?(?!(num|n|count|total|hyper|config|meta)_)(\w+_)?params"
    r"(_(actor|critic|policy|value|q|model|net|online|target))*$|(^|\.)variables$"
)
# Names of a training state, and of the functions that are handed one to run a step.
_STATE = naming(r"(^|[._])state$")
_STEPS = naming(
    r"^_*(p|jit|jitted|pmap|pmapped|parallel)?_?((train|eval|valid|val|test)\w*_)?step(_fn|_jit|_p)?$"
    r"|(^|_)(train|eval|infer|predict|forward|loss)_(fn|jit|batch)$"
)
_NO_MODEL = naming(r"count|size|num|name|path|print|log|summar|save|load|create|make|build|spec")


def _of_parameters(frame: Frame, name: str, arguments: Arguments) -> Value:
    """Return what a function out of sight makes of a model's parameters, which it is handed.

    Where a framework's training state is passed around, that runs the model in a training step.
    """
    framework = frame.analysis.knowledge.functional_of(frame.analysis.frameworks)
    if not framework:
        return UNKNOWN_VALUE
    last = name.rpartition(".")[2]
    given = any(_PARAMETERS(dotted(argument.node)) for argument in arguments)
    if not given and _STEPS(last):
        given = any(_STATE(dotted(argument.node)) for argument in arguments)
    if not given or len(arguments) < 2 or _NO_MODEL(last.lower()):
        return UNKNOWN_VALUE
    frame.operation(framework)
    return Value(DEVICE, framework, MEDIUM if frame.trains else NAMED, STRUCTURE)


# What says, shows or keeps something, or brings it to the host.
_TELLS = naming(
    r"(^|_)(print|log|summar\w*|save|load|write|plot|show|draw|render|visuali[sz]e|report|dump|send|put"
    r"|push|add|make|create|build|from|envs?|sim|game|step|reset|image|images|video|grid|check|eval|evaluate|score|scores)"
    r"(_|$)"
)


_ELSEWHERE = sys.stdlib_module_names | {
    "PIL", "cv2", "datasets", "gym", "gymnasium", "h5py", "imageio", "matplotlib", "nltk", "pandas",
    "scipy", "seaborn", "skimage", "sklearn", "tensorflow", "torch", "torchvision", "tqdm",
    "transformers", "wandb",
}  # fmt: skip


def _computed(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """Return what a function out of sight computes of device values, where functions are pure."""
    held = (first_device(a.value) for a in arguments)
    given = next((v for v in held if v.kind == DEVICE and v.confidence >= MEDIUM), None)
    if given is None or name.partition(".")[0] in _ELSEWHERE:
        return None
    *owners, last = name.split(".")
    if (
        not last
        or any(part[:1].isupper() for part in (*owners, last))
        or loops.TO_HOST(last)
        or _TELLS(last.lower())
    ):
        return None
    if not frame.analysis.knowledge.functional_of((given.framework,)):
        return None
    return Value(DEVICE, given.framework, MEDIUM if frame.trains else NAMED, STRUCTURE)


_ASKS = frozenset({"input", "raw_input", "six.moves.input"})  # and wait for who answers


def _compared(frame: Frame, node: cst.Call, arguments: Arguments) -> Arguments:
    """`max(xs, key=f)` compares what f gives for each element, and not the elements."""
    key = next((a for a in arguments if a.keyword == "key"), None)
    if key is None or key is arguments[0]:
        return arguments
    element = arguments[0]._replace(value=builtin_calls.loop_element(frame, arguments[0].value))
    given = first_device(call_value(frame, node, key.value, [element]))
    return [element._replace(value=container(weaken(given, MEDIUM)))]


def mapped(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`map(f, xs, ys)` calls f with an element of each."""
    given = [a for a in arguments[1:] if not a.keyword]
    elements = [a._replace(value=builtin_calls.loop_element(frame, a.value)) for a in given]
    origin = builtin_calls.source_of(given[0].value)
    loader = origin.confidence if origin.kind == "loader" else -1
    frame.loops.append(LoopRecord(node, loader=loader, transparent=True))
    frame.hand_over(arguments[0].value)
    element = call_value(frame, node, arguments[0].value, elements)
    frame.loops.pop()
    return builtin_calls.wrapping(given[0].value, element)


def mapped_structure(frame: Frame, node: cst.Call, arguments: Arguments) -> Value:
    """`tree_map(f, xs)` calls f with each value that xs holds, and returns a structure like xs."""
    given = [a for a in arguments[1:] if not a.keyword]
    leaves = [a._replace(value=leaf(a.value)) for a in given]
    result = call_value(frame, node, arguments[0].value, leaves)
    if result.kind == UNKNOWN and _brings_to_host(arguments[0].value):
        result = Value(HOST_ARRAY, "numpy", MEDIUM)
    tree = given[0].value if given else UNKNOWN_VALUE
    if result.kind == UNKNOWN or tree.kind != CONTAINER:
        return result
    if len(given) > 1 or not tree.fields:
        return container(result)
    function = arguments[0].value
    with frame.quiet():
        fields = tuple(
            (key, call_value(frame, node, function, [given[0]._replace(value=leaf(value))]))
            for key, value in tree.fields
        )
    return container(result)._replace(name=tree.name, fields=fields)


def _brings_to_host(function: Value) -> bool:
    """Whether a lambda calls a method named after what is in host memory: `x._numpy()`."""
    node = function.ref.node if isinstance(function.ref, FunctionInfo) else None
    body = node.body if type(node) is cst.Lambda else None
    called = body.func if type(body) is cst.Call else None
    return type(called) is cst.Attribute and loops.TO_HOST(called.attr.value)


def leaf(tree: Value) -> Value:
    """Return what a tree of values holds, no containers: device values, if any are known in it."""
    found = _innermost(first_device(tree))
    if found.kind == CONTAINER:
        return Value(params=found.params)
    return found._replace(name=MASK if found.name == MASK else "")


def _innermost(value: Value) -> Value:
    """Return what containers of containers hold in the end, as far as it is known."""
    while value.kind == CONTAINER and value.element is not None:
        value = value.element
    return value


def mark_compiled(arguments: Arguments) -> None:
    """`jit(f)` traces f: nothing in it waits at run time."""
    for argument in arguments[:1]:
        if isinstance(argument.value.ref, FunctionInfo):
            argument.value.ref.compiled = True


def symbol_result(frame: Frame, name: str, arguments: Arguments) -> Value:
    """Return what the catalogue says that a call of `name` returns."""
    knowledge = frame.analysis.knowledge
    found = knowledge.returns.find(name) or knowledge.types.find(name)
    if found is not None and found == (HOST_ARRAY, "numpy"):
        last = name.rpartition(".")[2]
        for argument in arguments:
            value = first_device(argument.value)
            listed = argument.value.kind == CONTAINER or value.name == HINTED
            own = "" if listed else last  # a list has no such methods
            if value.kind == DEVICE and knowledge.dispatches(value.framework, own):
                frame.operation(value.framework)
                return device(value.framework, value.confidence, value.params)
    if found is None:
        return HOST_VALUE if knowledge.framework_of(name) == "numpy" else UNKNOWN_VALUE
    kind, framework = found
    if kind == DEVICE and framework not in (
        *frame.analysis.frameworks,
        knowledge.framework_of(name),
    ):
        return UNKNOWN_VALUE  # of a library that other frameworks' arrays can be given to as well
    operands = [argument.value for argument in arguments]
    last = name.rpartition(".")[2]
    if kind == "device_or_host":
        return as_mask(frame, placed(frame, framework, arguments), last, operands, arguments)
    if name in knowledge.registers.get(framework, NOTHING):
        return device(framework)
    if kind == "leaves":  # what it makes of those of a tree is where they are
        if any(leaf(value).kind == HOST for value in operands[1:2]):
            return HOST_VALUE
        kind = DEVICE
    if kind == DEVICE:
        frame.operation(framework)
        uploads = knowledge.frameworks[framework].asynchronous_cpu
        made = _device_result(framework, arguments, uploads=uploads)
        moves = last in knowledge.keeps_masks.get(framework, NOTHING) and "_like" not in last
        if made.name == WHEREVER and not moves:
            made = made._replace(name="")  # it computes, which is done on the device
        return as_mask(frame, made, last, operands, arguments)
    if kind == HOST_ARRAY:
        if name in _GIVE_ONE and _gives_one(name, arguments):
            return weaken(HOST_VALUE, MEDIUM)  # an action, maybe, like one that a policy gives
        return as_mask(frame, Value(HOST_ARRAY, framework), last, operands, arguments)
    if kind == HOST and framework != "numpy" and arguments:  # a device, say
        place = arguments[0].value.literal
        return Value(HOST, literal=place if isinstance(place, str) else None)
    if kind == CONTAINER and any(argument.keyword for argument in arguments):
        return builtin_calls.result(frame, "dict", arguments) or UNKNOWN_VALUE
    if kind == "progress" and arguments:
        inner = builtin_calls.opened(frame, arguments[0].value)
        return Value(kind, framework, inner.confidence, element=inner)
    if kind in (MODEL, "criterion") and arguments:
        inner = arguments[0].value
        if knowledge.compiled.find(name) is not None:
            traced = inner.kind == FUNCTION and type(inner.ref.node) is not cst.Lambda
            asks = inner.name == GRADIENT or knowledge.step_functions.find(name) is not None
            asked = GRADIENT if asks else ""
            return Value(kind, framework, name=asked, ref=inner.ref if traced else None)
        if isinstance(inner.ref, FunctionInfo) or inner.kind == MODEL:
            return Value(
                kind, inner.framework or framework, ref=inner.ref if inner.kind == MODEL else None
            )
    return frame.analysis.named(kind, framework, HIGH)


# Functions of NumPy that give a number, and with how many arguments at most.
_GIVE_ONE = {
    "numpy.random.choice": 1,
    "numpy.random.randint": 2,
    "numpy.random.rand": 0,
    "numpy.random.random": 0,
    "numpy.random.uniform": 2,
    "numpy.random.normal": 2,
    "numpy.argmax": 1,
    "numpy.argmin": 1,
}


def _gives_one(name: str, arguments: Arguments) -> bool:
    """Whether a call of one of these gives a number: it asks for no size and no axis."""
    plain = sum(1 for argument in arguments if not argument.keyword)
    sized = any(a.keyword in ("size", "axis") for a in arguments)
    return plain <= _GIVE_ONE[name] and not sized


def _device_result(framework: str, arguments: Arguments, *, uploads: bool) -> Value:
    """A device function of host tensors only stays there, unless it `uploads` them."""
    held = [first_device(argument.value) for argument in arguments]
    placed = (v for v in held if v.kind == DEVICE and v.name != WHEREVER)
    confidence = max((v.confidence for v in placed), default=LOW)
    arrays = [_first_array(argument.value) for argument in arguments]
    on_host = any(array is not None and array.framework == framework for array in arrays)
    listed = bool(arguments) and arguments[0].value.kind == CONTAINER  # all are in one place
    if on_host and confidence < (HIGH if listed else MEDIUM) and not uploads:
        return Value(HOST_ARRAY, framework)  # what else it is given is no tensor on the device
    known = [value for value in held if value.kind == DEVICE]
    if known:
        made = device(framework, max(confidence, MEDIUM))
        told = all(value.name == WHEREVER for value in known)
        return made._replace(name=WHEREVER) if told else made
    unknown = held and all(value.kind in (UNKNOWN, CONTAINER, HOST) for value in held)
    return somewhere(framework, HIGH if uploads else MEDIUM) if unknown else device(framework, HIGH)


def _on_host(value: Value) -> bool:
    """Whether a value is, or holds, an array in host memory, and none on the device.

    Or a number that was read before, but none that stands for anything: `None`, 0.
    """
    if value.kind == HOST:
        return value.name not in ("literal", "None")
    return _first_array(value) is not None and first_device(value).kind != DEVICE


def _first_array(value: Value) -> Value | None:
    if value.kind == HOST_ARRAY:
        return value
    if value.kind == CONTAINER and value.items is not None:
        return next(filter(None, map(_first_array, value.items)), None)
    if value.kind == CONTAINER and value.element is not None:
        return _first_array(value.element)
    return None


CPU_WORDS = ("cpu",)


def placed(frame: Frame, framework: str, arguments: Arguments) -> Value:
    """A tensor made by a factory lives where `device=` says; without it, on the host."""
    known = frame.analysis.knowledge.frameworks[framework]
    if known.asynchronous_cpu:
        frame.operation(framework)
        return device(framework)
    for argument in arguments:
        if argument.keyword in ("device", "map_location", "ctx"):
            where = argument.value
            if isinstance(where.literal, str) and where.literal.startswith(CPU_WORDS):
                return Value(HOST_ARRAY, framework)
            if where.name == "None":
                continue
            return device(framework, HIGH if where.kind != UNKNOWN else MEDIUM)
    if any(a.stars == 2 for a in arguments):
        return device(framework, LOW)
    if frame.analysis.device == Device.ACCELERATOR:
        return device(framework, MEDIUM)
    return Value(HOST_ARRAY, framework, MEDIUM)


# ---- blocking functions


def _is_uploaded(value: Value, *, typed: bool) -> bool:
    """Whether a value is in host memory still, as far as is known of it."""
    held = first_device(value)
    if held.kind == CONTAINER:
        return held.element is not None or held.items is not None
    doubtful = held.confidence < MEDIUM or held.name == WHEREVER
    unknown = held.kind == UNKNOWN or (held.kind == DEVICE and doubtful)
    return held.kind in (HOST, HOST_ARRAY) or (typed and unknown)


def _is_given(point: SyncPoint, wanted: tuple[int | str, ...], arguments: Arguments) -> bool:
    """Whether a method is given what it waits for: device values to read, or lists to upload."""
    given = [a.value for a in _selected(wanted, arguments) if not a.stars]
    if point.kind == SyncKind.UPLOAD:
        return any(value.kind in _UPLOADED for value in given)
    return any(_reads(first_device(value)) for value in given)


_UPLOADED = frozenset({CONTAINER, HOST_ARRAY})


def _reads(value: Value) -> bool:
    return value.kind == DEVICE or (value.kind == UNKNOWN and bool(value.params))


def _is_there(point: SyncPoint, arguments: Arguments) -> bool:
    """Whether an upload is of what is on the device already: `torch.as_tensor(x, device=...)`."""
    given = arguments[0].value if arguments else UNKNOWN_VALUE
    moves = point.when is not None and "device" in point.when.keyword_present
    sure = given.confidence >= MEDIUM and given.name != WHEREVER
    return moves and given.kind == DEVICE and sure


def blocking_value(frame: Frame, point: SyncPoint, arguments: Arguments) -> Value | None:
    """Return the device value that the call reads; a barrier reads none in particular.

    What a framework's function works on is an array of the framework, if anything is: its first
    argument, where that is read.
    """
    wanted = point.source.arguments if point.source else ()
    if not wanted:
        saves = point.kind == SyncKind.ARRAY and point.source is not None and point.source.functions
        there = saves and arguments and arguments[0].value.kind == HOST_ARRAY
        return None if there else device(point.framework)
    if point.kind == SyncKind.UPLOAD and point.source is not None and point.source.functions:
        # A sure entry uploads what it is given; the others what is given a type as well.
        typed = len(arguments) > 1 or point.confidence == Confidence.HIGH
        given = _selected(wanted, arguments)
        if point.source.functions[0].endswith("Tensor"):  # a type, which is given data or sizes
            given = [argument for argument in given if not _is_size(argument)]
        there = not any(_is_uploaded(argument.value, typed=typed) for argument in given)
        return None if there else device(point.framework)
    function = point.source is not None and bool(point.source.functions)
    for argument in _selected(wanted, arguments):
        value = _held(first_device(argument.value))
        is_first = function and 0 in wanted and argument is arguments[0]
        if is_first and value.kind in (DEVICE, UNKNOWN):
            known = value.kind == DEVICE or value.params or frame.trains
            confidence = max(value.confidence if value.kind == DEVICE else LOW, MEDIUM)
            return device(point.framework, confidence if known else NAMED, value.params)
        if _reads(value):
            return value
    return None


def _held(value: Value) -> Value:
    """Return what a tuple or list of values of which nothing is known holds: such a value."""
    if value.kind != CONTAINER:
        return value
    held = [*(value.items or ()), *([value.element] if value.element is not None else [])]
    return next((inner for inner in held if inner.kind == UNKNOWN), value)


_SIZE = naming(r"(^|_)(n|size|len(gth)?|num|dim|count|shape)(_|$)")


def _is_size(argument: Argument) -> bool:
    """Whether an argument is a number, or one by its name."""
    last = dotted(argument.node).rpartition(".")[2]
    return argument.value.kind == HOST or _SIZE(last)


def _selected(wanted: tuple[int | str, ...], arguments: Arguments) -> list[Argument]:
    if -1 in wanted:
        return [argument for argument in arguments if argument.keyword != "out"]  # it is written
    chosen = []
    position = 0
    for argument in arguments:
        if argument.keyword:
            if argument.keyword in wanted:
                chosen.append(argument)
        else:
            if position in wanted:
                chosen.append(argument)
            position += 1
    return chosen


def _conditions_hold(frame: Frame, point: SyncPoint, arguments: Arguments) -> bool:
    if point.when is not None and not condition_holds(frame, point.when, arguments):
        return False
    return point.unless is None or not condition_holds(frame, point.unless, arguments)


def condition_holds(frame: Frame, condition: Condition, arguments: Arguments) -> bool:
    """Whether every part of a catalogue condition that is given holds for these arguments."""
    keywords = {a.keyword: a.value for a in arguments if a.keyword}
    positional = sum(1 for a in arguments if not a.keyword and not a.stars)
    words = [_word(a.value) for a in arguments]
    where = ("device",) if "device" in keywords else ("",)
    chosen = [_word(a.value) for a in arguments if a.keyword in where] or words
    checks = (
        (condition.keyword_true, any(_maybe(keywords, k, True) for k in condition.keyword_true)),
        (
            condition.flag,
            any(_maybe(keywords, k, True) for k in condition.flag) or _first_flag(arguments),
        ),
        (condition.keyword_false, any(_maybe(keywords, k, False) for k in condition.keyword_false)),
        (
            condition.keyword_present,
            any(k in keywords and keywords[k].name != "None" for k in condition.keyword_present),
        ),
        (condition.keyword_absent, not any(k in keywords for k in condition.keyword_absent)),
        (condition.positional, positional in condition.positional),
        (
            condition.positional_at_least is not None,
            positional >= (condition.positional_at_least or 0),
        ),
        (condition.argument_in, any(_matches(w, condition.argument_in) for w in words)),
        (
            condition.argument_not_in,
            not all(_matches(w, condition.argument_not_in) for w in chosen),
        ),
    )
    return all(holds for given, holds in checks if given)


def _first_flag(arguments: Arguments) -> bool:
    """Whether the first literal True or False that is given by position is True."""
    given = (a.value.literal for a in arguments if not a.keyword)
    return next((literal for literal in given if isinstance(literal, bool)), False)


def _maybe(keywords: dict[str, Value], keyword: str, wanted: bool) -> bool:
    """Whether a keyword is the wanted literal, or may be."""
    if keyword not in keywords:
        return False
    value = keywords[keyword].literal
    return value is wanted or (value is None and wanted and keywords[keyword].name != "None")


def _word(value: Value) -> str:
    """Return what stands for an argument in conditions: a string's text or a dotted name."""
    if isinstance(value.literal, str):
        return value.literal
    return value.name if value.kind == SYMBOL else ""


def _matches(word: str, patterns: tuple[str, ...]) -> bool:
    return bool(word) and any(fnmatchcase(word, pattern) for pattern in patterns)


def trigger_sites(frame: Frame, node: cst.Call, trigger: Trigger, arguments: Arguments) -> None:
    """Note a call that invokes a protocol of its arguments: one site a call."""
    for argument in _selected(trigger.arguments, arguments):
        value = argument.value
        if trigger.traced and not frame.is_eager:
            value = weaken(first_device(value), LOW)
        if trigger.protocol == "__bool__" and value.kind == CONTAINER and value.element:
            value = value.element
        counts = trigger.protocol == "__int__" and value.kind == UNKNOWN
        if value.name == ACTION and trigger.protocol == "__array__":
            value = _converted(frame, value)
        elif counts and _COUNT(dotted(argument.node)):
            value = _converted(frame, value)  # a number of the host's is not converted to one
        if trigger.protocol in ("__float__", "__int__", "__array__", "__index__", "__reduce_ex__"):
            value = first_device(value)
        listed = argument.value.kind == CONTAINER and trigger.protocol == "__array__"
        if _any_protocol(frame, trigger, node, value, listed=listed):
            return


_COUNT = naming(r"(^|[._])state\.step$")


def _converted(frame: Frame, given: Value) -> Value:
    """Return what a program turns into a host value: a device value where functions are pure.

    Elsewhere it is taken as it comes, as an action is: environments' are host values already.
    """
    framework = frame.analysis.knowledge.functional_of(frame.analysis.frameworks)
    return device(framework, MEDIUM if frame.trains else NAMED) if framework else given


# Where a framework has no entry of its own for a protocol, Python falls back to the next.
_FALLBACK = {"__format__": ("__repr__",), "__str__": ("__repr__",), "__repr__": ("__str__",)}


def _any_protocol(
    frame: Frame, trigger: Trigger, node: cst.Call, value: Value, *, listed: bool = False
) -> bool:
    among = trigger.frameworks
    known = frame.analysis.knowledge.frameworks.get(value.framework)
    if listed and among and known is not None and known.array_methods:
        among = (*among, value.framework)  # whose methods a list has not
    for protocol in (trigger.protocol, *_FALLBACK.get(trigger.protocol, ())):
        if protocol_site(frame, protocol, node, value, sink=trigger.sink, among=among):
            return True
    return False


# ---- methods


def call_method(
    frame: Frame, node: cst.Call, owner: Value, func: cst.Attribute, arguments: Arguments
) -> Value:
    """Call `owner.method(...)`."""
    method = func.attr.value
    if owner.kind == SYMBOL:
        resolved = frame.analysis.resolve(f"{owner.name}.{method}")
        if resolved.kind != SYMBOL:
            return call_value(frame, node, resolved, arguments)
        return call_symbol(frame, node, resolved.name, arguments)
    note_step(frame, node, owner, method)
    if owner.kind == UNKNOWN:
        frame.call_by_name(method)
        if told := frame.analysis.knowledge.by_usage(method, ("numpy",)):
            owner = Value(*told, MEDIUM)
    is_parameter = owner.kind == UNKNOWN and bool(owner.params)
    as_given = owner.kind == DEVICE and owner.confidence <= MEDIUM and _is_as_given(func.value)
    moved = is_parameter or (as_given and bool(owner.params))
    moved |= owner.kind == CONTAINER and first_device(owner).kind != DEVICE  # of a class of its own
    to_another = PLACE in [a.value.name for a in arguments]  # where it mostly is as well
    if not to_another:
        moved |= owner.name == WHEREVER or _is_handed(frame, owner, func.value)
    if moved and (up := unknown_upload(frame, node, func.value, method, arguments)):
        return up._replace(confidence=max(up.confidence, owner.confidence))
    proof = frame.analysis.knowledge.by_usage(method, frame.analysis.frameworks)
    if is_parameter and proof is not None and proof[0] == DEVICE:
        owner = somewhere(proof[1], MEDIUM, owner.params)  # whatever is passed for it
    elif is_parameter and (framework := _copied_by(frame, method, arguments)):
        owner = device(framework, MEDIUM, owner.params)
    elif is_parameter and (framework := _likely(frame, method)):
        owner = somewhere(framework, NAMED, owner.params)
    if owner.kind == DEVICE and owner.confidence < MEDIUM and _tells(frame, method, arguments):
        owner = owner._replace(confidence=MEDIUM)
    if owner.kind == DEVICE and _is_of_models(frame, owner, method):
        owner = Value(MODEL, owner.framework, MEDIUM)
    if owner.kind == MODEL and proof == (MODEL, owner.framework):
        owner = owner._replace(confidence=max(MEDIUM, owner.confidence))
    elif owner.kind == UNKNOWN and proof is not None and proof[0] == MODEL:
        owner = Value(*proof, MEDIUM)  # one of several: `models[name].train_on_batch(x, y)`
        is_parameter = False
    if owner.kind == DEVICE or is_parameter:
        if owner.kind == UNKNOWN and frame.loops and _any_device(arguments):
            frame.loops[-1].ops = True  # of an object, whatever its class
        result = device_method(frame, node, owner, method, arguments)
        made = _of_parameters(frame, method, arguments) if result.kind == UNKNOWN else result
        return made if made.kind == DEVICE else _action(frame, method, arguments, result)
    if owner.kind in (INSTANCE, SUPER) or isinstance(owner.ref, ClassInfo):
        return instance_method(frame, node, owner, method, arguments)
    method_sites(frame, node, owner, method, arguments)
    if owner.kind == HOST_ARRAY:
        return array_method(frame, owner, method, arguments)
    if owner.kind == CONTAINER:
        return container_method(frame, func, owner, method, arguments)
    if owner.kind in CALLABLE:
        return model_method(frame, node, owner, method, arguments)
    if method in frame.analysis.knowledge.passes.get(owner.framework, NOTHING) and arguments:
        return passed_on(owner, arguments[0].value)
    if owner.kind == HOST:
        if method == "format":
            for argument in arguments:
                protocol_site(frame, "__format__", argument.node, argument.value)
        return HOST_VALUE
    return unknown_method(frame, node, func, owner, method, arguments)


def _is_handed(frame: Frame, owner: Value, node: cst.BaseExpression) -> bool:
    """Whether this is an argument declared as an array, of what is no model: from anywhere."""
    function = frame.function
    while type(node) is cst.Call and type(node.func) is cst.Attribute:
        if node.func.attr.value not in _KEEPS_ALL:
            return False
        node = node.func.value
    if owner.kind != DEVICE or type(node) is not cst.Name or len(owner.params) != 1:
        return False
    index = next(iter(owner.params))
    named = index < len(function.parameters) and function.parameters[index].name == node.value
    model = function.cls is not None and instance_of(function.cls).kind in CALLABLE
    return named and not model


# Methods that give as much of an array as it holds.
_KEEPS_ALL = frozenset(
    {"clone", "detach", "float", "long", "squeeze", "unsqueeze", "view", "reshape", "contiguous"}
)


_KEYED = frozenset({"get", "pop"})


def _is_as_given(node: Any) -> bool:
    """Whether an expression is a variable, or a named part of one: `batch["x"].float()`."""
    while type(node) in (cst.Subscript, cst.Call):
        if type(node) is cst.Call:
            if type(node.func) is not cst.Attribute:
                return False
            keyed = bool(node.args) and type(node.args[0].value) is cst.SimpleString
            if node.func.attr.value not in (_KEYED if keyed else _KEEPS_ALL):
                return False
            node = node.func.value
            continue
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if type(index) is not cst.Index:
            return False
        if type(index.value) not in (cst.SimpleString, cst.Integer):
            return False
        node = node.value
    return type(node) is cst.Name


def _tells(frame: Frame, method: str, arguments: Arguments) -> bool:
    """Whether what this method is called on is a device value, if there is reason to think so."""
    proof = frame.analysis.knowledge.by_usage(method, frame.analysis.frameworks)
    likely = frame.trains and bool(_likely(frame, method))
    proved = proof is not None and proof[0] == DEVICE
    return likely or proved or bool(_copied_by(frame, method, arguments))


def _copied_by(frame: Frame, method: str, arguments: Arguments) -> str:
    """Return the framework that `x.to("cpu")` is of: a host's value is not asked so."""
    for point in frame.analysis.knowledge.sync_methods.get((DEVICE, method), ()):
        asked = point.framework in frame.analysis.frameworks and point.when is not None
        if asked and point.kind == SyncKind.ARRAY and _conditions_hold(frame, point, arguments):
            return point.framework
    return ""


def _likely(frame: Frame, method: str) -> str:
    """Return the framework whose values have this method, if it is more likely theirs."""
    analysis = frame.analysis
    tables = (analysis.knowledge.likely, analysis.knowledge.alone)[: 1 + analysis.is_alone]
    return next((f for f in analysis.frameworks for t in tables if t[f].get(method) == DEVICE), "")


def passed_on(context: Value, given: Value) -> Value:
    """Return what a collective of a trainer's context makes of what it is given: as much, there."""
    if given.kind in (DEVICE, CONTAINER):
        return given
    return device(context.framework, MEDIUM, given.params)


def _is_of_models(frame: Frame, owner: Value, method: str) -> bool:
    """Whether what has such a method is a model, whatever made it: no array predicts."""
    knowledge = frame.analysis.knowledge
    known = knowledge.methods.get(owner.framework, {}).get(method)
    kind = knowledge.model_methods.get(owner.framework, {}).get(method)
    return kind in (HOST, HOST_ARRAY) and known is None


def note_step(frame: Frame, node: cst.Call, owner: Value, method: str) -> None:
    """A backward pass or an optimizer's step makes the loop a training loop."""
    knowledge = frame.analysis.knowledge
    active = frame.analysis.frameworks
    if method in knowledge.step_methods and not knowledge.step_methods[method].isdisjoint(active):
        if owner.kind not in (HOST, HOST_ARRAY):
            frame.evidence(strong=True, update="backward" not in method)
            frame.event("work", node, owner.framework or active[0])
    elif method == "step" and _is_environment(frame, node, owner):
        frame.evidence()
        _act(frame)
    elif owner.kind in ("optimizer", "scaler") and method in knowledge.optimizer_methods:
        frame.evidence(strong=True)
        frame.event("work", node, owner.framework or active[0])
    elif owner.kind in (UNKNOWN, MODEL) and loops.runs_step(node):
        frame.evidence(strong=True, update="train" in method, asked=True)
    elif not knowledge.hot_functions.get(method, NOTHING).isdisjoint(active):
        frame.evidence()  # of whatever class, it is called once a step


def _act(frame: Frame) -> None:
    """Note a step of an environment."""
    if frame.loops:
        frame.loops[-1].acts = True
    else:
        frame.acts = True


def _is_environment(frame: Frame, node: cst.Call, owner: Value) -> bool:
    """Whether a method is one of an environment, of a class of its own maybe."""
    if owner.kind != INSTANCE or type(node.func) is not cst.Attribute:
        return owner.kind == "environment"
    return frame.hint(dotted(node.func.value)).kind == "environment"


def method_sites(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> bool:
    """Note the sites of a method call on a value of known kind."""
    knowledge = frame.analysis.knowledge
    if owner.kind == MODEL and owner.confidence < HIGH and frame.analysis.outline.defines(method):
        return False  # of one of these classes, maybe
    for point in knowledge.sync_methods.get((owner.kind, method), ()):
        if owner.framework and point.framework != owner.framework:
            continue
        if not _conditions_hold(frame, point, arguments):
            continue
        given = blocking_value(frame, point, arguments)
        if given is None:
            continue
        subject = node.func.value if type(node.func) is cst.Attribute else node
        confidence = owner.confidence
        if owner.kind == HOST_ARRAY and point.kind == SyncKind.UPLOAD:
            if not uploads(frame, owner, method, arguments):
                continue
            confidence = max(confidence, MEDIUM)
        read = device(point.framework, confidence)
        frame.site(point, node, read if given.kind == DEVICE else given, subject=subject)
        return True
    for trigger in knowledge.trigger_methods.get(method, ()):
        if trigger.receiver and trigger.receiver != owner.kind:
            continue
        trigger_sites(frame, node, trigger, arguments)
        return True
    return False


def device_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a device value (or of a parameter that may hold one)."""
    knowledge = frame.analysis.knowledge
    frameworks = (owner.framework,) if owner.framework else frame.analysis.frameworks
    if owner.kind == UNKNOWN and method in ("items", "keys", "values", "popitem"):
        return mapping_method(owner, method)
    if method in _OF_MAPPINGS and owner.framework:
        known = knowledge.sync_methods.get((DEVICE, method), ())
        if not any(point.framework == owner.framework for point in known):
            return mapping_method(owner, method)
    for point in knowledge.sync_methods.get((DEVICE, method), ()):
        if point.framework not in frameworks or not _conditions_hold(frame, point, arguments):
            continue
        wanted = point.source.arguments if point.source else ()
        own = point.source is not None and bool(point.source.functions)
        if wanted and not own and not _is_given(point, wanted, arguments):
            continue
        subject = node.func.value if type(node.func) is cst.Attribute else node
        if point.kind == SyncKind.UPLOAD and _ON_HOST(dotted(subject)):
            continue
        frame.site(point, node, owner, subject=subject)
        break
    return device_method_result(frame, owner, method, arguments, frameworks)


_ON_HOST = naming(r"(^|[._])(cpu|host|pinned)([._]|$)")  # by its name
_OF_MAPPINGS = frozenset(
    {"items", "keys", "values", "get", "pop", "popitem", "update", "setdefault"}
)


def mapping_method(owner: Value, method: str) -> Value:
    """Call a dict's method on a model's output or an argument, which must then be a dict."""
    element = owner if owner.name == STRUCTURE else part_of(owner)
    if method in _WITH_KEYS:
        return _with_keys(element, method)
    return container(element) if method == "values" else element


_WITH_KEYS = frozenset({"items", "keys", "popitem"})


def _with_keys(element: Value, method: str) -> Value:
    """Return what these methods give of a dict that holds such values."""
    if method == "keys":
        return container(HOST_VALUE)
    item = container(None, (HOST_VALUE, element))
    return container(item) if method == "items" else item


def _copied(framework: str, method: str) -> Value:
    """Return the array in host memory that a method gives: NumPy's own, if it says so."""
    return Value(HOST_ARRAY, "numpy" if method == "numpy" else framework)


_ASKS_WHETHER = naming(r"^(has|should|can|supports|match|matches)(_|$)")


def device_method_result(
    frame: Frame, owner: Value, method: str, arguments: Arguments, frameworks: tuple[str, ...]
) -> Value:
    """Return what a method of a device value returns."""
    for framework in frameworks:
        kind = frame.analysis.knowledge.methods[framework].get(method)
        told = _ASKS_WHETHER(method) or DESCRIBES(method)
        if kind == HOST or (kind is None and told):
            return HOST_VALUE
        if kind == HOST_ARRAY:
            return _copied(framework, method)
        if kind is not None and kind != DEVICE:
            return Value(kind, framework, owner.confidence)
        moved = moved_to(frame, arguments)
        if moved is not None and owner.kind == DEVICE:
            there = moved.kind == DEVICE
            kept = owner._replace(literal=None, items=None) if there else moved
            kept = kept if kept.framework else kept._replace(framework=framework)
            return as_mask(frame, kept, method, [owner], arguments)
    if owner.kind == UNKNOWN:
        return Value(params=owner.params | _argument_params(arguments))
    frame.operation(owner.framework)
    made = owner._replace(literal=None, items=None)
    return as_mask(frame, made, method, [owner], arguments)


def as_mask(
    frame: Frame, result: Value, name: str, operands: Sequence[Value], arguments: Arguments
) -> Value:
    """Return an array with its name set: what a function or method makes may be a mask."""
    if result.kind not in ARRAYS:
        return result
    knowledge = frame.analysis.knowledge
    makes = knowledge.makes_masks.get(result.framework, NOTHING)
    keeps = knowledge.keeps_masks.get(result.framework, NOTHING)
    if (
        name in makes
        or (name in keeps and any(map(_is_mask, operands)))
        or any(a.value.kind == SYMBOL and _BOOLEAN(a.value.name) for a in arguments)
        or (name == "to" and _is_mask(operands[0]) and all(map(_names_a_device, arguments)))
    ):
        return named(result, MASK)
    anywhere = result.name == WHEREVER and name in _KEEPS_ALL  # it is still not known where
    if name in knowledge.makes_indices.get(result.framework, NOTHING) and not anywhere:
        return named(result, INDICES)
    return named(result, WHEREVER if result.name == WHEREVER else "")


NOTHING: frozenset[str] = frozenset()
_BOOLEAN = naming(r"(^|\.)bool_?$|\.BoolTensor$")


def _is_mask(value: Value) -> bool:
    """Whether a value is a mask, or a list or tuple of masks."""
    value = _innermost(value)
    return value.kind in ARRAYS and value.name == MASK


def _argument_params(arguments: Arguments) -> frozenset[int]:
    return frozenset().union(*(a.value.params for a in arguments if a.value.kind == UNKNOWN))


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


_ACCELERATORS = frozenset({"cuda", "gpu", "mps", "xpu", "npu", "hpu"})
DEVICE_WORDS = ("device", "dev", "ctx", "gpu", "cuda", "rank", "gpu_id")


def array_method(frame: Frame, owner: Value, method: str, arguments: Arguments) -> Value:
    """Call a method of an array in host memory; `.to(device)` and `.cuda()` upload it."""
    if owner.framework in ("", "numpy"):
        kind = frame.analysis.knowledge.methods.get("numpy", {}).get(method)
        result = Value(kind, "numpy") if kind else owner
        return as_mask(frame, result, method, [owner], arguments)
    kind = frame.analysis.knowledge.methods[owner.framework].get(method)
    if kind == HOST:
        return HOST_VALUE
    if kind == HOST_ARRAY:
        return _copied(owner.framework, method)
    if uploads(frame, owner, method, arguments):
        frame.operation(owner.framework)
        moved = device(owner.framework, max(owner.confidence, MEDIUM))
        return moved._replace(name=MASK if owner.name == MASK else "")
    stays = method in _SHAPED_AS or method.endswith("_")  # such a one writes into its own array
    if not stays and any(a.value.kind == DEVICE for a in arguments):
        return device(owner.framework, owner.confidence)
    return as_mask(frame, owner._replace(literal=None), method, [owner], arguments)


# What takes the shape of another value, or sizes, wherever those are.
_SHAPED_AS = frozenset(
    {"expand_as", "view_as", "reshape_as", "expand", "view", "reshape", "repeat", "tile"}
)


def uploads(frame: Frame, owner: Value, method: str, arguments: Arguments) -> bool:
    """Whether a method of a host array returns a device value: an upload entry knows it."""
    points = frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, method), ())
    points = [p for p in points if p.framework == owner.framework and p.rule == "ASG106"]
    if not points:
        return False
    if any(_names_a_type(frame, point, arguments) for point in points):
        return True
    moved = moved_to(frame, arguments)
    if moved is not None:
        return moved.kind == DEVICE
    if len(arguments) == 1 and arguments[0].stars == 2:
        return True  # by a dict, which names a device if it names anything
    options = {key for p in points if p.unless is not None for key in p.unless.keyword_true}
    where = [a for a in arguments if a.keyword not in options]
    if not where:
        return True
    return any(a.value.kind == DEVICE or _names_a_device(a) or _is_other(a) for a in where)


_A_TYPE = naming(r"type|float|int|half|bool|precision|double|long|fp16|bf16", re.IGNORECASE)


def _is_other(argument: Argument) -> bool:
    """Whether an argument of `.to` is unknown, a place then or a tensor: its name says no type."""
    name = dotted(argument.node).rpartition(".")[2]
    given = argument.value.kind == UNKNOWN and not argument.keyword
    return given and bool(name) and not _A_TYPE(name)


def _names_a_type(frame: Frame, point: SyncPoint, arguments: Arguments) -> bool:
    """Whether an argument is one of the types that an upload goes by: `.type(cuda.FloatTensor)`."""
    wanted = point.when is not None and bool(point.when.argument_in)
    return wanted and _conditions_hold(frame, point, arguments)


def _names_a_device(argument: Argument) -> bool:
    """Whether an argument of `.to` is a device, as far as its name says."""
    if argument.keyword:
        return argument.keyword == "device"
    literal = argument.value.literal
    if argument.value.kind == HOST and literal is not None:
        kind = literal.partition(":")[0] if isinstance(literal, str) else ""
        return kind in _ACCELERATORS or type(literal) is int
    node: Any = argument.node
    while type(node) in (cst.Subscript, cst.Call):
        node = node.value if type(node) is cst.Subscript else node.func
    last = dotted(node).rpartition(".")[2].lower()
    if not last and type(node) is cst.Attribute:
        last = node.attr.value
    return any(word in last for word in DEVICE_WORDS)


def instance_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a checked class's instance, else one of what it inherits from."""
    cls: ClassInfo | None = owner.ref
    if cls is None:
        return UNKNOWN_VALUE
    if method in frame.analysis.knowledge.registers.get(owner.framework, NOTHING):
        _register(frame, owner, arguments)
    attribute = attribute_of(frame, owner, method) if owner.kind != SUPER else UNKNOWN_VALUE
    if attribute.kind == FUNCTION and attribute.element is owner:
        frame.call_by_name(f"{cls.name}.{method}")  # a subclass may have its own
        if dotted(node.func.value) != "self":  # type: ignore[attr-defined]
            frame.call_by_name(method)  # so may another class, of which it may be as well
        if owner.confidence != HIGH and frame.analysis.is_abstract(attribute.ref):
            frame.call_by_name(f".{method}")
    elif attribute.kind == UNKNOWN and owner.kind == INSTANCE:  # a subclass's own
        frame.call_by_name(f"{cls.name}.{method}")
    if owner.kind == SUPER:
        for base in cls.bases:
            if isinstance(base.ref, ClassInfo) and (info := base.ref.lookup(method)):
                attribute = Value(FUNCTION, ref=info, element=instance_of(cls))
    if attribute.kind == FUNCTION and not frame.analysis.is_abstract(attribute.ref):
        if attribute.ref.is_static:
            attribute = attribute._replace(element=None)
        return call_value(frame, node, attribute, arguments)
    if attribute.kind not in (UNKNOWN, FUNCTION):
        return call_value(frame, node, attribute, arguments)
    if owner.kind in CALLABLE and attribute.kind != FUNCTION:
        method_sites(frame, node, owner, method, arguments)
        return model_method(frame, node, owner, method, arguments)
    path = dotted(node.func)
    hinted = frame.hint(path) if path else UNKNOWN_VALUE
    if hinted.kind != UNKNOWN:
        return call_value(frame, node, hinted, arguments)
    method_sites(frame, node, owner, method, arguments)
    return _action(frame, method, arguments, _of_parameters(frame, method, arguments))


def _register(frame: Frame, owner: Value, arguments: Arguments) -> None:
    """`register_buffer("scale", scale)` makes an attribute that moves with its model."""
    name = arguments[0].value.literal if arguments else None
    if isinstance(name, str) and frame.given is not None:
        frame.given[name] = device(owner.framework)


def model_method(
    frame: Frame, node: cst.Call, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a model."""
    kind = frame.analysis.knowledge.model_methods.get(owner.framework, {}).get(method)
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](device(owner.framework, owner.confidence))
    if kind == MODEL:
        return owner
    if kind == DEVICE:
        frame.evidence()
        return device(owner.framework, owner.confidence)
    if kind is not None:
        if owner.framework in frame.analysis.knowledge.trainings.get(method, NOTHING):
            note_training(frame, arguments)
        if kind == HOST_ARRAY and arguments:
            frame.evidence()  # it predicts
        return Value(kind, owner.framework, owner.confidence)
    frame.call_by_name(method)
    if _ACTS(method):
        frame.evidence()
        return Value(name=ACTION)  # an environment wants arrays in host memory mostly
    if _GIVES_TEXT(method):
        return UNKNOWN_VALUE
    inputs = [first_device(a.value) for a in arguments]
    tensors = [v for v in inputs if v.kind in (DEVICE, HOST_ARRAY)]
    if tensors:
        frame.evidence()
        return device(owner.framework, min(MEDIUM, owner.confidence))._replace(name=STRUCTURE)
    return UNKNOWN_VALUE


def note_training(frame: Frame, arguments: Arguments) -> None:
    """A loop that trains a model for epochs goes over trainings, unless it is named after steps."""
    epochs = next((a.value for a in arguments if a.keyword == "epochs"), None)
    loop = next((r for r in reversed(frame.loops) if not r.transparent), None)
    if epochs is not None and epochs.literal != 1 and loop is not None and not loop.step_name:
        loop.inner = loop.trainings = True


_ACTS = naming(r"(^|_)act(ions?)?(_|$)")
_GIVES_TEXT = naming(r"(^|_)(str|string|strings|text|texts|name|names|summary|describe)$")

# What methods of a model return that hold its parameters: all, with their names, by their names.
_COLLECTIONS: dict[str, Callable[[Value], Value]] = {
    CONTAINER: lambda held: container(held),
    PAIRS: lambda held: container(container(None, (HOST_VALUE, held)))._replace(name=PAIRS),
    "mapping": lambda held: container(held)._replace(name=DICT),
}


def unknown_upload(
    frame: Frame, node: cst.Call, owner: cst.BaseExpression, method: str, arguments: Arguments
) -> Value | None:
    """`batch.to(device)` of something unknown: within a training step, most likely an upload."""
    points = frame.analysis.knowledge.sync_methods.get((HOST_ARRAY, method), ())
    typed = any(_names_a_type(frame, point, arguments) for point in points)
    spread = len(arguments) == 1 and arguments[0].stars == 2
    if arguments and not typed and not spread and not any(map(_names_a_device, arguments)):
        return None
    if frame.hint(dotted(owner)).kind in CALLABLE:
        return None
    if not frame.loops and _makes_instance(owner):
        return Value(MODEL, next(iter(frame.analysis.frameworks), ""), MEDIUM)
    for point in points:
        if point.framework not in frame.analysis.frameworks or point.kind != SyncKind.UPLOAD:
            continue
        value = device(point.framework, MEDIUM if frame.trains else NAMED)
        there = _made_of_values(frame, owner) or any(_is_where_one_is(frame, a) for a in arguments)
        if not there and _conditions_hold(frame, point, arguments):
            frame.site(point, node, value, subject=owner)
            known = frame.env.get(owner.value) if type(owner) is cst.Name else None
            if known is not None and known.kind == UNKNOWN:  # it stays there: `y = x.to(device)`
                frame.note(dotted(owner), Value(HOST_ARRAY, point.framework, MEDIUM, BATCH))
        moved = device(point.framework, MEDIUM)
        if type(owner) is cst.Call or dotted(owner).startswith("self."):
            return moved._replace(name=HINTED)  # it may as well be a part of a model
        return moved._replace(name=MOVED)
    return None


def _makes_instance(node: cst.BaseExpression) -> bool:
    """Whether this makes an instance of a class, and no tensor by its name: a model, if moved."""
    name = dotted(node.func).rpartition(".")[2] if type(node) is cst.Call else ""
    return name[:1].isupper() and not _TENSORS(name)


_TENSORS = naming(r"Tensor$|^(Variable|Data|Batch\w*)$")


def _is_where_one_is(frame: Frame, argument: Argument) -> bool:
    """Whether an argument is where another value is: what goes there mostly is there already.

    Not so `next(model.parameters()).device`: what a model is given goes to where that is.
    """
    node = argument.node
    if type(node) is not cst.Attribute or node.attr.value != "device":
        return False
    if type(node.value) is cst.Call and dotted(node.value.func) == "next":
        return False
    with frame.quiet():
        return evaluate(frame, node.value).kind == DEVICE


def _made_of_values(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression calls something with device values: what comes out mostly is one."""
    with frame.quiet():
        return type(node) is cst.Call and any(
            evaluate(frame, argument.value).kind == DEVICE for argument in node.args
        )


def container_method(
    frame: Frame, func: cst.Attribute, owner: Value, method: str, arguments: Arguments
) -> Value:
    """Call a method of a list, set or dict; adding to one changes what is known of it."""
    element = owner.element if owner.element is not None else UNKNOWN_VALUE
    if method in ("append", "add", "appendleft", "insert", "extend", "update", "setdefault"):
        _grow(frame, func.value, owner, method, arguments)
    if method in ("get", "pop", "popleft", "setdefault"):
        key = arguments[0].value.literal if arguments else None
        return dict(owner.fields).get(str(key), element) if owner.fields else element
    if method in _WITH_KEYS:
        return _with_keys(element, method)
    if method in ("values", "copy", "union"):
        return container(element)
    if method in ("index", "count", "keys"):
        return HOST_VALUE
    return UNKNOWN_VALUE


def _grow(
    frame: Frame, target: cst.BaseExpression, owner: Value, method: str, arguments: Arguments
) -> None:
    path = dotted(target)
    if not path or not arguments:
        return
    added = arguments[-1].value
    if method in ("extend", "update"):
        if added.kind == DEVICE and method == "extend":
            added = element_of(frame, added)  # its rows, or numbers
        else:
            added = added.element if added.kind == CONTAINER and added.element else UNKNOWN_VALUE
        if added.kind == UNKNOWN and not added.params:
            return
    element = added if owner.element is None else join(owner.element, added)
    frame.bind(path, owner._replace(element=element, items=None))


def run_given(frame: Frame, arguments: Arguments) -> None:
    """Note what a function does that is handed over to be run at once: `strategy.run(step)`."""
    info = arguments[0].value.ref if arguments else None
    if isinstance(info, FunctionInfo):
        frame.call(info)
        if frame.analysis.summary_for(frame, info).trained:
            frame.evidence(strong=True)


_OF_ONE = frozenset({"item"})  # which NumPy's arrays are rarely asked for


def unknown_method(
    frame: Frame,
    node: cst.Call,
    func: cst.Attribute,
    owner: Value,
    method: str,
    arguments: Arguments,
) -> Value:
    """Call a method of something unknown: usage may still tell what it is or returns."""
    answer = opaque(frame, node, arguments)
    path = dotted(func)
    if path:
        hinted = frame.hint(path)
        if hinted.kind in CALLABLE:
            frame.evidence()
            output = device(hinted.framework, hinted.confidence)
            return output if hinted.kind == "criterion" else output._replace(name=STRUCTURE)
    knowledge = frame.analysis.knowledge
    if kind := knowledge.part(owner.framework, owner.kind, method):
        if owner.kind == "loader":
            mark_compiled(arguments)  # what a data set maps is traced
        else:
            run_given(frame, arguments)
        return Value(kind, owner.framework, MEDIUM, STRUCTURE)
    if owner.kind == "progress" and owner.element is not None:
        return UNKNOWN_VALUE
    if owner.kind in ("optimizer", "scheduler", "loader", "logger", "writer", "metric"):
        return UNKNOWN_VALUE
    if uploaded := unknown_upload(frame, node, func.value, method, arguments):
        return uploaded
    proof = knowledge.by_usage(method, frame.analysis.frameworks)
    sure = frame.trains or frame.analysis.is_alone or method in _OF_ONE
    likely = _likely(frame, method) if sure else ""
    for framework in frame.analysis.frameworks:
        proved = proof == (DEVICE, framework)
        if proved or framework == likely:
            told = somewhere(framework, MEDIUM if proved or frame.trains else NAMED)
            return device_method(frame, node, told, method, arguments)
        if knowledge.model_methods[framework].get(method) == HOST_ARRAY:
            return Value(HOST_ARRAY, framework, LOW)  # if it is a model's; else most likely as well
    return _action(frame, method, arguments, answer)


_FUNCTION = naming(r"_(fn|func|function)$")  # which an object holds
_KEY = naming(r"(^|_)(key|rng|seed|subkey|sub_key|subrng)\d*$")


def _draws(arguments: Arguments) -> bool:
    """Whether a method is handed a key to draw random numbers with, which is a device value."""
    return any(
        a.value.kind == DEVICE and _KEY(a.keyword or dotted(a.node).rpartition(".")[2])
        for a in arguments
    )


def _action(frame: Frame, method: str, arguments: Arguments, answer: Value) -> Value:
    """Return the answer of a method out of sight, or what one gives that acts or is a function."""
    acts = _ACTS(method)
    if answer.kind != UNKNOWN or not (acts or _FUNCTION(method) or _draws(arguments)):
        return answer
    computed = _computed(frame, method, arguments)
    return computed or (answer._replace(name=ACTION) if acts else answer)
