"""Methods that a class decorator of checked code replaces, and keeps as a fallback.

    def fast(cls):
        original = cls.forward

        def forward(self, *args):
            return implementations.get(self.chosen, original)(self, *args)

        cls.forward = forward
        return cls

The original runs where nothing else is chosen. A wrapper that calls it itself replaces nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.contexts.homes import host_of
from asyncguard.lint.domain.definitions import FunctionInfo, function_of
from asyncguard.lint.domain.values import FUNCTION, SYMBOL
from asyncguard.lint.syntax.tree import dotted, walk
from asyncguard.model import Loop


def is_fallback(info: FunctionInfo) -> bool:
    """Whether a method that frameworks enter runs only where nothing else is chosen for it."""
    cls = info.cls
    if cls is None or info.hook == Loop.NONE or cls.methods.get(info.name) is not info:
        return False
    for decorator in cls.decorators:
        found = decorator
        if found.kind == SYMBOL:
            found = host_of(cls).resolve(found.name)
        if found.kind == FUNCTION and info.name in _replaced_by(function_of(found)):
            return True
    return False


def _replaced_by(decorator: FunctionInfo) -> frozenset[str]:
    """Return the methods that a decorator replaces by functions that hand on the original."""
    if decorator.replaces is None:
        decorator.replaces = frozenset(_replaced(decorator))
    return decorator.replaces


def _replaced(decorator: FunctionInfo) -> Iterator[str]:
    decorator.module.materialise_body(decorator)
    replacements: dict[str, cst.FunctionDef] = {}
    originals: dict[str, str] = {}  # by the attribute that they were
    replaced: dict[str, str] = {}  # the function's name, by the attribute that it becomes
    for node in walk(decorator.node):
        if type(node) is cst.FunctionDef:
            replacements[node.name.value] = node
        elif type(node) is cst.Assign and len(node.targets) == 1:
            target, value = node.targets[0].target, node.value
            if type(target) is cst.Name and type(value) is cst.Attribute:
                originals[value.attr.value] = target.value
            elif type(target) is cst.Attribute and type(value) is cst.Name:
                replaced[target.attr.value] = value.value
    for method, name in replaced.items():
        original, function = originals.get(method), replacements.get(name)
        if original is not None and function is not None and _hands_on(function, original):
            yield method


def _hands_on(function: cst.FunctionDef, name: str) -> bool:
    """Whether a function gives something to others, and never calls it itself."""
    calls = [node for node in walk(function.body) if type(node) is cst.Call]
    given = (argument.value for call in calls for argument in call.args)
    if any(dotted(call.func) == name for call in calls):
        return False
    return any(dotted(value) == name for value in given)
