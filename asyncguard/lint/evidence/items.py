"""The items of evidence that a site gives, by name.

An item says what is the case and judges nothing; it is worth what `rules/evidence.toml` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.domain.copies import MAYBE
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, Site
from asyncguard.lint.domain.reasons import Doubt
from asyncguard.lint.domain.values import CALLABLE, SYMBOL, Role, Value
from asyncguard.lint.evidence.values import of_value
from asyncguard.lint.evidence.weights import ENTRY, MAY_BE_LITTLE
from asyncguard.lint.names import family
from asyncguard.lint.names.families import Predicate
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Confidence, SyncKind

# Families of names, by what bears them, that are items of evidence themselves.
_SUBJECTS = {
    "value.output": family("value.output"),
    "value.record": family("value.record"),
    "value.batch": family("value.batch"),
}
_FUNCTIONS = {
    "function.tells": family("function.tells"),
    "function.prepares_inputs": family("function.prepares_inputs"),
    "function.samples": family("function.samples"),
}
_OWNERS = {
    "role.prepares": family("role.prepares"),
    "class.metric": family("class.metric"),
    "class.dataset": family("class.dataset"),
    "class.policy": family("class.policy"),
}


def of_site(site: Site) -> tuple[str, ...]:
    """Return what is known of a site when its function has been analysed."""
    return tuple(sorted({*_of_value(site), *site.read.standing}))


def of_place(
    point: SyncPoint,
    node: cst.CSTNode,
    subject: cst.CSTNode | None,
    function: FunctionInfo,
    imported: Callable[[str], bool],
) -> frozenset[str]:
    """Return what the place itself shows, while its tree is at hand.

    imported: whether a name stands there for a module, or for what one holds.
    """
    found = {*_of_subject(subject), *of_value(subject, imported), *_of_function(function)}
    if point.kind == SyncKind.UPLOAD and type(node) is cst.Call:
        found.update(_of_destination(node, function))
    return frozenset(found)


def how_it_asks(node: cst.CSTNode, statement: cst.CSTNode | None) -> str:
    """Name the builtin, method or statement that asks for a value: "max", "assert"; "": another."""
    if type(node) is cst.Call and type(node.func) is cst.Name:
        return node.func.value
    if type(node) is cst.Call and type(node.func) is cst.Attribute:
        return node.func.attr.value
    plain = type(statement) is cst.Assert and type(statement.msg) in (type(None), cst.SimpleString)
    return "assert" if plain else ""


def _of_value(site: Site) -> Iterator[str]:
    yield f"api.{site.point.id}"
    yield f"kind.{site.point.kind.value}"
    if site.point.confidence != Confidence.HIGH:
        yield f"{ENTRY}{site.point.confidence.value}"
    if site.point.kind == SyncKind.BARRIER:
        return
    if site.point.versions:
        yield "entry.of_some_releases"
    why = "by_name_of_call" if site.if_handed else site.why.kind.name.lower()
    yield f"value.{why}"
    yield f"{site.point.kind.value}.{why}"
    if site.held == MAYBE:
        yield MAY_BE_LITTLE
    if site.doubt:
        yield "doubt.any"
    for doubt in Doubt:
        if site.doubt & doubt:
            yield f"doubt.{doubt.name.lower()}"
    if site.doubt & Doubt.MAY_HOLD and site.point.kind == SyncKind.TRUTH:
        yield "truth.may_be_empty"  # of a dict or a list, which is asked if it holds anything
    if site.role != Role.NONE:
        yield f"role.{site.role.name.lower()}"
    if site.params:
        yield "reads.parameter"
    if site.via is not None:
        yield "reads.in_helper"
    if site.sink:
        yield "reads.sink"


def _of_destination(call: cst.Call, function: FunctionInfo) -> Iterator[str]:
    """Yield how the device is named that something is copied to."""
    named = [a.value for a in call.args if a.keyword is not None and a.keyword.value == "device"]
    given = named or [a.value for a in call.args[:1] if _is_move(call)]
    if not given:
        yield "to.default"
        return
    node = given[0]
    path = dotted(node)
    if path.endswith(".device"):
        yield "to.self" if path.startswith("self.") else "to.device_of_value"
    elif "." not in path and any(path == p.name for p in function.parameters):
        yield "to.parameter"
    elif path:
        yield "to.self" if path.startswith("self.") else "to.name"
    else:
        yield "to.literal" if type(node) is cst.SimpleString else "to.expression"


def _is_move(call: cst.Call) -> bool:
    """Whether a call moves what it is called on, to its first argument."""
    return type(call.func) is cst.Attribute and call.func.attr.value in ("to", "cuda")


def _of_subject(node: cst.CSTNode | None) -> Iterator[str]:
    """Yield in which shape the value is written, and what its name belongs to."""
    if node is None:
        return
    path = dotted(node)
    if path:
        shape = "self" if path.startswith("self.") else "attribute" if "." in path else "name"
        yield f"subject.{shape}"
        yield from _families(_SUBJECTS, path.rpartition(".")[2], "subject")
    else:
        yield f"subject.{_SHAPES.get(type(node), 'other')}"
    if type(node) is cst.Subscript:
        yield f"index.{min(len(node.slice), 3)}"
    called = node.func if type(node) is cst.Call else None
    if type(called) is cst.Attribute:
        called = called.attr
    if type(called) is cst.Name and _ASKS(called.value):
        yield "subject.predicate"


_ASKS = family("function.asks")


_SHAPES: dict[type, str] = {
    cst.Call: "call",
    cst.Subscript: "element",
    cst.Comparison: "comparison",
    cst.BinaryOperation: "arithmetic",
    cst.UnaryOperation: "arithmetic",
    cst.BooleanOperation: "boolean",
    cst.Attribute: "attribute",
}


def _of_function(function: FunctionInfo) -> Iterator[str]:
    """Yield in which code the place stands."""
    name = function.name
    cls = function.cls
    if cls is None:
        yield "in.function"
    else:
        yield "in.model" if _is_model(cls) else "in.class"
        yield from _families(_OWNERS, cls.name, "in")
    if name in _METHODS:
        yield f"in.{name.strip('_')}"
    if function.marks_step:
        yield "in.training"
    yield from _families(_FUNCTIONS, name, "in")


_METHODS = frozenset({"forward", "__init__", "__call__", "step", "update", "compute"})


def _is_model(cls: ClassInfo) -> bool:
    """Whether a class inherits from a framework's models, as far as its bases are known."""
    return any(_is_of_models(base) for known in cls.family() for base in known.bases)


def _is_of_models(base: Value) -> bool:
    if base.kind in CALLABLE:
        return True
    if base.kind == SYMBOL:
        return base.name.rpartition(".")[2] in ("Module", "Block", "HybridBlock", "Layer", "Model")
    return False


def _families(which: Mapping[str, Predicate], name: str, about: str) -> Iterator[str]:
    return (f"{about}.{one}" for one, holds in which.items() if holds(name))
