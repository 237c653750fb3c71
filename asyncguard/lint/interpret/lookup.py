"""Names and attributes: the value at a path, or else what usage and names suggest."""

from __future__ import annotations

import functools

import libcst as cst

from asyncguard.lint.contexts.effects import note_call
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.homes import host_of
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.definitions import ClassInfo, class_of, each_instance
from asyncguard.lint.domain.join import join, symbols
from asyncguard.lint.domain.reasons import MEDIUM, NAMED, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    ARRAYS,
    CALLABLE,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MEMBER,
    NONE_VALUE,
    START_VALUES,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    as_sure,
    confirmed,
    container,
    doubted,
    from_params,
    literal,
    part_of,
    settled,
    symbol,
    with_role,
)
from asyncguard.lint.interpret.memory import without_older
from asyncguard.lint.interpret.structures import keyed
from asyncguard.lint.interpret.types import instance_of, type_value
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted


def name_expression(frame: Frame, node: cst.Name) -> Value:
    """A variable, a builtin, or something that a star import may have brought."""
    found = frame.lookup(node.value)
    if found is not None and found.kind == SYMBOL:
        if found.items is None:
            return _stands_for(frame, found)
        return functools.reduce(join, [_stands_for(frame, one) for one in symbols(found)])
    if found is not None:
        return _placed_by_name(frame, node.value, hinted_at(frame, node.value, found))
    if node.value in ("True", "False"):
        return literal(node.value == "True")
    if node.value == "None":
        return NONE_VALUE
    starred = frame.analysis.from_star_imports(node.value)
    if starred is not None:
        return starred
    hinted = prior_for(frame, node.value)
    return hinted if hinted.kind != UNKNOWN else symbol(node.value)


def _placed_by_name(frame: Frame, name: str, known: Value) -> Value:
    """Return a value as one in host memory where its name says so: `seq_lens_cpu`, `host_table`.

    Whoever keeps a twin on the host names it so; the copy that makes it waits, its readers do not.
    """
    if known.kind not in (DEVICE, UNKNOWN) or not _ON_HOST(name):
        return known
    framework = next(filter(None, (known.framework, *frame.analysis.frameworks)), "")
    if not framework:
        return known
    return Value(HOST_ARRAY, framework, frame.by_name(f"`{name}` is named like a host value"))


def _stands_for(frame: Frame, named: Value) -> Value:
    """Return the function, number or text of checked code that a symbol stands for, or it."""
    if "." not in named.name:
        return named
    function = frame.analysis.called_function(frame, named.name)
    if function is not None:
        return function
    constant = frame.analysis.constant(frame, named.name)
    return constant if constant is not None and constant.literal is not None else named


def hinted_at(frame: Frame, path: str, known: Value) -> Value:
    """Return a variable's value; where little is known, what usage and its name say of it."""
    if known.kind in CALLABLE and known.confidence == NAMED and frame.trains:
        return confirmed(
            known, known.why._replace(kind=Provenance.HOT_NAME)
        )  # a name that was copied outside the loop
    if known.kind not in (UNKNOWN, DEVICE) or _is_settled(known):
        return known
    hinted = prior_for(frame, path, named=known.role != Role.OPAQUE_RESULT)
    if hinted.kind == UNKNOWN:
        return known
    return _surer(known, hinted) if known.kind == DEVICE else from_params(hinted, known.params)


def _is_settled(known: Value) -> bool:
    """Whether usage and a name tell nothing more of a value: they tell of other paths.

    Or of what it was before it was read.
    """
    if known.kind == DEVICE and known.confidence >= MEDIUM and known.role is not Role.NAME_INFERRED:
        return True
    return (known.was_read and not known.params) or known.role is Role.NO_ARRAY


def _surer(known: Value, hinted: Value) -> Value:
    """Return a device value with what usage or its name adds."""
    if hinted.kind != DEVICE:
        return known
    if known.role is Role.NAME_INFERRED and hinted.role is not Role.NAME_INFERRED:
        return as_sure(known, hinted)._replace(role=hinted.role)
    return known if known.confidence >= hinted.confidence else as_sure(known, hinted)


def attribute(frame: Frame, node: cst.Attribute) -> Value:
    """An attribute: what was stored at its path, else what its owner says."""
    path = dotted(node)
    if path:
        found = frame.lookup(path)
        if found is not None:
            return _placed_by_name(frame, node.attr.value, hinted_at(frame, path, found))
    owner = evaluate(frame, node.value)
    if node.attr.value == "device" and _is_handed_array(frame, node.value, owner):
        return Value(HOST, role=Role.DEVICE_OF_ARGUMENT, params=owner.params)
    value = _placed_by_name(frame, node.attr.value, attribute_of(frame, owner, node.attr.value))
    if value.kind == UNKNOWN and value.role != Role.IN_PROGRESS:
        hinted = prior_for(frame, path or f".{node.attr.value}")
        if hinted.kind != UNKNOWN:
            return hinted
    return value


def computed_with(frame: Frame, node: cst.BaseExpression) -> Value:
    """Return an operand or an index. An attribute that is only ever set to `None` in sight is none.

    It is set from elsewhere then: `projection.mask = radius < 3`.
    """
    value = evaluate(frame, node)
    return UNKNOWN_VALUE if value.is_none and type(node) is cst.Attribute else value


_OPTIONS, _RUNS = family("value.options"), family("parameter.runs")
_ON_HOST = family("value.host")


def _is_handed_array(frame: Frame, node: cst.BaseExpression, owner: Value) -> bool:
    """Whether this is an argument of which only a device is taken, as of an array: `ref.device`.

    Its name is not that of options, of a model or of what runs the program.
    """
    if type(node) is not cst.Name or owner.kind != UNKNOWN or frame.function is None:
        return False
    index = owner.params.only
    parameters = frame.function.parameters
    if not 0 <= index < len(parameters) or parameters[index].name != node.value:
        return False
    return is_likely_array(frame, node, owner)


def is_likely_array(frame: Frame, node: cst.BaseExpression, value: Value) -> bool:
    """Whether a variable of unknown kind that has a `.device` is an array.

    Others that have one are options, models and what runs the program, by their names; but not one
    of several that are handed by number: `args[0].device`.
    """
    if type(node) is cst.Subscript and value.kind == UNKNOWN:
        at = node.slice[0].slice
        return type(at) is cst.Index and type(at.value) is cst.Integer
    if type(node) is not cst.Name or value.kind != UNKNOWN or node.value == "self":
        return False
    named = _OPTIONS(node.value) or _RUNS(node.value)
    return not named and prior_for(frame, node.value).kind not in CALLABLE


_OF_ARRAYS = frozenset({"shape", "ndim"})  # of any kind
_CARRIED = family("parameter.carried")


def attribute_of(frame: Frame, owner: Value, attr: str) -> Value:
    """Return what attribute `attr` of `owner` is."""
    knowledge = frame.analysis.knowledge
    if owner.kind == SYMBOL:
        return frame.analysis.resolve(f"{owner.name}.{attr}")
    if owner.kind in ARRAYS and not defines(owner, attr):
        return _array_attribute(frame, owner, attr)
    if isinstance(owner.ref, ClassInfo):
        return _class_attribute(frame, owner, attr)
    if type(owner.ref) is tuple:
        each = [attribute_of(frame, one, attr) for one in each_instance(owner)]
        return functools.reduce(join, each)
    if owner.kind == UNKNOWN:
        return _unknown_attribute(frame, owner, attr)
    if owner.kind == CONTAINER and (known := owner.fields.get(attr)) is not None:
        return known
    if kind := knowledge.part(owner.framework, owner.kind, attr):
        return Value(kind, owner.framework, _by_attribute(frame, attr))
    return HOST_VALUE if owner.kind == HOST and not owner.is_none else UNKNOWN_VALUE


def defines(owner: Value, attr: str) -> bool:
    """Whether an array is of a checked class that has its own attribute or method of a name."""
    if not isinstance(owner.ref, ClassInfo):
        return False
    family = list(owner.ref.family())
    known = any(attr in c.methods or attr in c.annotations or attr in c.hints for c in family)
    return known or any(method.sets(attr) for c in family for method in c.methods.values())


def _array_attribute(frame: Frame, owner: Value, attr: str) -> Value:
    knowledge = frame.analysis.knowledge
    kind = knowledge.attributes.get(owner.framework, {}).get(attr)
    if kind is None:
        # Maybe the method itself: `image.size`, of what may be no array at all.
        method = knowledge.methods.get(owner.framework, {}).get(attr)
        if method == HOST:
            return HOST_VALUE
        known = knowledge.frameworks.get(owner.framework)
        if known is not None and known.closed and attr not in known.array_attributes:
            return UNKNOWN_VALUE  # so that it is no array
        if _CARRIED(attr):
            return container(part_of(owner))  # of each layer: `outputs.past_key_values`
        if attr[0] == "_":
            return UNKNOWN_VALUE
        return keyed(owner) if owner.role is Role.SETTLED else part_of(owner)  # `batch.data`
    if kind != HOST:
        return owner._replace(kind=kind)
    if attr == "device" and owner.kind == HOST_ARRAY and owner.role is not Role.BATCH:
        return literal("cpu")
    if attr == "device" and owner.kind == DEVICE and owner.params:
        return Value(HOST, role=Role.DEVICE_OF_ARGUMENT, params=owner.params)
    return HOST_VALUE


def _unknown_attribute(frame: Frame, owner: Value, attr: str) -> Value:
    """Return an attribute of something of unknown kind, an argument mostly."""
    knowledge, frameworks = frame.analysis.knowledge, frame.analysis.frameworks
    tables = (knowledge.attributes, knowledge.methods) if owner.params else ()
    plain = any(table[framework].get(attr) == HOST for table in tables for framework in frameworks)
    if plain or attr in _OF_ARRAYS:
        return HOST_VALUE
    if found := knowledge.by_attribute(attr, frameworks):
        return Value(*found, _by_attribute(frame, attr), params=owner.params)
    if not owner.params:
        return UNKNOWN_VALUE
    name = f"{owner.name}.{MEMBER}{attr}"
    return Value(role=Role.PART_OF_ARGUMENT, params=owner.params, name=name)


def _by_attribute(frame: Frame, attr: str) -> Reason:
    return frame.reason(Provenance.ATTRIBUTE, f"`.{attr}` is an attribute of such values")


def _class_attribute(frame: Frame, owner: Value, attr: str) -> Value:
    given = owner.fields.get(attr)  # what it was made of
    if given is not None and given.kind != UNKNOWN and given.role not in START_VALUES:
        return given
    cls = class_of(owner)
    for base in cls.family():
        known = base.module.attribute(base, attr)
        if known is not None and known is base.own.get(attr) and known.kind == FUNCTION:
            return known._replace(items=(owner, *(known.items or ())))  # it becomes a method
        if known is not None:
            return without_older(frame, settled(known))
        if attr in base.annotations:
            base.attributes[attr] = declared = _declared_attribute(frame, base, attr)
            return declared
    method = cls.lookup(attr)
    if method is not None:
        if method.is_property:
            note_call(frame, method)
            return frame.analysis.summary_for(method).result
        return Value(FUNCTION, ref=method, element=owner)
    return UNKNOWN_VALUE


def _declared_attribute(frame: Frame, cls: ClassInfo, attr: str) -> Value:
    """Return what the body of a class declares an attribute of its instances to be."""
    with frame.speculation():
        declared = type_value(host_of(cls).frame, cls.annotations[attr])
    if declared.kind == UNKNOWN:
        declared = cls.defaults.get(attr, declared)
    pure = frame.analysis.knowledge.functional_of((declared.framework,))
    if pure and declared.kind == DEVICE:
        declared = doubted(declared, Doubt.MAY_HOLD)
    return with_role(declared, Role.UNPLACED) if _is_held(frame, cls, declared) else declared


def _is_held(frame: Frame, cls: ClassInfo, declared: Value) -> bool:
    """Whether a class, by what it declares, holds an array from anywhere: a model moves its own."""
    if declared.kind != DEVICE or instance_of(cls).kind in CALLABLE:
        return False
    known = frame.analysis.knowledge.frameworks.get(declared.framework)
    return known is not None and not known.asynchronous_cpu


EXPRESSIONS: Expressions = {
    cst.Name: name_expression,
    cst.Attribute: attribute,
}
