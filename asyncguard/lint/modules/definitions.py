"""The definitions of a file: its functions and classes, bound where they are executed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.usage import scan
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, function_of
from asyncguard.lint.domain.hints import note_hint
from asyncguard.lint.domain.values import (
    CLASS,
    FUNCTION,
    MODEL,
    SYMBOL,
    UNKNOWN,
    Role,
    Value,
    unknown_of,
)
from asyncguard.lint.interpret import blocks, regions, types
from asyncguard.lint.interpret.registries import note_registered
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.given import given
from asyncguard.lint.modules.hooks import hook_of
from asyncguard.lint.modules.mentions import mentions
from asyncguard.lint.modules.outline import Outline, last_name, outer_functions
from asyncguard.lint.modules.scope import Modules, Scope
from asyncguard.lint.modules.switches import switches
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, names_in, walk
from asyncguard.lint.syntax.unit import Unit
from asyncguard.model import Loop

_CACHES = family("function.caches")


class Definitions(Scope):
    """A file's functions and classes, beside its names."""

    def __init__(
        self,
        path: str,
        module_name: str,
        text: str,
        unit: Unit,
        outline: Outline,
        knowledge: Knowledge,
        frameworks: tuple[str, ...],
        project: Modules,
        *,
        is_package: bool = False,
    ) -> None:
        super().__init__(
            path, module_name, text, knowledge, frameworks, project, is_package=is_package
        )
        self.options = switches(unit.tree)
        self.mentions = mentions(unit.tree)
        self.given = given(unit.tree, knowledge, frameworks)
        self.outline = outline
        self.unit: Unit | None = unit  # while it has its trees
        outer = (id(node) for node, _ in outer_functions(unit.tree))
        self.outlined = dict(
            zip(outer, outline.functions, strict=True)
        )  # by the `id` of their nodes
        self.functions: list[FunctionInfo] = []
        self.by_node: dict[int, FunctionInfo] = {}  # by the id of where they are defined
        self.traced: set[str] = set()  # what compiled functions hand on, by its name

    def define_function(self, frame: Frame, node: cst.FunctionDef) -> None:
        """Bind a function's name; decorators may compile it or make it a property."""
        info = self.by_node.get(id(node)) or self._new_function(frame, node)
        decorated = Value(FUNCTION, ref=info)
        for decorator in reversed(node.decorators):
            decorated = self._decorate(frame, info, decorated, decorator.decorator)
        frame.bind(node.name.value, decorated)
        if frame is not self.frame:
            frame.keeps |= _closed_over(frame, node)

    def _new_function(self, frame: Frame, node: cst.FunctionDef) -> FunctionInfo:
        cls = frame.function.cls if frame.function.name == "<class>" else None
        outer = frame.function.qualname
        prefix = cls.qualname if cls else outer
        info = FunctionInfo(
            node.name.value,
            f"{prefix}.{node.name.value}" if prefix else node.name.value,
            node,
            frame.analysis,
            cls,
            None if frame is self.frame else frame,
        )
        if cls is not None:
            cls.methods.setdefault(info.name, info)
            cls.methods[info.name] = info
            info.closure = frame.parent
        info.outlined = self.outlined.get(id(node))
        info.unit = frame.function.unit
        if info.outlined is not None:
            if cls is not None:
                cls.called |= info.outlined.called
                for path, hint in info.outlined.hints.items():
                    note_hint(cls.hints, path, hint)
        else:
            scan(info, self.knowledge, self.frameworks)
        info.hook = hook_of(info, self, self.outline).often
        self.functions.append(info)
        self.by_node[id(node)] = info
        return info

    def _decorate(
        self, frame: Frame, info: FunctionInfo, value: Value, node: cst.BaseExpression
    ) -> Value:
        func = node.func if type(node) is cst.Call else node
        decorator = blocks.evaluate_speculatively(frame, func)
        if decorator.kind == FUNCTION:
            info.decorators += (function_of(decorator),)
            note_registered(frame, function_of(decorator), value, within=func is not node)
        name = blocks.name_of(decorator)
        last = name.rpartition(".")[2]
        _note_kind(info, last or dotted(func).rpartition(".")[2])
        if last == "partial" and type(node) is cst.Call and node.args:
            name = blocks.evaluate_name(frame, node.args[0].value)
        if not name:
            return value
        if (region := regions.region_of(frame, name, regions.options_of(node))) is not None:
            info.regions += (region._replace(line=info.place[2] or region.line),)
        if found := self.knowledge.compiled.find(name):
            info.compiled = True
            self.traced.update(self._handed_on(info))
            return Value(MODEL, found[1], ref=info)
        if self.knowledge.hot_decorators.find(name):
            info.hook = Loop.STEP
        return value

    def _handed_on(self, info: FunctionInfo) -> Iterator[str]:
        """Yield the names of what a function hands to others first: `strategy.run(self.step)`."""
        for call in walk(info.node):
            if type(call) is cst.Call and type(call.func) is cst.Attribute and call.args:
                yield last_name(call.args[0].value)

    def define_class(self, frame: Frame, node: cst.ClassDef) -> None:
        """Bind a class's name, and its methods."""
        outer = frame.function.qualname
        name = node.name.value
        cls = ClassInfo(name, f"{outer}.{name}" if outer else name, frame.analysis)
        bases = [argument.value for argument in node.bases]
        cls.find_bases = lambda: self._bases(frame, bases)
        for decorator in node.decorators:
            evaluate(frame, decorator.decorator)
            called = decorator.decorator
            func = called.func if type(called) is cst.Call else called
            decorated = blocks.evaluate_speculatively(frame, func)
            cls.decorators += (decorated,)
            if decorated.kind == FUNCTION:
                by = function_of(decorated)
                note_registered(frame, by, Value(CLASS, ref=cls), within=func is not called)
        info = FunctionInfo(
            "<class>", cls.qualname, node, frame.analysis, cls, unit=frame.function.unit
        )
        inner = Frame(frame.analysis, info, parent=frame, speculative=frame.speculative)
        for statement in node.body.body:
            blocks.execute(inner, statement)
            self._dataclass_field(cls, statement)
        for key, value in inner.env.items():
            if value.kind == UNKNOWN or "." in key:
                continue
            if value.kind != FUNCTION:
                declared = key in cls.annotations and value.role is not Role.LITERAL
                (cls.defaults if declared else cls.own).setdefault(key, value)
            elif function_of(value).cls is None:
                cls.own.setdefault(key, value)  # a function that stands elsewhere: `run = run_all`
        frame.sites.extend(inner.sites)
        frame.bind(name, Value(CLASS, ref=cls))

    def _bases(self, frame: Frame, nodes: list[cst.BaseExpression]) -> tuple[Value, ...]:
        with frame.speculation():
            return tuple(self._base(frame, node) for node in nodes)

    def _base(self, frame: Frame, node: cst.BaseExpression) -> Value:
        value = evaluate(frame, node)
        if value.kind == SYMBOL:
            known = types.type_of_name(frame, value.name)
            if isinstance(known.ref, ClassInfo):
                return Value(CLASS, ref=known.ref)
            return known if known.kind != UNKNOWN else value
        return value

    def _dataclass_field(self, cls: ClassInfo, statement: cst.CSTNode) -> None:
        """`x: Tensor` in a class body declares an attribute of its instances."""
        if type(statement) is not cst.SimpleStatementLine:
            return
        for small in statement.body:
            if type(small) is cst.AnnAssign and type(small.target) is cst.Name:
                cls.annotations[small.target.value] = small.annotation.annotation

    def defines(self, method: str) -> bool:
        """Whether a class of the file defines a method of this name."""
        return self.outline.defines(method)


def _note_kind(info: FunctionInfo, decorator: str) -> None:
    """Note what one of Python's own decorators, by its last name, makes of a function."""
    match decorator:
        case "property" | "cached_property":
            info.is_property = True
        case "staticmethod":
            info.is_static = True
        case "classmethod":
            info.takes_class = True
        case _ if _CACHES(decorator):
            info.cached = True


def _closed_over(frame: Frame, node: cst.FunctionDef) -> frozenset[int]:
    """Return the parameters of which a function within may read what calls hand."""
    known = (frame.env.get(name) for name in names_in(node.body))
    return frozenset[int]().union(*(unknown_of(value) for value in known if value is not None))
