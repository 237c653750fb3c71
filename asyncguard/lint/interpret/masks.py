"""Whether an array is a mask or holds indices, by what makes it."""

from __future__ import annotations

from collections.abc import Sequence

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.values import ARRAYS, SYMBOL, Place, Role, Value, with_role
from asyncguard.lint.interpret.arguments import last
from asyncguard.lint.interpret.placement import names_a_device
from asyncguard.lint.interpret.structures import innermost_value
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.names import family


def as_mask(
    frame: Frame, result: Value, name: str, operands: Sequence[Value], arguments: Arguments
) -> Value:
    """Return an array in the role that what makes it gives: a mask, indices, or none of its own."""
    if result.kind not in ARRAYS:
        return result
    knowledge, framework = frame.analysis.knowledge, result.framework
    unplaced = result.place is Place.EITHER
    if _makes_mask(knowledge, framework, name, operands, arguments):
        return with_role(result, Role.MASK)
    keeps = name == "to" or name in knowledge.keeps_masks.get(framework, NOTHING)
    if keeps and any(innermost_value(o).role == Role.INDICES for o in operands[:1]):
        return with_role(result, Role.INDICES)
    anywhere = unplaced and name in knowledge.whole  # it is still not known where
    if name in knowledge.makes_indices.get(framework, NOTHING) and not anywhere:
        return with_role(result, Role.INDICES)
    if not unplaced and any(map(_is_integer_type, arguments)):
        return with_role(result, Role.INDICES)
    return with_role(result, Role.UNPLACED if unplaced else Role.NONE)


_INTEGER = family("dtype.integer")


def _is_integer_type(argument: Argument) -> bool:
    """Whether an argument asks for integers, of which an array is no mask, whatever its name."""
    return argument.value.kind == SYMBOL and _INTEGER(last(argument.value.name))


def _makes_mask(
    knowledge: Knowledge,
    framework: str,
    name: str,
    operands: Sequence[Value],
    arguments: Arguments,
) -> bool:
    """Whether a function or method makes a mask: always, of masks, or as it is told to."""
    if name in knowledge.makes_masks.get(framework, NOTHING):
        return True
    if name in knowledge.keeps_masks.get(framework, NOTHING) and any(map(_is_mask, operands)):
        return True
    if any(
        a.value.kind == SYMBOL and last(a.value.name) in knowledge.mask_types for a in arguments
    ):
        return True
    return name == "to" and _is_mask(operands[0]) and all(map(names_a_device, arguments))


NOTHING: frozenset[str] = frozenset()


def _is_mask(value: Value) -> bool:
    """Whether a value is a mask, or a list or tuple of masks."""
    value = innermost_value(value)
    return value.kind in ARRAYS and value.role == Role.MASK
