"""The role of a class, by its name and its methods: a metric, a criterion, an environment, ..."""

from __future__ import annotations

import re
from collections.abc import Collection

from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.names import family, group, split

_CRITERION = family("class.criterion")


def kinds_by_name(name: str) -> list[str]:
    """Return what a class is by the last word of its name, or the first."""
    words = split(name)
    kinds = [
        kind
        for kind, tells in group("class").items()
        if words and (tells(words[-1]) or (tells(words[0]) and kind != "criterion"))
    ]
    return ["criterion", *kinds] if any(map(_CRITERION, words[1:])) else kinds  # `ComputeLossOTA`


# What a class is by its methods: it has one of each group.
_CLASS_METHODS = {
    "buffer": (family("function.samples"), family("function.adds")),  # of experience
    "environment": (family("function.steps"), family("function.resets")),
    "metric": (family("function.collects"), family("function.sums_up")),
    "updated": (family("function.updates_metric"),),  # by a method that is there for that alone
}


def kinds_by_methods(methods: frozenset[str]) -> list[str]:
    """Return what a class is by the methods that it defines."""
    return [
        kind
        for kind, groups in _CLASS_METHODS.items()
        if all(any(map(one_of, methods)) for one_of in groups)
    ]


def runs_elsewhere(cls: ClassInfo, runtimes: Collection[str]) -> bool:
    """Whether a class loads a library itself that runs its model on no CUDA device.

    `import openvino` in one of its methods: such libraries are there only for those who use them.
    """
    imports = re.compile(rf"(?m)^\s+(?:import|from)\s+(?:{'|'.join(sorted(runtimes))})\b")
    return any(imports.search(_text(method)) for method in cls.methods.values())


def _text(function: FunctionInfo) -> str:
    """Return the lines of a function."""
    where = function.outlined
    return "\n".join(function.module.lines[where.line : where.last]) if where is not None else ""
