"""The facts that the analysis of one file yields, and the result of linking them.

Plain records without trees: they travel between processes and are kept in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.handed import ANYTHING, Handed, Signature
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.regions import NO_GRAPHS, Graphs, Region
from asyncguard.lint.source.mentions import NO_MENTIONS, Mentions
from asyncguard.lint.source.notebook import Notebook
from asyncguard.lint.source.suppress import Suppression
from asyncguard.lint.source.switches import NO_SWITCHES, Switches
from asyncguard.model import Finding, Loop

FunctionId = tuple[str, str]  # path, qualified name of a function
Spot = tuple[str, int, int]  # path, line, column


class Via(NamedTuple):
    """The call by which a helper's read is reached, and the places from there down to the read.

    Each of these `places` is a path, a line and a column.
    """

    path: str
    function: str
    line: int
    column: int
    places: tuple[tuple[str, int, int], ...] = ()


class Candidate(NamedTuple):
    """A finding whose loop context is as seen within its function.

    `params` are those of its function that it reads, which is left to the calls where these are
    known. `named`: only its name says that the value is on the device, which is likely where the
    function is entered in every step. What a helper reads for a call stands where it is read, with
    the context of the call, `by`; `params` are those of the function of the call.
    """

    finding: Finding
    params: Dependence = INDEPENDENT
    named: bool = False
    by: Via | None = None
    switches: frozenset[str] = frozenset()  # options that it hangs on, by their names
    if_handed: bool = False  # it waits only where a call hands a device value for `params`
    graphs: Graphs = NO_GRAPHS  # that it is part of, as far as its function tells
    how: str = ""  # the statement or builtin that asks: "assert", "max"
    measures: bool = False  # it waits for a timer, which is worth a word in a training alone

    @property
    def home(self) -> FunctionId:
        """Return the function that it stands in."""
        return self.finding.path, self.finding.function

    @property
    def function(self) -> FunctionId:
        """Return the function that decides how often it happens."""
        return (self.by.path, self.by.function) if self.by is not None else self.home

    @property
    def place(self) -> Spot:
        """Return where that function reads the value, or calls what reads it."""
        by = self.by or self.finding
        return by.path, by.line, by.column

    @property
    def read(self) -> Spot:
        """Return where the value is read."""
        return self.finding.path, self.finding.line, self.finding.column


class Call(NamedTuple):
    """A call of a function of checked code, with the context within its caller."""

    caller_path: str
    caller: str
    callee_path: str
    callee: str
    context: Context
    handed: Dependence = INDEPENDENT  # as `Dependence.is_ruled_out_by` asks for it
    line: int = 0  # where the first such call stands
    hot: Reason | None = None  # why that is repeated within its caller
    conditions: int = 0  # around that
    when: Dependence = INDEPENDENT  # the options of the caller that it hangs on
    handed_on: frozenset[tuple[int, int]] = frozenset()  # parameters of the caller, as its own
    gives: frozenset[tuple[int, int]] = frozenset()  # likewise to be kept; or GIVEN, TOLD


class NamedCall(NamedTuple):
    """A call of which only the callee's simple name is known."""

    caller_path: str
    caller: str
    name: str
    context: Context
    handed: Handed = ANYTHING
    line: int = 0  # where the first such call stands


class Passed(NamedTuple):
    """A function that is passed, by the name of the parameter or attribute, and where.

    `through`: what is passed is a parameter of the caller, by this name, and no function is known.
    """

    name: str
    function: FunctionId
    caller: FunctionId
    context: Context
    line: int
    through: str = ""


class Defined(NamedTuple):
    """A function of checked code, by its simple and its qualified name."""

    name: str
    qualname: str
    signature: Signature = Signature(open=True)


class Hook(NamedTuple):
    """A function that its framework enters this often."""

    path: str
    function: str
    loop: Loop
    why: str = ""  # a clause
    named: bool = False  # names alone say so: what calls it in sight may know better
    by: str = ""  # the kind of evidence


class Decorated(NamedTuple):
    """A function that a decorator of checked code replaces by one of those defined in it."""

    function: FunctionId
    decorator: FunctionId
    line: int = 0  # of the function


class FileFacts(NamedTuple):
    """What the check of one file told: candidates, calls, and functions that frameworks enter."""

    path: str
    candidates: tuple[Candidate, ...] = ()
    calls: tuple[Call, ...] = ()
    hooks: tuple[Hook, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    notebook: Notebook | None = None
    named: tuple[NamedCall, ...] = ()
    defined: tuple[Defined, ...] = ()
    rounds: frozenset[FunctionId] = frozenset()  # functions that loop over training steps
    runs: frozenset[FunctionId] = frozenset()  # and over steps that follow from each other
    draws: frozenset[FunctionId] = frozenset()  # functions that draw a figure whenever called
    compiled: frozenset[FunctionId] = frozenset()  # functions that it hands to a compiler
    regions: frozenset[tuple[FunctionId, Region]] = frozenset()  # what it makes of functions
    decorated: frozenset[Decorated] = frozenset()
    passed: frozenset[Passed] = frozenset()
    fallbacks: frozenset[FunctionId] = frozenset()  # run where what replaces them chooses nothing
    bases: Mapping[str, frozenset[str]] = {}  # last words of what classes inherit, by class name
    bare: Mapping[str, frozenset[str]] = {}  # methods of classes, by name, if nothing was analysed
    bounds: tuple[str, ...] = ()  # of the analysis, that were reached: places and what follows
    options: Switches = NO_SWITCHES
    mentions: Mentions = NO_MENTIONS
    source: str = ""  # the file that it was generated from, which tells all of it
    skipped: str = ""  # the reason for reporting nothing of it, with its place

    def tells_of(self, paths: Set[str]) -> bool:
        """Whether it tells of places in these files, where helpers read for its calls."""
        for each in self.candidates:
            places = each.by.places if each.by is not None else ()
            if each.finding.path in paths or any(path in paths for path, *_ in places):
                return True
        return False

    def with_guest(self, more: FileFacts) -> FileFacts:
        """Add what a function of a file of no framework told, which this file reaches."""
        return self._replace(
            candidates=self.candidates + more.candidates,
            calls=self.calls + more.calls,
            hooks=self.hooks + more.hooks,
            named=self.named + more.named,
            rounds=self.rounds | more.rounds,
            runs=self.runs | more.runs,
            draws=self.draws | more.draws,
            compiled=self.compiled | more.compiled,
            regions=self.regions | more.regions,
            decorated=self.decorated | more.decorated,
            passed=self.passed | more.passed,
            fallbacks=self.fallbacks | more.fallbacks,
        )


class FileResult(NamedTuple):
    """What is to be said of a file: findings in their final context, what silences and places them.

    `silenced` are the lines and rules of calls that comments keep from counting: what they reach is
    reported elsewhere. It is the same for all settings that the analysis was made for.
    """

    findings: tuple[Finding, ...]
    suppressions: tuple[Suppression, ...] = ()
    notebook: Notebook | None = None
    silenced: frozenset[tuple[int, str]] = frozenset()
    bounds: tuple[str, ...] = ()
    skipped: str = ""
    tests: bool = False  # it defines unit tests


UNREADABLE = "ASG000"


def unreadable(path: str, reason: str, line: int = 1, column: int = 1) -> FileFacts:
    """Return the facts of a file that cannot be analysed."""
    finding = Finding(UNREADABLE, reason, path, line, column, line, column)
    return FileFacts(path, (Candidate(finding),))
