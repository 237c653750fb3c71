"""The role of a class, by its name and its methods: a metric, a criterion, an environment, ..."""

from __future__ import annotations

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
