"""What a value, or a read, depends on: parameters of the function that it stands in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from operator import and_, or_
from typing import NamedTuple

Kept = tuple[str, str, int]  # path and qualified name of a method, and a parameter of it
# What a call gives of what is kept, in the place of a parameter of the caller:
GIVEN = -1  # a device value
TOLD = -2  # a truth value: the parameter is no array
Word = str | int  # a constant that options are compared with
Compared = tuple[int, frozenset[Word], bool]  # a parameter that is one of these, or none of them


class Dependence(NamedTuple):
    """Parameters by their positions: those that data comes from, and conditions on calls.

    Of `when_omitted`, what is read was made in calls that leave these out: `if p is None: p = f()`;
    of `where_omitted`, it stands where only such calls come, whatever others hand; of
    `unless_array`, in calls that hand no array for these: `if not isinstance(p, Tensor): ...`;
    of `unless_plain`, in calls that hand nothing else; of `unless_host`, in calls that hand nothing
    in host memory: `f(2, device=p.device)`; of `unless_there`, in calls that hand nothing that is
    on the device: `x = x.to(device)`; of `unless_entry`, in calls that hand nothing that may be a
    list in spite of a declaration: `if not isinstance(p, list): ...`; of `when_true`, `when_false`
    and `when_given`, in calls that may hand something true, false, or not `None`: `if p: ...`; of
    `when_host`, only in calls that hand arrays in host memory: `x = x.to(y.device)`; of
    `when_word`, in calls that may hand such a word: `if p == "sum": ...`. `words` are those that
    calls hand, of which each parameter is one.

    `kept` are those of other methods, which keep them in attributes: `self.last = p`.
    """

    on: frozenset[int] = frozenset()
    when_omitted: frozenset[int] = frozenset()
    where_omitted: frozenset[int] = frozenset()
    unless_array: frozenset[int] = frozenset()
    unless_plain: frozenset[int] = frozenset()
    unless_there: frozenset[int] = frozenset()
    when_true: frozenset[int] = frozenset()
    when_false: frozenset[int] = frozenset()
    when_given: frozenset[int] = frozenset()
    when_host: frozenset[int] = frozenset()
    unless_entry: frozenset[int] = frozenset()
    unless_host: frozenset[int] = frozenset()
    when_word: frozenset[Compared] = frozenset()
    words: frozenset[tuple[int, Word]] = frozenset()
    kept: frozenset[Kept] = frozenset()

    def __bool__(self) -> bool:
        return self != INDEPENDENT

    def __or__(self, other: Dependence) -> Dependence:
        """Return what either of two depends on."""
        if other is INDEPENDENT or self == other:
            return self
        if self is INDEPENDENT:
            return other
        return Dependence(*map(or_, self, other))

    def __and__(self, other: Dependence) -> Dependence:
        """Return what two calls rule out alike, of what they hand."""
        both = Dependence(*map(and_, self, other))
        known = {p for p, _ in self.words} & {p for p, _ in other.words}
        words = frozenset(told for told in self.words | other.words if told[0] in known)
        return both._replace(when_host=self.when_host | other.when_host, words=words)

    def renamed(self, positions: Iterable[tuple[int, int]]) -> Dependence:
        """Return it for a function that is handed these parameters, as other ones."""
        if self is INDEPENDENT or not positions:
            return INDEPENDENT
        own = (frozenset([b for a, b in positions if a in field]) for field in self[:_WORDS])
        pairs = [(a, b) for a, b in positions]
        asked = frozenset((b, *how) for p, *how in self.when_word for a, b in pairs if a == p)
        words = frozenset((b, word) for p, word in self.words for a, b in pairs if a == p)
        return Dependence._make((*own, asked, words, frozenset()))

    def of_caller(self, handed_on: frozenset[tuple[int, int]]) -> Dependence:
        """Return it for a caller that hands on parameters of its own, each as one of these.

        Data that comes from others as well is not known by them alone.
        """
        found = self.renamed(frozenset((theirs, own) for own, theirs in handed_on))
        whole = self.on <= {theirs for _, theirs in handed_on}
        return found if whole else found._replace(on=frozenset())

    def is_given_by(self, handed: Dependence) -> bool:
        """Whether a call hands a parameter that this depends on being left out."""
        made = not self.when_omitted.isdisjoint(handed.when_omitted)
        return made or not self.where_omitted.isdisjoint(handed.where_omitted)

    def elsewhere(self, path: str, method: str) -> Dependence:
        """Return it as other methods see it, of what this method keeps in an attribute."""
        return Dependence(kept=self.kept | {(path, method, index) for index in self.on})

    @property
    def where(self) -> Dependence:
        """That of code which only calls reach that leave out what this asks them to."""
        return Dependence(where_omitted=self.when_omitted) if self.when_omitted else self

    @property
    def options(self) -> Dependence:
        """That on parameters which turn something on or off, alone."""
        return Dependence(
            when_true=self.when_true,
            when_false=self.when_false,
            when_given=self.when_given,
            when_word=self.when_word,
        )

    @property
    def only(self) -> int:
        """The one parameter that it depends on; -1 if there are others, conditions, or none."""
        return next(iter(self.on)) if len(self.on) == 1 and not any(self[1:]) else -1

    @property
    def _conditions(self) -> tuple[frozenset[int], ...]:
        """The parameters of which an argument that does not meet the condition rules it out."""
        left_out = self.when_omitted, self.where_omitted
        kinds = self.unless_array, self.unless_plain, self.unless_there, self.unless_entry
        return *left_out, *kinds, self.unless_host, self.when_true, self.when_false, self.when_given

    def is_ruled_out_by(self, handed: Dependence) -> bool:
        """Whether a call that hands such arguments does not cause what depends on this.

        `handed.on` are the parameters that it hands host memory, and the others those of which its
        arguments do not meet the condition; but of `when_host`, those of which they do.
        """
        if not self.when_host <= handed.when_host:
            return True
        on_host = bool(self.on) and not self.kept and self.on <= handed.on
        if on_host or any(self._is_another(asked, handed.words) for asked in self.when_word):
            return True
        conditions = zip(self._conditions, handed._conditions, strict=True)
        return any(not asked.isdisjoint(known) for asked, known in conditions)

    @staticmethod
    def _is_another(asked: Compared, words: frozenset[tuple[int, Word]]) -> bool:
        """Whether calls hand words alone that a comparison does not ask for."""
        parameter, wanted, holds = asked
        known = [word for index, word in words if index == parameter]
        return bool(known) and all((word in wanted) != holds for word in known)


_WORDS = Dependence._fields.index("when_word")
INDEPENDENT = Dependence()


@cache
def on_parameter(position: int) -> Dependence:
    """Return that of a value that comes from one parameter."""
    return Dependence(frozenset({position}))


def together(dependences: Iterable[Dependence]) -> Dependence:
    """Return what any of some depends on."""
    return reduce(or_, dependences, INDEPENDENT)
