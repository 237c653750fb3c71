"""Which of the registered classes and functions a project chooses from its tables.

`@MODELS.register class Head` is made where a configuration names it. Where one names others of its
table, and neither a configuration nor the code names it, no program of the project runs it; but a
table of which it names few is for those who use the project: they choose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

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
    tables: dict[str, list[tuple[FileFacts, Registered]]] = {}
    for facts in files:
        for each in facts.mentions.registered:
            tables.setdefault(each.table, []).append((facts, each))
    if not tables:
        return frozenset()
    said = _Said((each for each in files if not tests(each.path)), configured)
    found: set[FunctionId] = set()
    for members in tables.values():
        left = [each for each in members if not said.names(each[0].path, each[1])]
        if len(left) < len(members) and len(left) <= max(FEW, len(members) - len(left)):
            found.update(key for facts, each in left for key in _functions(files, facts, each))
    return frozenset(found)


class _Said:
    """Which files say a word, make a class, or use the name of a function."""

    def __init__(self, files: Iterable[FileFacts], configured: Switches) -> None:
        self._files = [*files]
        self._words: dict[int, set[str]] = {}
        self._made: dict[str, set[str]] = {}
        for facts in self._files:
            self._note(facts.path, facts.options.said)
            for name in facts.options.made:
                self._made.setdefault(name, set()).add(facts.path)
        self._note("", configured.said + configured.words)

    def _note(self, path: str, sums: bytes) -> None:
        for total in memoryview(sums).cast("I"):
            self._words.setdefault(total, set()).add(path)

    def names(self, path: str, each: Registered) -> bool:
        """Whether something may choose it, or makes or calls it without.

        What its own file says of its texts, and of what a dict lists, is that alone.
        """
        makers = self._made.get(each.name, set())
        if makers - {path} if each.listed else makers:
            return True
        if any(sum_of(name) in self._words for name in (each.name, *each.keys)):
            return True
        texts = (each.name.lower(), *each.texts)
        if any(self._words.get(sum_of(text), set()) - {path} for text in texts):
            return True
        return not each.name[:1].isupper() and (not each.keys or self._is_used(path, each.name))

    def _is_used(self, path: str, name: str) -> bool:
        """Whether another definition, or another file, uses the name of a function."""
        total = sum_of(name)
        for facts in self._files:
            if facts.path != path and total in facts.mentions.words:
                return True
            own = ((k, words) for k, words in facts.mentions.by.items() if k not in ("", name))
            if any(total in memoryview(words).cast("I") for _, words in own):
                return True
        return False


def _functions(
    files: Iterable[FileFacts], home: FileFacts, each: Registered
) -> Iterator[FunctionId]:
    """Yield the functions of a definition; a dict may hold classes of other files."""
    for facts in files if each.listed else [home]:
        for defined in facts.defined:
            if defined.qualname.partition(".")[0] == each.name:
                yield facts.path, defined.qualname
