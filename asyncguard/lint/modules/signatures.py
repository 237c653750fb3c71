"""What a function's signature and docstring say of its parameters and its result."""

from __future__ import annotations

import functools

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, Host, evaluate
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.definitions import FunctionInfo, classes_of
from asyncguard.lint.domain.dependence import on_parameter
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.parameters import Parameter
from asyncguard.lint.domain.reasons import LOW, MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CLASS,
    CLASSES,
    CONTAINER,
    DEVICE,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    doubted,
    from_params,
    of_argument,
    settled,
)
from asyncguard.lint.interpret import types
from asyncguard.lint.modules.given import CHOSEN, EACH, MOVED
from asyncguard.lint.modules.runtimes import is_for_another_device
from asyncguard.lint.syntax.tree import dotted, parse_type
from asyncguard.model import Loop

# What a parameter is by its default, whatever else it is given.
_TOOLS = frozenset({MODEL, "criterion", "optimizer", "metric"})


def is_flag(parameter: Parameter) -> bool:
    """Whether a parameter is true or false by default."""
    return parameter.default is not None and dotted(parameter.default) in ("True", "False")


def bind_parameters(frame: Frame) -> None:
    """Bind the parameters of a frame's function to what is known of them."""
    for index, parameter in enumerate(frame.function.parameters):
        frame.env[parameter.name] = _parameter(frame, index, parameter)


def _parameter(frame: Frame, index: int, parameter: Parameter) -> Value:
    info = frame.function
    if index == 0 and info.has_self and info.cls is not None:
        return Value(CLASS, ref=info.cls) if info.takes_class else types.instance_of(info.cls)
    params = on_parameter(index)
    value = of_argument(_declared(frame, parameter), params)
    if info.compiled and value.kind == UNKNOWN:
        value = Value(DEVICE, frame.analysis.frameworks[0], role=Role.MODEL_OUTPUT)
    if info.hook == Loop.STEP:
        value = _of_step(frame, parameter, value)
    if value.kind == DEVICE and is_for_another_device(frame):
        value = Value(HOST_ARRAY, value.framework, value.why)
    if parameter.stars:
        return container(from_params(value, params))
    return from_params(value, params)


def _of_step(frame: Frame, parameter: Parameter, value: Value) -> Value:
    """Return what a framework hands a function that it enters in each step."""
    if value.kind == UNKNOWN and (framework := _hands_data(frame, parameter)):
        return container(device(framework)._replace(role=Role.SETTLED))
    if value.kind == UNKNOWN and parameter.default is None:
        usage = prior_for(frame, parameter.name)
        value = usage if usage.kind != UNKNOWN else _argument(frame, frame.function)
    if value.kind == CONTAINER and value.element is None:
        return value._replace(element=_argument(frame, frame.function))
    return value


def _hands_data(frame: Frame, parameter: Parameter) -> str:
    """Return the framework that hands its hook a loader's data for a parameter, or ""."""
    info, host = frame.function, frame.analysis
    owners = host.knowledge.data_parameters.get(f"{info.name} {parameter.name}", frozenset())
    return next((f for f in host.frameworks if f in owners), "")


def _declared(frame: Frame, parameter: Parameter) -> Value:
    """Return what a parameter is, by its annotation, its default or the docstring."""
    outer = frame.parent or frame.analysis.frame
    declared = _annotated(outer, parameter)
    if declared is not None:
        return declared
    if parameter.default is not None:
        with outer.speculation():
            value = evaluate(outer, parameter.default)
        if value.kind == HOST and value.literal is not None and value.role == Role.LITERAL:
            return HOST_VALUE
        if value.kind in _TOOLS:
            return value
    documented = _documented(outer, frame.function, parameter.name)
    return documented if documented.kind != UNKNOWN else _given(frame, parameter.name)


def _given(frame: Frame, name: str) -> Value:
    """Return what all calls in the file hand a function or the maker of a class for a parameter."""
    info, host = frame.function, frame.analysis
    makes = info.cls is not None and info.name == "__init__"
    callee = info.cls.qualname if makes and info.cls is not None else info.qualname
    index = info.parameter_names.index(name) - makes
    told = host.given.get((callee, name), frozenset()) | host.given.get(
        (callee, index), frozenset()
    )
    values = [_handed(frame, each, name) for each in sorted(told)]
    return settled(functools.reduce(join, values)) if values else UNKNOWN_VALUE


def _handed(frame: Frame, told: str, name: str) -> Value:
    """Return one of the things that are handed; what was moved and is called, is a model."""
    info, host = frame.function, frame.analysis
    if told == MOVED:
        called = info.cls is not None and {f"self.{name}", f"self._{name}"} & info.cls.called
        return Value(MODEL, host.frameworks[0]) if called else UNKNOWN_VALUE
    made = _named_class(frame, told.removeprefix(EACH))
    if made is None or made.kind not in (CLASS, CLASSES):
        return UNKNOWN_VALUE
    each = [types.instance_of(cls) for cls in classes_of(made)]
    value = functools.reduce(join, each)
    return container(value) if told.startswith(EACH) else value


def _named_class(frame: Frame, name: str) -> Value | None:
    """Return the class of a name, or those of a table, its own or imported."""
    host = frame.analysis
    found = host.frame.lookup(name.removesuffix(CHOSEN))
    if found is None or not name.endswith(CHOSEN):
        cls = host.foreign_class(found.name) if found and found.kind == SYMBOL else None
        return Value(CLASS, ref=cls) if cls is not None else found
    table = host.table(frame, found.name) if found.kind == SYMBOL else found
    return table.element if table is not None else None


def _annotated(outer: Frame, parameter: Parameter) -> Value | None:
    """Return what an annotation says of a parameter, with its name; None if it says nothing."""
    if parameter.annotation is None:
        return None
    with outer.speculation():
        value = types.type_value(outer, parameter.annotation)
    if value.kind == DEVICE and type(parameter.default) in (cst.Integer, cst.Float):
        return HOST_VALUE  # a number that may as well be an array
    if value.kind == DEVICE and is_flag(parameter):
        return HOST_VALUE  # whatever its annotation says
    if value.kind == UNKNOWN:
        return None
    host = outer.analysis
    named = host.knowledge.by_name(parameter.name, host.frameworks)
    if named is None or named[0] != HOST_ARRAY:
        return value
    return container(Value(*named)) if value.kind == CONTAINER else Value(*named)


def _documented(frame: Frame, info: FunctionInfo, name: str) -> Value:
    """Return what a function's docstring says of a parameter."""
    text = info.documented.get(name)
    if text is None:
        return UNKNOWN_VALUE
    node = parse_type(text)
    if node is None:
        return UNKNOWN_VALUE
    with frame.speculation():
        value = types.type_value(frame, node)
    if value.kind == UNKNOWN and (known := frame.analysis.knowledge.device_types.get(text)):
        value = device(known) if known in frame.analysis.frameworks else UNKNOWN_VALUE
    why = frame.reason(Provenance.DOCSTRING, f"the docstring declares `{name}` as `{text}`")
    return value._replace(why=why) if value.kind != UNKNOWN else value


def _argument(frame: Frame, info: FunctionInfo) -> Value:
    """Return what a framework passes to its hook, as far as nothing else tells."""
    says = f"`{info.name}` is entered by its framework"
    why = Reason(Provenance.ARGUMENT, says, frame.analysis.path)
    return device(_hook_framework(frame.analysis, info), why)


def _hook_framework(host: Host, info: FunctionInfo) -> str:
    """Return the framework whose hook the function is."""
    owners = host.knowledge.hot_functions.get(info.name, frozenset())
    for kind in ("metric", "model"):
        owners |= host.knowledge.hot_functions.get(f"{kind}.{info.name}", frozenset())
    return next((f for f in host.frameworks if f in owners), host.frameworks[0])


def declared_result(frame: Frame, result: Value) -> Value:
    """Return the result of a frame's function, with what its signature declares of it."""
    node = frame.function.node
    annotation = node.returns if type(node) is cst.FunctionDef else None
    if annotation is None:
        return result
    if _is_left_open(frame):
        result = UNKNOWN_VALUE  # a subclass, or whatever follows the protocol, returns it
    if result.kind not in (UNKNOWN, DEVICE, CONTAINER):
        return result
    outer = frame.parent or frame.analysis.frame
    with outer.speculation():
        declared = types.type_value(outer, annotation.annotation)
    if _is_plain(declared):
        # What computes may be declared a number and give an array; it is no list of numbers.
        return result if declared.kind == HOST and _is_computed(result) else declared
    if declared.kind == DEVICE and _is_guessed(result):
        return doubted(declared, Doubt.INFERRED)._replace(params=result.params)
    says_more = result.kind == UNKNOWN and not result.params
    return declared if says_more and declared.kind == CONTAINER else result


def _is_left_open(frame: Frame) -> bool:
    """Whether a function returns nothing because it leaves it to others what it does."""
    made = frame.returns or frame.yields
    return not made and frame.analysis.is_abstract(frame.function)


def _is_plain(declared: Value) -> bool:
    """Whether a signature declares plain objects, or a collection of some: `tuple[int, int]`."""
    if declared.kind == CONTAINER:
        parts = [*(declared.items or ()), *([declared.element] if declared.element else [])]
        return bool(parts) and all(map(_is_plain, parts))
    return declared.kind == HOST and declared.name in types.HOST_TYPES


def _is_guessed(value: Value) -> bool:
    """Whether nothing, or little, says of a value what it is."""
    return value.kind == UNKNOWN or (value.kind == DEVICE and value.confidence == LOW)


def _is_computed(value: Value) -> bool:
    """Whether arithmetic or a framework's function made it, whatever the signature says."""
    sure = value.confidence >= MEDIUM and not value.doubt
    return value.kind == DEVICE and sure and not value.role
