"""Sites of syntax that invokes a protocol (`if x`, f-strings, `in`, `np.asarray(x)`).

The catalogue says which protocols of which values block.
"""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.contexts.iteration import first_device
from asyncguard.lint.domain.reasons import HIGH, Doubt
from asyncguard.lint.domain.values import DEVICE, UNKNOWN, Role, Value, doubted
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted


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
    text = protocol in ("__repr__", "__str__", "__format__")
    read = first_device(value) if text or sink else value
    if read.kind != DEVICE and not (read.kind == UNKNOWN and read.params):
        return False
    if text and read.kind == UNKNOWN and read.role == Role.PART_OF_ARGUMENT:
        return False  # what is printed of an argument is its name or the like
    if text and read.role == Role.MODEL_OUTPUT and _NUMBERS(dotted(node)):
        return False  # so is what numbers the parts of what a model gave
    unsure = read.kind == UNKNOWN or read.confidence < HIGH
    if text and unsure and _NAMES(dotted(node)):
        return False  # a word, maybe one of a batch
    if (
        read.role in (Role.MODEL_OUTPUT, Role.NAME_INFERRED)
        and protocol in ("__bool__", "__contains__")
    ) or (unsure and protocol == "__contains__"):
        read = doubted(
            read, Doubt.MAY_HOLD
        )  # it may as well be a dict or a tuple, or a setting: `x.aux_loss`
    if read.role == Role.NAME_INFERRED and text:
        likely = frame.analysis.knowledge.likely[read.framework]
        if "item" in likely:  # where that is common, what is printed mostly is a number already
            read = doubted(read, Doubt.MAY_BE_HOST)
    if protocol == "__array__" and read.kind == DEVICE and read.confidence < HIGH:
        known = frame.analysis.knowledge.frameworks.get(read.framework)
        if known is not None and not known.asynchronous_cpu:
            read = doubted(
                read, Doubt.MAY_BE_HOST
            )  # NumPy takes none from a device: it is on the host by now
    frameworks = (read.framework,) if read.framework else frame.analysis.frameworks
    for framework in frameworks:
        if among and framework not in among:
            continue
        point = frame.analysis.knowledge.sync_protocols.get((framework, protocol))
        if point is not None:
            frame.site(point, node, read, sink=sink, whole=whole, subject=node)
            return True
    return False


_NAMES = family("value.text")
_NUMBERS = family("value.number")


def operator_site(frame: Frame, operator: str, node: cst.CSTNode, value: Value) -> None:
    """Note a subscript that blocks."""
    for framework in (value.framework,) if value.framework else frame.analysis.frameworks:
        point = frame.analysis.knowledge.sync_operators.get((framework, operator))
        if point is not None:
            frame.site(point, node, value, subject=node)
            return
