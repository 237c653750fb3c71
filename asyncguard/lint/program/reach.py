"""From where the definitions of a project are reached: its programs, its tests, or its users alone.

A program runs its module's own statements, and with them those of what it imports. A definition is
reached where one that is reached uses its name, and the file of that one defines it or imports it.
A class is one definition: what reaches it may call each of its methods.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from asyncguard.lint.names import family
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.source.mentions import Bound, Mentions
from asyncguard.lint.source.switches import sum_of

Definition = tuple[str, str]  # a file, and the name of what it defines; "": its own statements

_TESTS = family("file.test")
_ASIDE = family("file.aside")
_MAIN = sum_of("__main__")
# What takes names as texts, of what a file imports or defines.
_BY_TEXT = frozenset(map(sum_of, ("eval", "globals", "getattr", "__dict__", "import_module")))
MANY = 4  # files of a project, of which its programs use one, where it is made for them
MOST_HANDED_ON = 8  # files that hand on a name
LONGEST = 8  # parts of a module's name


class Reach:
    """What the files of a project reach. `configured`: sums of the words of its configuration."""

    def __init__(self, facts: Mapping[str, FileFacts], configured: bytes = b"") -> None:
        self._mentions = {path: each.mentions for path, each in facts.items()}
        self._configured = frozenset(memoryview(configured).cast("I"))
        self._bound: dict[str, dict[int, str]] = {}  # the names that files bind, by their sums
        self._files: dict[tuple[str, Bound], tuple[str | None, str]] = {}  # that imports mean

    def by(self, path: str, function: str) -> str:
        """Say what reaches the definition that a function is in.

        What nothing reaches may be for `users` of a package, `beside` what its programs use of the
        file, or in a file `apart` from those that they use, where they use many.
        """
        definition = path, function.partition(".")[0]
        if (how := self._reached.get(definition)) is not None:
            return how
        if not self._used or path in self._parts:
            return "unknown"  # nothing runs anything here: it is a part of something
        if path in self._used:
            return "beside"
        if not self._is_public(definition):
            return "nothing"
        many = len(self._used) * MANY >= len(self._mentions)
        return "apart" if many else "users"

    def _is_packaged(self, path: str) -> bool:
        return os.path.join(os.path.dirname(path), "__init__.py") in self._mentions

    @cached_property
    def _used(self) -> set[str]:
        """The files of which programs reach a definition."""
        programs = ("program", "aside")
        return {path for (path, name), how in self._reached.items() if name and how in programs}

    def _is_public(self, definition: Definition) -> bool:
        """Whether those who install the package may import it."""
        path, name = definition
        parts = path[: -len(".py")].split(os.sep)
        return self._is_packaged(path) and not any(
            part[:1] == "_" != part[1:2] for part in (*parts[-2:], name)
        )

    def _starts(self, path: str) -> bool:
        return _MAIN in _words(self._mentions[path], "")

    @cached_property
    def _imported(self) -> set[str]:
        return {path for one in self._mentions for path in self._imports(one)}

    @cached_property
    def _parts(self) -> set[str]:
        """Of files that all stand alone: those that run nothing, but for what decorators call."""
        if self._imported:
            return set()
        own = {path: _words(told, "") for path, told in self._mentions.items()}
        return {p for p in own if not self._starts(p) and not self._those(p, own[p])}

    @cached_property
    def _reached(self) -> dict[Definition, str]:
        """The definitions that something reaches, by the first of these that does."""
        found: dict[Definition, str] = {}
        roots: dict[str, list[Definition]] = {"program": [], "aside": [], "tests": []}
        for path, told in self._mentions.items():
            outer = path not in self._imported and not self._is_packaged(path)
            if path not in self._parts and (outer or self._starts(path)):
                kind = "tests" if _TESTS(path) else "aside" if _ASIDE(path) else "program"
                started = told.by if kind == "tests" else [""]  # which run by their names
                roots[kind] += ((path, name) for name in started)
            named = (name for name in told.by if name and sum_of(name) in self._configured)
            roots["program"] += ((path, name) for name in named)
        for kind, start in roots.items():
            self._go(kind, start, found)
        return found

    def _go(self, kind: str, start: Iterable[Definition], found: dict[Definition, str]) -> None:
        waiting = [each for each in start if each not in found]
        found.update(dict.fromkeys(waiting, kind))
        while waiting:
            for each in self._used_by(*waiting.pop()):
                if each not in found:
                    found[each] = kind
                    waiting.append(each)

    def _used_by(self, path: str, name: str) -> Iterator[Definition]:
        """Yield what a definition uses, as far as the project defines it."""
        told = self._mentions[path]
        words = _words(told, name)
        yield path, ""  # a module that a text names is run as well
        if not name:
            yield from ((other, "") for other in self._imports(path))
            yield from ((path, each) for each in told.decorated)
        yield from ((path, each) for each in self._those(path, words) if each in told.by)
        for one in told.imports:
            if one.bound == "*" or sum_of(one.bound) in words:
                yield from self._named(path, one, words)

    def _named(self, path: str, one: Bound, words: frozenset[int]) -> Iterator[Definition]:
        """Yield the definitions that an import makes known by these words."""
        file, name = self._meant(path, one)
        if file is None:
            return
        if name:
            yield from self._called(file, name)
            return
        asked = None if not words.isdisjoint(_BY_TEXT) else words
        for known in self._those(file, asked):
            yield from self._called(file, known)

    def _those(self, path: str, words: frozenset[int] | None) -> list[str]:
        """Return the names that a file binds of those with these sums; None: all of them."""
        if path not in self._bound:
            told = self._mentions[path]
            names = {*told.by, *(each.bound for each in told.imports)} - {"", "*"}
            self._bound[path] = {sum_of(name): name for name in names}
        bound = self._bound[path]
        return [bound[each] for each in (bound if words is None else words & bound.keys())]

    def _called(self, path: str, name: str, depth: int = 0) -> Iterator[Definition]:
        """Yield the definition that a file has by a name: its own, or one that it imports."""
        told = self._mentions[path]
        if name in told.by:
            yield path, name
            return
        if depth == MOST_HANDED_ON:
            return
        for one in told.imports:
            if one.bound not in (name, "*"):
                continue
            file, known = self._meant(path, one)
            if file is not None and (known or one.bound == "*"):
                yield from self._called(file, known or name, depth + 1)
            elif file is not None:
                yield from ((file, each) for each in self._mentions[file].by)

    def _imports(self, path: str) -> Iterator[str]:
        """Yield the files that a file's statements import."""
        for one in self._mentions[path].imports:
            if "." in one.bound:
                continue  # a text, which may be the name of anything
            file, name = self._meant(path, one)
            if file is not None:
                yield file
            if not name and (package := self._file(path, one.level, one.module)) is not None:
                yield package

    def _meant(self, path: str, one: Bound) -> tuple[str | None, str]:
        """Return the file that an import means, and the name in it, "" for the module itself."""
        if (path, one) not in self._files:
            whole = f"{one.module}.{one.name}".strip(".") if one.name else ""
            inner = self._file(path, one.level, whole)
            outer = self._file(path, one.level, one.module)
            self._files[path, one] = (outer, one.name) if inner is None else (inner, "")
        return self._files[path, one]

    def _file(self, path: str, level: int, module: str) -> str | None:
        """Return the file of a module; of several, that nearest to who imports it."""
        ways = self._by_module.get(module, ())
        if level:
            folder = path
            for _ in range(level):
                folder = os.path.dirname(folder)
            whole = os.path.join(folder, *module.split("."))
            return next((way for way in ways if _stem(way) == whole), None)
        near = {
            way: (_shared(way, path), -_stem(way).count(os.sep), way) for way in ways if way != path
        }
        return max(near, key=near.__getitem__, default=None)

    @cached_property
    def _by_module(self) -> dict[str, list[str]]:
        """The files by the names that imports may call them, from any folder."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self._mentions:
            parts = _stem(path).split(os.sep)
            for count in range(1, min(len(parts), LONGEST) + 1):
                found[".".join(parts[-count:])].append(path)
        return found


def users_of(files: Mapping[str, FileFacts]) -> dict[int, set[str]]:
    """Return the files, but for unit tests, that use what findings stand in, by sums of names."""
    stand = [(path, c.finding.function) for path, f in files.items() for c in f.candidates]
    named = {name for path, head in stand for name in (head.partition(".")[0], module_name(path))}
    heads = set(map(sum_of, named | {"__name__"}))
    users: dict[int, set[str]] = {}
    for path, facts in files.items():
        for word in heads & facts.mentions.words:
            if not _TESTS(path):
                users.setdefault(word, set()).add(path)
    return users


def module_name(path: str) -> str:
    """Return the name that a file is imported by: of a package that of its folder."""
    return os.path.basename(_stem(path))


def _stem(path: str) -> str:
    """Return the path of a module without its suffix: of a package that of its folder."""
    folder, name = os.path.split(path)
    return folder if name == "__init__.py" else os.path.join(folder, name.partition(".")[0])


def _shared(path: str, other: str) -> int:
    return len(os.path.commonpath([path, other]))


def _words(told: Mentions, name: str) -> frozenset[int]:
    return frozenset(memoryview(told.by.get(name, b"")).cast("I"))
