"""The functions and classes of the checked code, and what running one does.

A frame notes the sites, calls and other events of a run; the function's summary keeps them for its
callers, and the checks read them. These records name one another, so they stand in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.domain.copies import NOTHING, InFlight, Race
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.handed import Handed, Signature
from asyncguard.lint.domain.hints import Hints
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.domain.parameters import Parameter, parameters_of
from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.regions import NO_GRAPHS, Graphs, Region
from asyncguard.lint.domain.values import ONE_OF, UNKNOWN_VALUE, Role, Value
from asyncguard.lint.domain.work import Work
from asyncguard.lint.syntax.docstrings import documented
from asyncguard.lint.syntax.tree import docstring
from asyncguard.lint.syntax.unit import NO_TREE, Place, Unit
from asyncguard.model import Loop


class Module(Protocol):
    """The file that defines a function or class, as far as it can be asked with the record alone.

    `contexts.frame.Host` is all that the interpreter asks it.
    """

    path: str
    is_guest: bool  # of no framework: it is run for those who import it

    @property
    def lines(self) -> list[str]:
        """The lines of its text."""

    def materialise_body(self, info: FunctionInfo) -> None:
        """Give a function its tree."""

    def run(self, info: FunctionInfo) -> Summary:
        """Run a function, and return its summary."""

    def attribute(self, cls: ClassInfo, name: str) -> Value | None:
        """Return what its methods assign to an attribute of one of its classes, if any does."""

    def bounded(self, line: int, text: str, bound: int) -> None:
        """Note that a bound of the analysis was reached."""


class Enclosing(Protocol):
    """The frame that a function was defined in."""

    @property
    def function(self) -> FunctionInfo:
        """The function that it runs."""


@dataclass(eq=False, slots=True)
class ClassInfo:
    """A class of the checked code."""

    name: str
    qualname: str
    module: Module
    find_bases: Callable[[], tuple[Value, ...]] | None = None  # asked when they matter first
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    own: dict[str, Value] = field(default_factory=dict)  # that its body binds
    defaults: dict[str, Value] = field(default_factory=dict)  # of `x: T = field()`: T says more
    attributes: dict[str, Value | None] = field(default_factory=dict)  # as far as asked for
    hints: Hints = field(default_factory=dict)  # of `self.x` paths, from all methods
    called: set[str] = field(default_factory=set)  # such paths that one of them calls
    annotations: dict[str, cst.BaseExpression] = field(default_factory=dict)
    decorators: tuple[Value, ...] = ()  # imported ones by their names
    _bases: tuple[Value, ...] = ()

    @property
    def bases(self) -> tuple[Value, ...]:
        """What it inherits from; looking that up may read other files, so it waits for a need."""
        if self.find_bases is not None:
            find, self.find_bases = self.find_bases, None
            self._bases = find()
        return self._bases

    @property
    def place(self) -> tuple[str, str]:
        """Where it is defined, which orders classes whichever is met first."""
        return self.module.path, self.qualname

    def lookup(self, name: str, depth: int = 0) -> FunctionInfo | None:
        """Return the method, its own or inherited from checked code."""
        if name in self.methods:
            return self.methods[name]
        if depth < 8:
            for base in self.bases:
                if isinstance(base.ref, ClassInfo) and (found := base.ref.lookup(name, depth + 1)):
                    return found
        return None

    def passed_as(self, attribute: str) -> str:
        """Return the name in all of the program of what makers of an instance pass for it, or "".

        An attribute is believed to hold the parameter of `__init__` that has its name.
        """
        init = self.lookup("__init__")
        name = attribute.lstrip("_")
        if init is None or all(parameter.name != name for parameter in init.parameters):
            return ""
        return init.parameter_name(name)

    def family(self, depth: int = 0) -> Iterator[ClassInfo]:
        """Yield the class and its bases in checked code."""
        yield self
        if depth < 8:
            for base in self.bases:
                if isinstance(base.ref, ClassInfo):
                    yield from base.ref.family(depth + 1)


def class_of(value: Value) -> ClassInfo:
    """Return the class that a value is, or is an instance of."""
    assert isinstance(value.ref, ClassInfo)
    return value.ref


def classes_of(value: Value) -> tuple[ClassInfo, ...]:
    """Return the checked classes that a value may be an instance of, if it is of one of these."""
    if isinstance(value.ref, ClassInfo):
        return (value.ref,)
    return value.ref if type(value.ref) is tuple else ()


def each_instance(value: Value) -> list[Value]:
    """Return, of what may be of several checked classes or one of them, an instance or each."""
    kind = ONE_OF.get(value.kind, value.kind)
    return [value._replace(kind=kind, ref=cls) for cls in classes_of(value)]


@dataclass(eq=False, slots=True)
class FunctionInfo:
    """A function or lambda of the checked code, or a module's own body."""

    name: str
    qualname: str
    node: cst.CSTNode
    module: Module
    cls: ClassInfo | None = None
    closure: Enclosing | None = None
    hints: Hints = field(default_factory=dict)
    marks_step: bool = False  # runs a backward pass or an optimizer's step
    attributes_set: bool = False  # assigns attributes of `self`; asked of functions within others
    given: dict[str, Value] | None = None  # what it assigns to them, if it was run for that
    noted: dict[str, Value] | None = None  # likewise, as its last run for its sites noted it
    compiled: bool = False  # traced by a compiler: nothing in it waits at run time
    regions: tuple[Region, ...] = ()  # that its decorators make of it
    placed_for: frozenset[str] = frozenset()  # frameworks whose default device a caller has set
    is_static: bool = False
    takes_class: bool = False  # a class method: its first parameter is the class
    unit: Unit | None = None  # the tree that `node` is part of
    outlined: Outlined | None = None  # where its body stands, which becomes a tree when it is run
    has_tree: bool = False  # whether it has
    _parameters: tuple[Parameter, ...] | None = None  # None before they are asked for
    _documented: dict[str, str] | None = None  # likewise
    hook: Loop = Loop.NONE  # how often its framework enters it, by its name
    is_property: bool = False
    cached: bool = False  # a decorator keeps what it returns: it runs once for each argument
    cross_module: bool = False  # called from another file
    decorators: tuple[FunctionInfo, ...] = ()  # those of checked code
    replaces: frozenset[str] | None = None  # methods of classes that it decorates, once asked for
    summary: Summary | None = None  # once it is final
    is_abstract: bool | None = None  # it leaves to subclasses what it does; None before it is asked

    @property
    def final(self) -> Summary:
        """The summary of a function that has been run."""
        assert self.summary is not None
        return self.summary

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes; asking may give it its tree."""
        if self._parameters is None:
            self.module.materialise_body(self)
            signature = getattr(self.node, "params", None)
            self._parameters = parameters_of(signature) if signature is not None else ()
        return self._parameters

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of what it takes; an outlined one is not given its tree for them."""
        if self.outlined is not None:
            return self.outlined.parameters
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it is defined, which orders functions whichever is met first."""
        line = self.outlined.line if self.outlined is not None else 0
        return self.module.path, self.qualname, line

    @property
    def text(self) -> str:
        """The lines below its `def`; none of a lambda."""
        where = self.outlined
        return "\n".join(self.module.lines[where.line : where.last]) if where is not None else ""

    @property
    def signature(self) -> Signature:
        """What calls may hand it, with its instance as the first of them."""
        plain = [p for p in self.parameters if not p.stars]
        return Signature(
            tuple(p.name for p in plain),
            sum(p.default is None for p in plain),
            self.has_self,
            len(plain) < len(self.parameters),
        )

    def parameter_name(self, parameter: str) -> str:
        """Return a parameter's name in all of the program: functions passed for it have it too."""
        return f"{self.module.path}:{self.qualname}({parameter})"

    def calls(self, path: str) -> bool:
        """Whether a variable or attribute is called in it, which is no array then."""
        return path != "" and self.unit is not None and path in self.unit.called(self.node)

    def sets(self, attribute: str) -> bool:
        """Whether it may assign an attribute of `self`."""
        if self.outlined is not None:
            return attribute in self.outlined.attributes
        return self.attributes_set

    def fills(self, attribute: str) -> bool:
        """Whether it may say what an attribute of `self` holds: it assigns or appends to it."""
        collects = self.outlined is not None and attribute in self.outlined.collected
        return collects or self.sets(attribute)

    @property
    def documented(self) -> dict[str, str]:
        """The types that its docstring gives its parameters."""
        if self._documented is None:
            text = docstring(self.node)
            told = text and len(self.parameters) > self.has_self
            self._documented = documented(text) if text and told else {}
        return self._documented

    @property
    def has_self(self) -> bool:
        """Whether the first parameter is the instance."""
        return self.cls is not None and not self.is_static and bool(self.parameter_names)


def function_of(value: Value) -> FunctionInfo:
    """Return the function that a value is."""
    assert isinstance(value.ref, FunctionInfo)
    return value.ref


@dataclass(eq=False, slots=True)
class Site:
    """One operation that reads a device value or waits for the device.

    `context` is as seen within its function; how often that is entered is decided later, when all
    callers are known.
    """

    point: SyncPoint
    node: cst.CSTNode
    function: FunctionInfo
    context: Context
    why: Reason
    doubt: int
    confidence: int
    sink: bool = False
    whole: bool = False  # it reads the value itself, and nothing of what that holds
    via: Site | None = None  # the read inside a helper that this call causes
    subject: cst.CSTNode | None = None  # what is read
    loops: tuple[LoopRecord, ...] = ()
    statement: cst.CSTNode | None = None
    blocks: tuple[tuple[Sequence[cst.CSTNode], int], ...] = ()  # where it stands, outermost first
    params: Dependence = INDEPENDENT  # of the value read
    role: Role = Role.NONE  # of the value read
    hot: Reason | None = None  # why it is repeated within its function
    place: Place | None = None  # where it stands, once its tree is gone
    if_handed: bool = False  # it reads an argument of unknown kind: only where callers hand one
    standing: frozenset[str] = frozenset()  # items of evidence that the place itself shows
    held: str = ""  # why a copy blocks that was told not to
    how: str = ""  # the statement or builtin that asks: "assert", "max"
    entry: str = ""  # what it reads of an argument: ".losses.total"

    @property
    def graphs(self) -> Graphs:
        """Which graphs it is part of, as a call of its function sees it."""
        kept_out = {region.asks for region in self.function.regions if region.disabled}
        around = Graphs(outside=frozenset(kept_out)) if kept_out else NO_GRAPHS
        return around | self.context.graphs

    @property
    def compared(self) -> bool:
        """Whether it reads the outcome of a comparison."""
        return self.role == Role.MASK

    @property
    def where(self) -> Hashable:
        """What tells the places of sites apart: the node, or once that is gone, where it stood."""
        if self.node is not NO_TREE:
            return id(self.node)
        return (self.function.module.path, self.place) if self.place is not None else id(self)

    @property
    def read(self) -> Site:
        """What waits in the end: the site itself, or what a helper reads that is called here."""
        site = self
        while site.via is not None:
            site = site.via
        return site


def drop_trees(sites: Iterable[Site]) -> None:
    """Note where sites stand, and let go of their trees."""
    for site in sites:
        if site.function.unit is not None and site.node is not NO_TREE:
            site.place = site.function.unit.place(site.node)
            site.node, site.subject, site.statement = NO_TREE, None, None
            site.loops, site.blocks = (), ()


class Event(NamedTuple):
    """What the rules about sequences of statements must know of, beside the sites.

    `what` is "work" (device work is enqueued), "call" (of the checked function `callee`), "opaque"
    (a call out of sight that may wait) or "clock" (a clock is read).
    """

    what: str
    node: cst.CSTNode
    framework: str
    callee: FunctionInfo | None
    loops: tuple[LoopRecord, ...]
    blocks: tuple[tuple[Sequence[cst.CSTNode], int], ...]


@dataclass(eq=False, slots=True)
class Edge:
    """A call of a function whose body is at hand."""

    callee: FunctionInfo
    context: Context
    line: int = 0
    hot: Reason | None = None  # why it is repeated within its caller
    handed: Dependence = INDEPENDENT  # as `Dependence.is_ruled_out_by` asks for it
    conditions: int = 0  # around it, within its caller
    when: Dependence = INDEPENDENT  # the options of the caller that it hangs on
    handed_on: frozenset[tuple[int, int]] = frozenset()  # parameters of the caller, as those of it
    gives: frozenset[tuple[int, int]] = frozenset()  # likewise to be kept; or GIVEN, TOLD


ByName = tuple[str, Context, Handed]  # a call of which only the callee's name is known
# A function, or the parameter that is handed on, by the name under which it is passed, and where.
ByPassing = tuple[str, FunctionInfo | str, Context, int]


class Summary(NamedTuple):
    """What a function's callers need to know."""

    result: Value = UNKNOWN_VALUE
    reads: tuple[Site, ...] = ()
    sites: tuple[Site, ...] = ()
    edges: tuple[Edge, ...] = ()
    events: tuple[Event, ...] = ()
    named: tuple[tuple[ByName, int], ...] = ()  # each with the line of the first such call
    work: Work = Work.NONE
    compiles: tuple[FunctionInfo, ...] = ()  # functions that it hands to a compiler
    enters: frozenset[tuple[FunctionInfo, Region]] = frozenset()  # and what it makes of others
    moved: frozenset[tuple[int, str, str]] = frozenset()  # parameters, parts of them, frameworks
    added: tuple[tuple[int, str, Value], ...] = ()  # parameters, keys, and what is put there
    passed: frozenset[ByPassing] = frozenset()
    copies: InFlight = NOTHING  # when it returns
    waits: bool = False  # it may wait for copies, of whoever started them
    races: tuple[Race, ...] = ()
    keeps: frozenset[int] = frozenset()  # parameters that it, or what it calls, gives attributes

    def without_trees(self) -> Summary:
        """Return it for callers; the rules have done with it."""
        drop_trees({*self.sites, *self.reads})
        bare = (e._replace(node=NO_TREE, loops=(), blocks=()) for e in self.events)
        return self._replace(events=tuple(bare), races=())


EMPTY = Summary()
