"""Sites of syntax that invokes a protocol (`if x`, f-strings, `in`, `np.asarray(x)`).

The catalogue says which protocols of which values block.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.effects import note_site
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence, together
from asyncguard.lint.domain.reasons import HIGH, Doubt
from asyncguard.lint.domain.values import CONTAINER, DEVICE, UNKNOWN, Role, Value, doubted
from asyncguard.lint.interpret import copies
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

_TEXT = frozenset({"__repr__", "__str__", "__format__"})
_OF_CONTAINERS = frozenset({"__bool__", "__contains__"})
_OF_NUMBERS = frozenset({"__float__", "__int__", "__complex__", "__index__"})


def protocol_site(
    frame: Frame,
    protocol: str,
    node: cst.CSTNode,
    value: Value,
    *,
    sink: bool = False,
    whole: bool = False,
    among: tuple[str, ...] = (),
) -> bool:
    """Note a site if `protocol` of `value` (or of what it contains) waits.

    `whole`: of a container it asks for nothing. `among`: only for values of these frameworks.
    """
    if value.kind != CONTAINER or protocol != "__bool__":  # a list tells whether it holds any
        copies.use(frame, node, value)
    read = _first_read(value) if sink or protocol in _TEXT else value
    if read.kind != DEVICE and not (read.kind == UNKNOWN and read.params):
        return False
    if protocol in _TEXT and _is_a_word(read, dotted(node)):
        return False
    read = _as_used(frame, protocol, read)
    frameworks = (read.framework,) if read.framework else frame.analysis.frameworks
    for framework in frameworks:
        if among and framework not in among:
            continue
        point = frame.analysis.knowledge.sync_protocols.get((framework, protocol))
        if point is not None:
            note_site(frame, point, node, read, sink=sink, whole=whole, subject=node)
            return True
    return False


def _first_read(value: Value) -> Value:
    """Return the device value that a value is or holds, else what it holds of parameters."""
    found = first_device(value)
    if found.kind != CONTAINER or not (params := _held_of_parameters(found)):
        return found
    return Value(params=params)


def _held_of_parameters(value: Value, depth: int = 0) -> Dependence:
    """Return the parameters that what a container holds comes from: `{"loss": loss}`."""
    if value.kind == UNKNOWN:
        return value.params
    if value.kind != CONTAINER or depth > 3:
        return INDEPENDENT
    inner = [*(value.items or ()), *(v for _, v in value.fields)]
    if value.element is not None:
        inner.append(value.element)
    return together(_held_of_parameters(part, depth + 1) for part in inner)


def _is_unsure(value: Value) -> bool:
    return value.kind == UNKNOWN or value.confidence < HIGH


def _is_a_word(value: Value, name: str) -> bool:
    """Whether what is printed is no array by its name: a word, the name of a part."""
    if value.kind == UNKNOWN and value.role == Role.PART_OF_ARGUMENT:
        return True
    return _is_unsure(value) and _NAMES(name)


def _as_used(frame: Frame, protocol: str, value: Value) -> Value:
    """Return a value under the doubts that come from how it is used."""
    if protocol in _OF_NUMBERS and value.doubt & Doubt.MAY_HOLD:
        value = value._replace(doubt=value.doubt & ~Doubt.MAY_HOLD)  # no dict is made a number
    parts = value.role in (Role.MODEL_OUTPUT, Role.NAME_INFERRED) and protocol in _OF_CONTAINERS
    if parts or (protocol == "__contains__" and _is_unsure(value)):
        value = doubted(value, Doubt.MAY_HOLD)  # or be a setting: `x.aux_loss`
    printed = protocol in _TEXT and value.role == Role.NAME_INFERRED
    if printed and "item" in frame.analysis.knowledge.likely[value.framework]:
        return doubted(value, Doubt.MAY_BE_HOST)  # where that is common, it is a number already
    if protocol == "__array__" and value.kind == DEVICE and value.confidence < HIGH:
        known = frame.analysis.knowledge.frameworks.get(value.framework)
        if known is not None and not known.asynchronous_cpu:
            # NumPy takes none from a device: it is on the host by now.
            return doubted(value, Doubt.MAY_BE_HOST)
    return value


_NAMES = family("value.text")


def operator_site(frame: Frame, operator: str, node: cst.CSTNode, value: Value) -> None:
    """Note a subscript that blocks."""
    for framework in (value.framework,) if value.framework else frame.analysis.frameworks:
        point = frame.analysis.knowledge.sync_operators.get((framework, operator))
        if point is not None:
            note_site(frame, point, node, value, subject=node)
            return
