"""Families of names, read from `rules/names.toml`: "does this name count steps?"

The analyzer never tests a name of somebody else's variable, function, class or file itself. It
asks a family by its id, and the family's words, pattern or list decide. Strength is not part of a
family: a name is a name, whichever family it belongs to.

The file is read at the first question and a pattern compiled when its family is first asked; the
answers are kept by name, for programs use the same names all over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

from asyncguard import prepared
from asyncguard.additions import Addition, table
from asyncguard.catalogue import FAMILIES, SCHEMA, CatalogueError, entries, rules_directory
from asyncguard.lint.names.words import MAX_NAMES, compiled

KINDS = ("variable", "parameter", "attribute", "function", "class", "type", "file")
_TESTS = ("words", "pattern", "exact")  # how a family decides; an entry has one of these
_TEXTS = ("id", "says", "pattern", "reason")
_LISTS = ("of", "words", "exact", "not", "hit", "miss")
_NEEDED = ("id", "of", "says", "hit", "miss")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of snake_case, camelCase and dotted names

Predicate = Callable[[str], bool]


class FamilyError(CatalogueError):
    """`names.toml` breaks its format; the message names the file, the entry and the remedy."""


class Family(NamedTuple):
    """One question about names, and how it is decided."""

    id: str
    of: tuple[str, ...]  # what bears such names: some of KINDS
    says: str  # what such a name says of its bearer
    hit: tuple[str, ...]  # names that belong to it, run as tests
    miss: tuple[str, ...]  # names close by that do not
    words: tuple[str, ...] = ()  # singular; `dry_run` stands for two words, one after the other
    pattern: str = ""  # a regular expression, searched in the name
    exact: tuple[str, ...] = ()  # whole names
    unless: tuple[str, ...] = ()  # `not` in the file: a name with one of these words is not one
    reason: str = ""  # why it stays although it decides no finding of the measured programs

    def holds(self, name: str) -> bool:
        """Whether a name belongs to the family."""
        if self.unless and _has(self.unless, name):
            return False
        if self.words:
            return _has(self.words, name)
        return name in self.exact if self.exact else self._matches(name)

    def _matches(self, name: str) -> bool:
        try:
            return compiled(self.pattern).search(name) is not None
        except re.error as error:
            raise FamilyError(f"{FAMILIES}: {self.id}: pattern: {error}") from error


More = Mapping[str, tuple[Family, ...]]  # by the id of the family that they extend


@lru_cache(MAX_NAMES)
def split(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `maxIters_2` gives `max` and `iters`."""
    return tuple(word.lower() for word in _WORD.findall(name))


def is_in_place(name: str) -> bool:
    """Whether a function or method of arrays changes what it is called on, by its name: `add_`."""
    return name.endswith("_") and not name.endswith("__")


@lru_cache(MAX_NAMES)
def _phrases(name: str) -> tuple[str, str]:
    """Return a name's words as one text, as they are and each as if it were a plural."""
    words = split(name)
    return f"_{'_'.join(words)}_", f"_{'_'.join(map(singular, words))}_"


def singular(word: str) -> str:
    """Return a word without the ending of a plural: `batches` gives `batch`."""
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _has(words: tuple[str, ...], name: str) -> bool:
    """Whether one of these words, or a plural of one, is among those of a name."""
    found, singular = _phrases(name)
    return any(f"_{word}_" in found or f"_{word}_" in singular for word in words)


@lru_cache(None)
def family(id: str) -> Predicate:
    """Return the question that a family answers: whether a name belongs to it.

    The file is read when the question is first asked, which raises KeyError if it lacks the id.
    """

    @lru_cache(MAX_NAMES)
    def holds(name: str) -> bool:
        return families()[id].holds(name) or any(more.holds(name) for more in _more.get(id, ()))

    _answers.append(holds.cache_clear)
    return holds


def is_listed(id: str, name: str) -> bool:
    """Whether a team's own names of a family have this one: that is certain."""
    return any(more.holds(name) for more in _more.get(id, ()))


_answers: list[Callable[[], None]] = []  # forget what each question was answered
_more: More = {}


@contextmanager
def extended(more: More) -> Iterator[None]:
    """Let names belong to families for a while by more entries: a team's own."""
    global _more
    before = _more
    _extend(more)
    try:
        yield
    finally:
        _extend(before)


def _extend(more: More) -> None:
    global _more
    if more == _more:
        return
    _more = more
    for forget in _answers:
        forget()


Listed = tuple[tuple[str, tuple[str, ...]], ...]  # ids of families, with more names of each


@lru_cache(maxsize=16)
def own(additions: tuple[Addition, ...], listed: Listed = ()) -> More:
    """Return the `[[name]]` entries of a team's own catalogue, by family; raises FamilyError.

    They add words and whole names to the shipped families, as the names that are `listed` do.
    Patterns are refused: a stranger's may never end.
    """
    found: dict[str, list[Family]] = {}
    for id, names in listed:
        known = families()[id]
        made = Family(id, known.of, known.says, (), (), exact=names)
        found.setdefault(id, []).append(made)
    for addition in additions:
        for entry in entries(addition.path, "name", table(addition)):
            made = _own(addition.path, entry)
            found.setdefault(made.id, []).append(made)
    return {id: tuple(more) for id, more in found.items()}


def _own(path: str, entry: Mapping[str, object]) -> Family:
    id = entry.get("id")
    where = f"{path}: name {id!r:.80}"
    if not isinstance(id, str) or id not in families():
        near = get_close_matches(str(id)[:100], families(), n=1)
        remedy = f"did you mean {near[0]!r}?" if near else "rules/names.toml lists them"
        raise FamilyError(f"{where}: extends no family; {remedy}")
    if "pattern" in entry:
        raise FamilyError(f"{where}: 'pattern' is for shipped families; give words or exact names")
    shipped = {"of": list(families()[id].of), "says": families()[id].says}
    return _family(where, shipped | dict(entry))


@lru_cache(None)
def group(prefix: str) -> Mapping[str, Predicate]:
    """Return the questions of all families of a group, by what follows its name and a dot."""
    start = f"{prefix}."
    return {i.removeprefix(start): family(i) for i in families() if i.startswith(start)}


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
    """Return the families that ship with asyncguard, by id."""
    return load_file(rules_directory() / FAMILIES)


def load_file(path: Path) -> dict[str, Family]:
    """Read a file of families; raises FamilyError."""
    try:
        data = prepared.toml(path)
    except (OSError, ValueError) as error:
        raise FamilyError(f"{path}: {error}") from error
    if data.get("schema") != SCHEMA:
        raise FamilyError(f"{path}: schema is {data.get('schema')!r}; expected {SCHEMA}")
    if unknown := data.keys() - {"schema", "name"}:
        raise FamilyError(f"{path}: unknown key {min(unknown)!r}; entries are [[name]] tables")
    found: dict[str, Family] = {}
    for number, entry in enumerate(data.get("name", ()), 1):
        where = f"{path}: {entry.get('id') or f'[[name]] number {number}'}"
        made = _family(where, entry)
        if made.id in found:
            raise FamilyError(f"{where}: this id is given twice; merge the entries or rename one")
        found[made.id] = made
    return found


def _family(where: str, entry: Mapping[str, object]) -> Family:
    """Return one entry as a record; raises FamilyError."""
    if unknown := entry.keys() - {*_TEXTS, *_LISTS}:
        raise FamilyError(f"{where}: unknown key {min(unknown)!r}")
    if missing := [key for key in _NEEDED if not entry.get(key)]:
        raise FamilyError(f"{where}: missing {missing[0]!r}")
    texts = {key: _text(where, key, entry[key]) for key in _TEXTS if key in entry}
    lists = {key: _list(where, key, entry[key]) for key in _LISTS if key in entry}
    if sum(key in entry for key in _TESTS) != 1:
        raise FamilyError(f"{where}: give exactly one of {', '.join(_TESTS)}")
    if not _is_id(texts["id"]):
        raise FamilyError(f"{where}: an id is `group.name`, in lower case")
    if unknown := set(lists["of"]) - set(KINDS):
        raise FamilyError(
            f"{where}: `of` has {min(unknown)!r}; expected some of {', '.join(KINDS)}"
        )
    for word in (*lists.get("words", ()), *lists.get("not", ())):
        if word != "_".join(split(word)):
            raise FamilyError(f"{where}: {word!r} never occurs as a word; write it in lower case")
    return Family(**texts, unless=lists.pop("not", ()), **lists)  # type: ignore[arg-type]


def _is_id(text: str) -> bool:
    group, dot, name = text.partition(".")
    letters = frozenset(ascii_lowercase)
    return bool(group and dot and name) and letters.issuperset(group + name.replace("_", ""))


def _text(where: str, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise FamilyError(f"{where}: {key!r} is not a text")
    return value


def _list(where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FamilyError(f"{where}: {key!r} is not a list of texts")
    return tuple(value)
