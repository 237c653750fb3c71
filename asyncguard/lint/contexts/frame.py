"""The state of one abstract execution: variables, loops, guards, and the effects noted so far.

A `Frame` runs one function. `evaluate` looks up the transfer function of a node in the machine
that its host hands in. A speculative frame (a first pass over a loop, a look ahead) notes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import libcst as cst

from asyncguard.lint.contexts.nesting import Nesting
from asyncguard.lint.contexts.options import NOTHING, Asked
from asyncguard.lint.contexts.variables import Round, Variables
from asyncguard.lint.domain.arguments import Arguments
from asyncguard.lint.domain.copies import NOTHING as NO_COPIES
from asyncguard.lint.domain.copies import InFlight, Race
from asyncguard.lint.domain.definitions import (
    ByName,
    ByPassing,
    ClassInfo,
    Edge,
    Event,
    FunctionInfo,
    Module,
    Site,
    Summary,
)
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.loops import Guard, LoopRecord
from asyncguard.lint.domain.reasons import Provenance, Reason
from asyncguard.lint.domain.regions import Region
from asyncguard.lint.domain.values import (
    CLASS,
    CLASSES,
    CONTAINER,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    INSTANCE,
    INSTANCES,
    SYMBOL,
    UNKNOWN_VALUE,
    Value,
    kept_by,
    settled,
    unknown_of,
    without_params,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.knowledge import Knowledge
from asyncguard.model import Device, Loop, SyncKind

MAX_DEPTH = 60  # of expressions and statements; deeper code is not followed


@dataclass(eq=False, slots=True)
class Frame:
    """The abstract execution of one function."""

    analysis: Host
    function: FunctionInfo
    env: Variables = field(default_factory=Variables)
    held: dict[str, cst.BaseExpression] = field(default_factory=dict)  # conditions and choices
    parent: Frame | None = None
    speculative: bool = False
    given: dict[str, Value] | None = None  # to attributes of `self`, where that is asked for
    differs: bool = False  # a speculative run may give them something else
    nest: Nesting = field(init=False)
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    yields_steps: bool = False  # it yields in each of its steps
    sites: list[Site] = field(default_factory=list)
    reads: list[Site] = field(default_factory=list)  # sites that read a parameter
    edges: list[Edge] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    compiles: set[FunctionInfo] = field(default_factory=set)  # hands them to a compiler
    enters: set[tuple[FunctionInfo, Region]] = field(default_factory=set)  # makes graphs of them
    passed: set[ByPassing] = field(default_factory=set)
    moved: set[tuple[int, str, str]] = field(default_factory=set)  # parts of its parameters
    added: dict[tuple[int, str], Value] = field(default_factory=dict)  # to its parameters, by key
    keeps: frozenset[int] = frozenset()  # parameters that attributes are given
    named: dict[ByName, int] = field(default_factory=dict)  # with the line of the first
    left: InFlight = NO_COPIES  # the copies in flight wherever it returns
    waits: bool = False  # it may wait for copies
    races: list[Race] = field(default_factory=list)
    depth: int = 0
    findings: int = 0  # branches open that hang on a device value: what they print is news
    omitted: Dependence = INDEPENDENT  # parameters that have been left out here
    statement: cst.CSTNode | None = None
    looks_ahead: bool = False  # what runs is to show what it is evidence of, and no more
    last_trainings: dict[int, int] = field(default_factory=dict)  # by the ids of statement lists
    last_choice: cst.If | None = None  # the last of an `elif` chain that asks for all there is
    rounds: list[Round] = field(default_factory=list)  # of the open loops, innermost last
    globals: set[str] = field(default_factory=set)
    blocks: list[tuple[Sequence[cst.CSTNode], int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nest = Nesting(self.function, self.analysis.path)

    @property
    def loops(self) -> list[LoopRecord]:
        """The loops that are open, outermost first."""
        return self.nest.loops

    def release(self) -> None:
        """Keep the variables alone."""
        for noted in (self.sites, self.reads, self.edges, self.events, self.returns, self.yields):
            noted.clear()
        self.races.clear()

    # ---- variables

    def lookup(self, name: str) -> Value | None:
        """Return what is known of a plain variable; None if it was never bound in sight."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.env.get(name)
            if value is not None:
                # A module has no parameters, a lambda takes part in those of its function.
                inline = frame.parent is None or type(self.function.node) is cst.Lambda
                value = settled(value)
                if frame is self or inline:
                    return value
                return kept_by(value, frame.analysis.path, frame.function.qualname)
            frame = frame.parent
        return None

    def bind(self, path: str, value: Value) -> None:
        """Assign to a variable or an attribute path; what was known below the path is gone."""
        self.env.drop_below(path)
        self.env[path] = value
        if path in self.globals:
            self.analysis.frame.env[path] = without_params(value)

    def note(self, path: str, value: Value) -> None:
        """Add what is known of a path, beside what is known below it."""
        self.env[path] = value

    def give(self, path: str, value: Value) -> None:
        """Note what an attribute of `self` is given, where that is asked for."""
        owner, _, name = path.partition(".")
        if self.given is not None and owner == "self" and name and "." not in name:
            value = self._as_kept(value)
            self.given[name] = join(self.given[name], value) if name in self.given else value

    def _as_kept(self, value: Value) -> Value:
        """Return what an attribute is given, as other methods see it.

        Of an instance, what it was made of is known besides.
        """
        if self.function.name in ("__init__", "__new__"):
            return without_params(value)
        self.keeps |= unknown_of(value)
        return kept_by(value, self.analysis.path, self.function.qualname)

    def reason(self, kind: Provenance, text: str, family: str = "") -> Reason:
        """Return a reason that the statement under execution gives."""
        return Reason(kind, text, self.analysis.path, self.line(), family)

    def by_name(self, text: str, family: str = "") -> Reason:
        """Return the reason that a name gives, which is better where the function trains."""
        return self.reason(Provenance.HOT_NAME if self.trains else Provenance.NAME, text, family)

    def called(self, method: str, kind: Provenance = Provenance.USAGE) -> Reason:
        """Return the reason that a method gives for what it is called on."""
        return self.reason(kind, f"`.{method}` is a method of such values")

    def returned(self, name: str) -> Reason:
        """Return the reason that the catalogue gives for what a call returns."""
        return self.reason(Provenance.CATALOGUE, f"`{name}` returns it", name)

    def too_deep(self) -> None:
        """Note that code here nests deeper than is followed."""
        self.analysis.bounded(self.line(), "code that nests deeper is not followed", MAX_DEPTH)

    def line(self) -> int:
        """Return the line of the statement under execution; 0 if there is none."""
        unit, statement = self.function.unit, self.statement
        return unit.line(statement) if unit is not None and statement is not None else 0

    @property
    def trains(self) -> bool:
        """Whether the function shows by itself that it runs training or inference steps."""
        function = self.function
        return function.marks_step or function.hook == Loop.STEP or self.nest.has_steps

    @property
    def is_eager(self) -> bool:
        """Whether the function is plainly not traced.

        It loops over steps, calls the traced one, or has made an array by now.
        """
        stepping = self.nest.work & Work.GRADIENTS and not self.function.marks_step
        if self.nest.has_steps or stepping:
            return True
        copies = (SyncKind.ARRAY, SyncKind.COMPOSITE)
        return any(site.point.kind in copies for site in self.sites)

    def operation(self, framework: str) -> None:
        """Note that device work of a framework is enqueued.

        Where it knows no training step, a loop that enqueues is what its programs run in.
        """
        known = self.analysis.knowledge.frameworks.get(framework)
        if known is None:
            self.nest.enqueues(None)
        else:
            has_steps = known.steps.methods or known.steps.functions
            self.nest.enqueues(Work.NONE if has_steps else Work.RUNS_MODEL)

    def guarded(
        self,
        guard: Guard | None,
        omitted: Dependence = INDEPENDENT,
        asked: Asked = NOTHING,
    ) -> _Guarded:
        """Run a block under a guard, where these parameters are left out and this was asked."""
        return _Guarded(self, guard, omitted, asked)

    def speculation(self) -> _Speculation:
        """Run something without noting sites."""
        return _Speculation(self)


class _Guarded:
    """Puts a guard on what runs in it; entered far more often than `contextmanager` is made for."""

    __slots__ = ("asked", "before", "frame", "guard", "omitted", "opened", "others")

    def __init__(
        self, frame: Frame, guard: Guard | None, omitted: Dependence, asked: Asked
    ) -> None:
        self.frame, self.guard, self.omitted, self.asked = frame, guard, omitted, asked

    def __enter__(self) -> None:
        self.before = self.frame.omitted
        if self.omitted:
            self.frame.omitted = self.before | self.omitted
        self.opened = self.frame.nest.guard(self.guard)
        self.others = self.frame.nest.asked
        self.frame.nest.asked = self.others | self.asked

    def __exit__(self, *error: object) -> None:
        self.frame.omitted = self.before
        self.frame.nest.asked = self.others
        if self.opened:
            self.frame.nest.guards.pop()


class _Speculation:
    """Silences a frame, likewise."""

    __slots__ = ("before", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __enter__(self) -> None:
        self.before, self.frame.speculative = self.frame.speculative, True

    def __exit__(self, *error: object) -> None:
        self.frame.speculative = self.before


_PLAIN = frozenset(
    {HOST, HOST_ARRAY, CONTAINER, SYMBOL, FUNCTION, CLASS, CLASSES, INSTANCE, INSTANCES}
)
Expressions = Mapping[type[cst.CSTNode], Callable[[Frame, Any], Value]]
Statements = Mapping[type[cst.CSTNode], Callable[[Frame, Any], bool]]


class Machine(NamedTuple):
    """The transfer functions: how each type of node is evaluated or executed, and values called.

    `interpret.machine` fills it; nothing below that package knows what is in it. A statement's
    executor returns whether the statement falls through.
    """

    expressions: Expressions
    statements: Statements
    call: Callable[[Frame, cst.Call, Value, Arguments], Value]


class Host(Module, Protocol):
    """The file that a frame runs in, as far as the interpreter asks it (`modules.analysis`)."""

    machine: Machine
    knowledge: Knowledge
    module_name: str
    frameworks: tuple[str, ...]
    with_numpy: tuple[str, ...]
    types: dict[str, Value] | None
    given: Mapping[tuple[str, int | str], frozenset[str]]

    @property
    def frame(self) -> Frame: ...
    @property
    def device(self) -> Device: ...
    @property
    def devices(self) -> frozenset[str]: ...
    @property
    def sends_freely(self) -> bool: ...
    @property
    def is_alone(self) -> bool: ...
    @property
    def places_batches(self) -> bool: ...
    @property
    def names_host_runtimes(self) -> bool: ...
    @property
    def symbolic(self) -> frozenset[str]: ...

    def waits(self, framework: str) -> bool: ...
    def defines(self, method: str) -> bool: ...
    def named(self, kind: str, framework: str, why: Reason) -> Value: ...
    def resolve(self, name: str) -> Value: ...
    def from_star_imports(self, name: str) -> Value | None: ...
    def foreign_class(self, name: str) -> ClassInfo | None: ...
    def called_function(self, frame: Frame, name: str) -> Value | None: ...
    def called_class(self, frame: Frame, name: str) -> ClassInfo | None: ...
    def table(self, frame: Frame, name: str) -> Value | None: ...
    def constant(self, frame: Frame, name: str) -> Value | None: ...
    def is_abstract(self, info: FunctionInfo) -> bool: ...
    def summary_for(self, info: FunctionInfo) -> Summary: ...
    def define_function(self, frame: Frame, node: cst.FunctionDef) -> None: ...
    def define_class(self, frame: Frame, node: cst.ClassDef) -> None: ...
    def bind_import(self, frame: Frame, node: cst.Import) -> None: ...
    def bind_import_from(self, frame: Frame, node: cst.ImportFrom) -> None: ...


def call_value(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a value, as `interpret.calls` does it."""
    return frame.analysis.machine.call(frame, node, callee, arguments)


def evaluate(frame: Frame, node: cst.CSTNode) -> Value:
    """Return what is known about the value of an expression, noting the sites in it."""
    if type(node) is cst.Name:
        found = frame.env.get(node.value)
        if found is not None and found.kind in _PLAIN:
            return found  # as most are: nothing more is to be learned of them
    handler = frame.analysis.machine.expressions.get(type(node))
    if handler is None:
        return UNKNOWN_VALUE
    if frame.depth > MAX_DEPTH:
        frame.too_deep()
        return UNKNOWN_VALUE
    frame.depth += 1
    value = handler(frame, node)
    frame.depth -= 1
    return value
