"""The functions and classes of the checked code, and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import libcst as cst

from asyncguard.lint.domain.hints import Hints
from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.domain.values import Value
from asyncguard.lint.domain.work import Work
from asyncguard.lint.names import family
from asyncguard.lint.syntax.docstrings import documented
from asyncguard.lint.syntax.tree import Unit, docstring, dotted
from asyncguard.model import Loop

# A script, or what tries something out: it is no training step, though it may run one.
_ONCE = family("function.once")


class Parameter(NamedTuple):
    """One parameter of a function; `stars` is 0, 1 (`*args`) or 2 (`**kwargs`)."""

    name: str
    annotation: cst.BaseExpression | None
    default: cst.BaseExpression | None
    stars: int = 0

    @property
    def may_be_none(self) -> bool:
        """Whether a call that leaves it out means None."""
        return self.default is not None and dotted(self.default) == "None"


@dataclass(eq=False, slots=True)
class ClassInfo:
    """A class of the checked code."""

    name: str
    qualname: str
    module: Any
    find_bases: Callable[[], tuple[Value, ...]] | None = None  # asked when they matter first
    methods: dict[str, FunctionInfo] = field(default_factory=dict)
    own: dict[str, Value] = field(default_factory=dict)  # that its body binds
    attributes: dict[str, Value | None] = field(default_factory=dict)  # as far as asked for
    hints: Hints = field(default_factory=dict)  # of `self.x` paths, from all methods
    annotations: dict[str, cst.BaseExpression] = field(default_factory=dict)
    _bases: tuple[Value, ...] = ()

    @property
    def bases(self) -> tuple[Value, ...]:
        """What it inherits from; looking that up may read other files, so it waits for a need."""
        if self.find_bases is not None:
            find, self.find_bases = self.find_bases, None
            self._bases = find()
        return self._bases

    def lookup(self, name: str, depth: int = 0) -> FunctionInfo | None:
        """Return the method, its own or inherited from checked code."""
        if name in self.methods:
            return self.methods[name]
        if depth < 8:
            for base in self.bases:
                if isinstance(base.ref, ClassInfo) and (found := base.ref.lookup(name, depth + 1)):
                    return found
        return None

    def family(self, depth: int = 0) -> Iterator[ClassInfo]:
        """Yield the class and its bases in checked code."""
        yield self
        if depth < 8:
            for base in self.bases:
                if isinstance(base.ref, ClassInfo):
                    yield from base.ref.family(depth + 1)


_ACTS = family("function.steps_environment")  # though it trains, now and then
_BETWEEN = family("function.between")


@dataclass(eq=False, slots=True)
class FunctionInfo:
    """A function or lambda of the checked code, or a module's own body."""

    name: str
    qualname: str
    node: cst.CSTNode
    module: Any  # the analysis.FileAnalysis that defined it
    cls: ClassInfo | None = None
    closure: Any = None  # the Frame that it was defined in
    hints: Hints = field(default_factory=dict)
    marks_step: bool = False  # runs a backward pass or an optimizer's step
    attributes_set: bool = False  # assigns attributes of `self`; asked of functions within others
    given: dict[str, Value] | None = None  # what it assigns to them, if it was run for that
    noted: dict[str, Value] | None = None  # likewise, as its last run for its sites noted it
    compiled: bool = False  # traced by a compiler: nothing in it waits at run time
    is_static: bool = False
    unit: Unit | None = None  # the tree that `node` is part of
    outlined: Outlined | None = None  # where its body stands, which becomes a tree when it is run
    grown: bool = False  # whether it has
    _parameters: tuple[Parameter, ...] | None = None  # None before they are asked for
    _documented: dict[str, str] | None = None  # likewise
    hook: Loop = Loop.NONE  # how often its framework enters it, by its name
    is_property: bool = False
    abroad: bool = False  # called from another file
    decorators: tuple[FunctionInfo, ...] = ()  # those of checked code
    summary: Any = None  # the Summary, once it is final

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes; asking may give it its tree."""
        if self._parameters is None:
            self.module.grow(self)
            signature = getattr(self.node, "params", None)
            self._parameters = parameters_of(signature) if signature is not None else ()
        return self._parameters

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it is defined, which orders functions whichever is met first."""
        line = self.outlined.line if self.outlined is not None else 0
        return self.module.path, self.qualname, line

    def calls(self, path: str) -> bool:
        """Whether a variable or attribute is called in it, which is no array then."""
        uses = self.unit.uses.get(id(self.node), ()) if self.unit is not None else ()
        return path != "" and any(
            type(node) is cst.Call and dotted(node.func) == path for node, _ in uses
        )

    def sets(self, attribute: str) -> bool:
        """Whether it may assign an attribute of `self`."""
        if self.outlined is not None:
            return attribute in self.outlined.attributes
        return self.attributes_set

    @property
    def entered(self) -> Loop:
        """How often its framework enters it: once a step if a training step is its whole body.

        Or a step of an environment, but for what is done between episodes. One that also loops over
        steps is no step for what it calls beside them, a last evaluation say.
        """
        summary = self.summary
        if summary is None or not self.name or _ONCE(self.name):
            return self.hook
        work = summary.work
        acts = work & Work.STEPS_ENVIRONMENT and not _BETWEEN(self.name)
        whole = self.marks_step or not work & Work.CONTAINS_STEPS
        if acts or (work & Work.TRAINS and whole):
            return Loop.STEP
        rounds = work & Work.CONTAINS_TRAINING and not _ACTS(self.name)
        return Loop.EPOCH if rounds and self.hook == Loop.STEP else self.hook

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
        takes = (
            bool(self.outlined.parameters) if self.outlined is not None else bool(self.parameters)
        )
        return self.cls is not None and not self.is_static and takes


def parameters_of(node: cst.Parameters) -> tuple[Parameter, ...]:
    """Return a signature's parameters, in order."""
    found = [
        Parameter(p.name.value, p.annotation.annotation if p.annotation else None, p.default)
        for p in (*node.posonly_params, *node.params)
    ]
    if type(node.star_arg) is cst.Param:
        found.append(_starred(node.star_arg, 1))
    found += [
        Parameter(p.name.value, p.annotation.annotation if p.annotation else None, p.default)
        for p in node.kwonly_params
    ]
    if node.star_kwarg:
        found.append(_starred(node.star_kwarg, 2))
    return tuple(found)


def _starred(param: cst.Param, stars: int) -> Parameter:
    annotation = param.annotation.annotation if param.annotation else None
    return Parameter(param.name.value, annotation, None, stars)
