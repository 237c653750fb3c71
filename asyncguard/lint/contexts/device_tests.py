"""Tests of where the data is: `device.type == "cuda"`, `x.device.type in ("cpu", "meta")`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts.counters import RARELY_FALSE, RARELY_TRUE, Rarity
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.values import DEVICE, HOST_ARRAY
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted

_PLACE = family("device.named")
_ASKS_IF = (cst.Equal, cst.In)
_ASKS_IF_NOT = (cst.NotEqual, cst.NotIn)
_SEVERAL = (cst.List, cst.Tuple, cst.Set)


def of_place(frame: Frame, test: cst.BaseExpression) -> Rarity | None:
    """Answer for a test of the device: what is done on one of another type is rare.

    `device.type == "cpu"`, `x.device.type not in ("cuda", "hip")`, `x.is_cuda`; or of an argument
    that says otherwise by default: `mode == "cpu"`. A file that imports the package of another
    device runs on that one too.
    """
    if type(test) is cst.Attribute:
        return _of_attribute(frame, test)
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return None
    target = test.comparisons[0]
    if type(target.operator) not in (*_ASKS_IF, *_ASKS_IF_NOT):
        return None
    words = _words(target.comparator)
    if not words or not _names_place(frame, test.left):
        return None
    asks_if = type(target.operator) in _ASKS_IF
    others = load().language.other_devices - frame.analysis.devices
    if others.issuperset(words):
        return RARELY_TRUE if asks_if else RARELY_FALSE
    own = load().devices - others
    if own.isdisjoint(words) or _is_of_host_array(frame, test.left):
        return None
    return RARELY_FALSE if asks_if else RARELY_TRUE


def _of_attribute(frame: Frame, test: cst.Attribute) -> Rarity | None:
    """Answer for `x.is_cuda` and `x.is_cpu` of what is on the device otherwise."""
    answer = {"is_cuda": RARELY_FALSE, "is_cpu": RARELY_TRUE}.get(test.attr.value)
    if answer is None:
        return None
    owner = frame.lookup(dotted(test.value))
    return answer if owner is not None and owner.kind == DEVICE else None


def _words(node: cst.BaseExpression) -> Sequence[str]:
    """Return the types of devices that a test compares with; none if it is of something else."""
    if isinstance(node, _SEVERAL):
        listed = [_words(element.value) for element in node.elements]
        return [*chain.from_iterable(listed)] if all(listed) else ()
    if type(node) is cst.Call and len(node.args) == 1:
        node = node.args[0].value  # torch.device("cpu")
    return [node.value[1:-1]] if type(node) is cst.SimpleString else ()


def _names_place(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether a test asks a device, or an argument whose default is a word."""
    path = dotted(node)
    if not path or _PLACE(path):
        return bool(path)
    parameters = frame.function.parameters if frame.function is not None else ()
    return any(type(p.default) is cst.SimpleString for p in parameters if p.name == path)


def _is_of_host_array(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether this is the device of an array in host memory, which is moved if it is not there."""
    owner, _, asked = dotted(node).removesuffix(".type").rpartition(".")
    value = frame.lookup(owner) if owner and asked == "device" else None
    return value is not None and value.kind == HOST_ARRAY
