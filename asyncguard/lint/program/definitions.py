"""Which functions a call by name may mean.

A method called on an object of unknown class is matched by its name, where that is distinctive.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from asyncguard import catalogue
from asyncguard.lint.domain.handed import OF_NAME, OF_PYTHON
from asyncguard.lint.program.facts import FileFacts, FunctionId, NamedCall


@lru_cache(maxsize=1)
def common() -> frozenset[str]:
    """Return the names that say nothing of whose method is called: Python's own, and arrays'.

    And those of collectives.
    """
    language = catalogue.load().language
    return language.array_methods.union(OF_PYTHON, language.collectives)


def _is_common(name: str) -> bool:
    """Whether a name says nothing of whose method it is; torch's `copy_` copies in place."""
    return name in common() or name.removesuffix("_") in common()


ANYBODY = frozenset({""})  # whose method it is
# Definitions of a name of several words, of one, and of a method left to subclasses.
MANY, FEW, MOST = 12, 1, 40


def is_distinctive(name: str, definitions: int = 1) -> bool:
    """Whether a name, of so many functions, is rare enough to say what is called by it.

    `Base.method` is a method that a class leaves to its subclasses, however many; `.method` one of
    any class, and `~kernel.method` one of a class that is named like the variable.
    """
    if name.startswith(OF_NAME):
        method = name.rpartition(".")[2]
        return definitions <= MOST and not _is_common(method)
    if "." in name:
        if is_override(name):
            return True  # by whose class it is called
        return definitions <= MOST and not _is_common(name[1:])
    limit = MANY if "_" in name.strip("_") else FEW
    return definitions <= limit and not _is_common(name) and not name.startswith("__")


def is_override(name: str) -> bool:
    """Whether a call names the class whose method, or an override of it, is called."""
    return bool(name.rpartition(".")[0]) and not name.startswith(OF_NAME)


class Definitions(NamedTuple):
    """The functions that calls by name may mean.

    A name that too many files use tells in its own file still: one of many scripts that are alike.
    """

    telling: Mapping[str, set[FunctionId]]
    own: Mapping[FunctionId, set[FunctionId]]  # by path and name
    shared: frozenset[str] = frozenset()  # names of classes that several files define

    def of(self, call: NamedCall) -> Collection[FunctionId]:
        """Return the functions that a call may mean.

        Of classes of one name, those are meant that stand nearest to the caller.
        """
        found = self.telling.get(call.name)
        if found and call.name.rpartition(".")[0] in self.shared:
            near = {key: _nearness(call.caller_path, key[0]) for key in found}
            return {key for key in found if near[key] == max(near.values())}
        return found or self.own.get((call.caller_path, call.name), set())


def _nearness(path: str, other: str) -> int:
    """Return how many folders two paths have in common."""
    folders = zip(path.split(os.sep)[:-1], other.split(os.sep)[:-1], strict=False)
    return len([*takewhile(lambda pair: pair[0] == pair[1], folders)])


def definitions(files: Collection[FileFacts], above: Mapping[str, set[str]]) -> Definitions:
    """Return the functions that calls by name may mean, by their telling names.

    `above`: the classes of each name together with what they inherit from.
    """
    collected = _Collected({call.name for facts in files for call in facts.named}, above)
    for facts in files:
        for name, qualname, _ in facts.defined:
            collected.note(name, (facts.path, qualname))
    roots = frozenset[str]().union(*above.values())
    for facts in files:
        collected.note_overridden(facts, roots)
    classes = Counter(name for facts in files for name in facts.bases)
    shared = frozenset(name for name, count in classes.items() if count > 1)
    return collected.definitions()._replace(shared=shared)


class _Collected:
    """The definitions of the names that are called."""

    def __init__(self, called: Collection[str], above: Mapping[str, set[str]]) -> None:
        self._called = called
        self._above = above
        self._found: dict[str, set[FunctionId]] = {}
        self._owners: dict[str, set[str]] = {}  # the classes that define a method
        self._wanted: dict[str, set[str]] = {}  # methods, by what is said of whose they are
        self._alike: dict[str, dict[str, list[str]]] = {}  # likewise, by how such classes end
        self._endings: dict[str, set[str]] = {}  # how classes and those above them end
        for base, dot, method in (name.rpartition(".") for name in called):
            if dot:
                self._wanted.setdefault(method, set()).add(base)
            if dot and base.startswith(OF_NAME):
                alike = self._alike.setdefault(method, {})
                alike.setdefault(_named_like(base), []).append(base)
        self._asked = {ending for alike in self._alike.values() for ending in alike}

    def note(self, name: str, key: FunctionId) -> None:
        """Note that a function is defined under this name."""
        called = name in self._called
        if called:
            self._found.setdefault(name, set()).add(key)
        owner = key[1].rpartition(".")[0].rpartition(".")[2]
        if not owner:
            return
        if called:
            self._owners.setdefault(name, set()).add(owner)
        if bases := self._wanted.get(name):
            above = self._above.get(owner, ANYBODY)
            for base in (*(bases & above), *(bases & ANYBODY)):
                self._found.setdefault(f"{base}.{name}", set()).add(key)
            if alike := self._alike.get(name):
                for ending in alike.keys() & self._ends(owner):
                    for base in alike[ending]:
                        self._found.setdefault(f"{base}.{name}", set()).add(key)

    def _ends(self, owner: str) -> set[str]:
        """Return how a class and those above it end, as far as it is asked for."""
        if owner not in self._endings:
            family = {cls.lower() for cls in (owner, *self._above.get(owner, ()))}
            endings = {cls[start:] for cls in family for start in range(len(cls) + 1)}
            self._endings[owner] = endings & self._asked
        return self._endings[owner]

    def note_overridden(self, facts: FileFacts, roots: frozenset[str]) -> None:
        """Note the methods that others override, though nothing in them waits."""
        for owner, names in facts.bare.items():
            for name in names if owner in roots else ():
                if name in self._found:
                    self._owners.setdefault(name, set()).add(owner)

    def _overriding(self, name: str) -> int:
        """Return how many classes inherit what they define by this name from another of them."""
        owners = self._owners.get(name, set())
        return sum(
            any(base != owner and base in owners for base in self._above.get(owner, ()))
            for owner in owners
        )

    def definitions(self) -> Definitions:
        """Return the names that tell which functions are meant."""
        telling: dict[str, set[FunctionId]] = {}
        own: dict[FunctionId, set[FunctionId]] = {}
        for name, keys in self._found.items():
            alike = max(len(keys) - self._overriding(name), 1)  # overrides mean what they override
            if is_distinctive(name, alike):
                telling[name] = keys
            elif is_distinctive(name, MANY):
                for path, function in keys:
                    own.setdefault((path, name), set()).add((path, function))
        return Definitions(telling, {k: keys for k, keys in own.items() if len(keys) <= MANY})


def _named_like(variable: str) -> str:
    """Return how a class ends after which a variable is named: `kernel` of an `MCMCKernel`."""
    return variable[len(OF_NAME) :].replace("_", "").lower()


def classes_above(files: Iterable[FileFacts]) -> dict[str, set[str]]:
    """Return the classes of each name together with what they inherit from, as far as is seen."""
    bases: dict[str, set[str]] = {}
    for facts in files:
        for name, known in facts.bases.items():
            bases.setdefault(name, set()).update(known)
    found = {}
    for name in bases:
        found[name] = {name}
        pending = [name]
        while pending:
            new = bases.get(pending.pop(), set()) - found[name]
            found[name] |= new
            pending += new
    return found
