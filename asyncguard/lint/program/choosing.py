"""Which of the registered classes and functions a project chooses from its tables.

`@MODELS.register class Head` is made where a configuration names it. Where one names others of its
table, and neither a configuration nor the code names it, no program of the project runs it; but a
table of which it names few is for those who use the project: they choose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

from asyncguard.lint.program.facts import FileFacts, FunctionId
from asyncguard.lint.source.mentions import Registered
from asyncguard.lint.source.switches import Switches, sum_of

FEW = 5  # that a project leaves in a table which it chooses from itself


def unchosen(
    files: Collection[FileFacts], configured: Switches, tests: Callable[[str], object]
) -> frozenset[FunctionId]:
    """Return the functions of definitions that nothing chooses, of tables from which some are.

    `configured`: what configurations say; `tests`: whether a file is one of unit tests.
    """
    tables: dict[str, list[_Member]] = {}
    for facts in files:
        for each in facts.mentions.registered:
            tables.setdefault(each.table, []).append((facts, each))
    members = [each for several in tables.values() for each in several]
    said = _Said((each for each in files if not tests(each.path)), configured, members)
    found: list[_Member] = []
    for several in tables.values():
        left = [each for each in several if not said.names(each[0], each[1])]
        if len(left) < len(several) and len(left) <= max(FEW, len(several) - len(left)):
            found += left
    return frozenset(_functions(files, found))


_Member = tuple[FileFacts, Registered]  # and the file that puts it into its table


class _Said:
    """Which files say the words by which members may be chosen, make classes, or use names."""

    def __init__(
        self, files: Iterable[FileFacts], configured: Switches, members: Iterable[_Member]
    ) -> None:
        self._asked = {sum_of(word) for _, each in members for word in _words(each)}
        self._files = [*files] if self._asked else []
        self._words: dict[int, set[str]] = {}
        self._made: dict[str, set[str]] = {}
        for facts in self._files:
            self._note(facts.path, facts.options.said)
            for name in facts.options.made:
                self._made.setdefault(name, set()).add(facts.path)
        self._note("", configured.said + configured.words)

    def _note(self, path: str, sums: bytes) -> None:
        for total in self._asked.intersection(memoryview(sums).cast("I")):
            self._words.setdefault(total, set()).add(path)

    def names(self, home: FileFacts, each: Registered) -> bool:
        """Whether something may choose it, or makes or calls it without.

        What its own file says of its texts, and of what a dict lists, is that alone.
        """
        own = {home.path}
        makers = self._made.get(each.name, set())
        if makers - own if each.listed else makers:
            return True
        if any(sum_of(name) in self._words for name in (each.name, *each.keys)):
            return True
        texts = (each.name.lower(), *each.texts)
        if any(self._words.get(sum_of(text), set()) - own for text in texts):
            return True
        return not each.name[:1].isupper() and (not each.keys or self._is_used(home, each.name))

    def _is_used(self, home: FileFacts, name: str) -> bool:
        """Whether another file, or another definition of its own, uses the name of a function."""
        total = sum_of(name)
        if self._users.get(total, set()) - {home.path}:
            return True
        own = (words for k, words in home.mentions.by.items() if k not in ("", name))
        return any(total in memoryview(words).cast("I") for words in own)

    @cached_property
    def _users(self) -> dict[int, set[str]]:
        """The files that use the names of members, by their sums."""
        users: dict[int, set[str]] = {}
        for facts in self._files:
            for total in self._asked & facts.mentions.words:
                users.setdefault(total, set()).add(facts.path)
        return users


def _words(each: Registered) -> tuple[str, ...]:
    return (each.name, each.name.lower(), *each.keys, *each.texts)


def _functions(files: Iterable[FileFacts], members: Iterable[_Member]) -> Iterator[FunctionId]:
    """Yield the functions of definitions; a dict may hold classes of other files."""
    anywhere = {each.name for _, each in members if each.listed}
    here = {(facts.path, each.name) for facts, each in members}
    for facts in files if here else ():
        for defined in facts.defined:
            head = defined.qualname.partition(".")[0]
            if head in anywhere or (facts.path, head) in here:
                yield facts.path, defined.qualname
