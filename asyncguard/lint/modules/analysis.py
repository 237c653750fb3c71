"""One file, interpreted: its module body, then each function once, and what they told.

`FileAnalysis` owns the file's scopes: it binds imports, defines functions and classes, and runs
every function exactly once, when a caller first asks for its summary or else at the end. What a
run notes (sites, calls, what it returns and which parameters it reads) stays with the function.
How often a function is entered is not known here; `linking` decides that for all files together.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts.frame import Frame, evaluate, is_test
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, Parameter
from asyncguard.lint.domain.effects import Site
from asyncguard.lint.domain.hints import note_hint
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.domain.reasons import LOW, MEDIUM, Doubt, Provenance, Reason
from asyncguard.lint.domain.summary import Summary
from asyncguard.lint.domain.values import (
    CLASS,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    MODEL,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    doubted,
    from_params,
    settled,
    symbol,
)
from asyncguard.lint.interpret import blocks, types
from asyncguard.lint.interpret.machine import MACHINE
from asyncguard.lint.interpret.operators import scan
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.class_roles import kinds_by_methods, kinds_by_name
from asyncguard.lint.modules.outline import Outline, absolute, outer_functions
from asyncguard.lint.modules.summaries import Summaries
from asyncguard.lint.names import family
from asyncguard.lint.names.words import compiled
from asyncguard.lint.source.decode import check_syntax
from asyncguard.lint.syntax.tree import (
    NO_TREE,
    Unit,
    dotted,
    function_unit,
    module_unit,
    parse_type,
    walk,
)
from asyncguard.model import Device, Loop

_BUILTINS = frozenset(dir(builtins))
# What a parameter is by its default, whatever else it is given.
_TOOLS = frozenset({MODEL, "criterion", "optimizer", "metric"})


class Modules(Protocol):
    """The other checked files, as far as the analysis of one asks (`modules.project`)."""

    device: Device
    modules: Mapping[str, str]
    standing: dict[FileAnalysis, None]
    summaries: Summaries
    bounds: set[str]

    def module(self, name: str, asker: str) -> FileAnalysis | None: ...
    def binds(self, module: str, name: str, asker: str) -> bool: ...
    def is_packaged(self, path: str) -> bool: ...


class FileAnalysis:
    """The interpretation of one file."""

    machine = MACHINE

    def __init__(
        self,
        path: str,
        module_name: str,
        text: str,
        parsed: ast.Module,
        outline: Outline,
        knowledge: Knowledge,
        frameworks: tuple[str, ...],
        project: Modules,
        *,
        is_package: bool = False,
        is_guest: bool = False,
    ) -> None:
        self.path = path
        self.is_guest = is_guest  # of no framework: it is run for those who import it
        self.module_name = module_name
        self.package = module_name if is_package else module_name.rpartition(".")[0]
        self.text = text
        self.parsed: ast.Module | None = parsed  # while trees are made of it
        self.outline = outline
        self.knowledge = knowledge
        self.frameworks = frameworks
        self.with_numpy = (*frameworks, "numpy")
        self.project = project
        self.functions: list[FunctionInfo] = []
        self.by_node: dict[int, FunctionInfo] = {}  # by the id of where they are defined
        self.star_modules: list[str] = []
        self.types: dict[str, Value] | None = None  # what annotations name, once that is settled
        self.traced: set[str] = set()  # what compiled functions hand on, by its name
        self.reported: list[FunctionInfo] = []  # what the rules look at now
        self.sites: list[Site] = []  # of these
        self.told: object = None  # the facts of the file, once they are told
        self.told_by: dict[FunctionInfo, object] = {}  # likewise, by functions of a guest
        self.giving: set[FunctionInfo] = set()  # methods being run for what they give attributes
        self.running = False

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    @cached_property
    def unit(self) -> Unit:
        """The tree of what stands outside functions, made when it is needed first."""
        parsed = self.parsed or check_syntax(self.text)
        numbers = {(f.line, f.indent): n for n, f in enumerate(self.outline.functions)}
        return module_unit(self.lines, parsed, numbers)

    @cached_property
    def _syntax(self) -> dict[tuple[int, int], ast.stmt]:
        """What Python's parser said of the outlined functions, by line and column, while kept."""
        functions = outer_functions(self.parsed) if self.parsed is not None else ()
        return {(node.lineno, node.col_offset): node for node, _ in functions}

    @cached_property
    def body(self) -> FunctionInfo:
        """The module's own statements, as a function."""
        info = FunctionInfo("", "", self.unit.tree, self, unit=self.unit)
        scan(info, self.knowledge, self.frameworks)
        return info

    @cached_property
    def frame(self) -> Frame:
        """The module's scope."""
        return Frame(self, self.body)

    @property
    def device(self) -> Device:
        """Where values are taken to be."""
        return self.project.device

    def waits(self, framework: str) -> bool:
        """Whether reading a value of a framework may wait at all, where values are.

        Beside one of pure functions, another that keeps its values on the CPU reads the data.
        """
        known = self.knowledge.frameworks.get(framework)
        if known is None or not known.asynchronous_cpu:
            return self.device != Device.CPU or known is None
        return self.knowledge.functional_of(self.frameworks) in ("", framework)

    @cached_property
    def names_other_arrays(self) -> bool:
        """Whether the file speaks of libraries whose arrays are in host memory."""
        return _names_any(self.knowledge.language.array_libraries, self.text, r"\w.")

    @cached_property
    def places_batches(self) -> bool:
        """Whether the file speaks of libraries whose loaders give batches on the device."""
        return _names_any(self.knowledge.language.placing_libraries, self.text.lower(), r"\w")

    @property
    def is_alone(self) -> bool:
        """Whether its one framework is the only library in the file that has arrays."""
        return len(self.frameworks) == 1 and not self.names_other_arrays

    @cached_property
    def symbolic(self) -> frozenset[str]:
        """The frameworks with which the file builds graphs, to be run by a session."""
        builds = self.knowledge.builds_graphs
        return frozenset(f for f in self.frameworks if builds(f, self.text))

    # ---- running

    def run_module(self) -> None:
        """Execute the module's own statements (once)."""
        if self.running:
            return
        self.running = True
        self._stand()
        blocks.run(self.frame, self.unit.tree.body)
        self.body.summary = _summary_of(self.frame)
        self.types = {}

    def run_all(self) -> None:
        """Execute the module and each of its functions."""
        self.run_module()
        done = 0
        while done < len(self.functions):
            self.project.summaries.of(self.functions[done])
            done += 1
        for info in self.functions:
            info.compiled |= info.name in self.traced

    def report(self, functions: list[FunctionInfo]) -> None:
        """Turn the rules to these functions."""
        self.reported = functions
        looked_at = (info for info in functions if not info.compiled)
        summaries = (info.summary for info in looked_at)
        self.sites = [site for known in summaries if known is not None for site in known.sites]

    def bounded(self, line: int, text: str, bound: int) -> None:
        """Note that a bound of the analysis was reached, which is not silent."""
        where = f"{self.path}:{line}" if line else self.path
        self.project.bounds.add(f"{where}: {text} (bound: {bound:,})")

    def summary_for(self, info: FunctionInfo) -> Summary:
        """Return the summary of a function that is called here."""
        info.abroad |= info.module is not self
        return self.project.summaries.of(info)

    def run(self, info: FunctionInfo, given: dict[str, Value] | None = None) -> Summary:
        """Execute a function; for its sites, or silently for what it gives attributes."""
        self.grow(info)
        frame = Frame(self, info, parent=info.closure or self.frame, silent=given is not None)
        frame.given = given
        self._bind_parameters(frame, info)
        if type(info.node) is cst.Lambda:
            frame.returns.append(evaluate(frame, info.node.body))
        elif type(info.node) is cst.FunctionDef:
            blocks.suite(frame, info.node.body)
        summary = _summary_of(frame)
        result = self._returned(frame, info, summary.result)
        return summary if result is summary.result else summary._replace(result=result)

    def _returned(self, frame: Frame, info: FunctionInfo, result: Value) -> Value:
        """Return a function's result, with what its signature declares of it."""
        annotation = info.node.returns if type(info.node) is cst.FunctionDef else None
        if annotation is None or result.kind not in (UNKNOWN, DEVICE):
            return result
        outer = frame.parent or self.frame
        with outer.quiet():
            declared = types.type_value(outer, annotation.annotation)
        if declared.kind == HOST and declared.name in types.HOST_TYPES:
            computed = result.kind == DEVICE and result.confidence >= MEDIUM and not result.role
            return result if computed else declared  # by arithmetic or a framework's function
        if declared.kind == DEVICE and (result.kind == UNKNOWN or result.confidence == LOW):
            return doubted(declared, Doubt.INFERRED)._replace(params=result.params)
        if declared.kind == CONTAINER and result.kind == UNKNOWN and not result.params:
            return declared
        return result

    def grow(self, info: FunctionInfo) -> None:
        """Give a function its own tree, if that of the file holds only its name and number."""
        outlined = info.outlined
        if outlined is not None and not info.grown:
            info.grown = True
            self._stand()
            part = self._syntax.get((outlined.line, outlined.indent))
            info.unit = function_unit(self.lines, outlined.first, outlined.last, part)
            info.node = info.unit.tree
            scan(info, self.knowledge, self.frameworks)

    def _stand(self) -> None:
        """Note that it has trees."""
        self.project.standing.setdefault(self)

    def shed(self) -> None:
        """Let go of all trees, which take most of the memory; what is run again grows its own.

        What other files hold of this one stays good: its names, its classes, the summaries that
        they asked for.
        """
        self.project.standing.pop(self, None)
        kept = {self.body, *self.asked_abroad()}
        for info in kept:
            if info.summary is not None:
                info.summary = info.summary.without_trees()
        for info in (self.body, *self.functions):
            if info not in kept:
                info.summary = None
            if info is self.body or info.outlined is not None:
                info.grown, info.unit, info.node = False, None, NO_TREE
        self.functions = [info for info in self.functions if info.outlined is not None]
        self.frame.let_go()
        self.by_node.clear()
        self.report([])
        self.let_go_of_syntax()
        for name in ("lines", "unit"):
            vars(self).pop(name, None)

    def let_go_of_syntax(self) -> None:
        """Let go of what Python's parser said; it is asked again for what is looked at later."""
        self.parsed = None
        vars(self).pop("_syntax", None)

    def asked_abroad(self) -> list[FunctionInfo]:
        """Return the functions that other files called, and what these call in this file."""
        found = [info for info in self.functions if info.abroad and info.summary is not None]
        seen = set(found)
        for info in found:
            for edge in info.summary.edges:
                callee = edge.callee
                if callee.module is self and callee not in seen and callee.summary is not None:
                    seen.add(callee)
                    found.append(callee)
        return found

    def attribute(self, cls: ClassInfo, name: str) -> Value | None:
        """Return what an attribute of a class's instances is, by all that its methods assign."""
        if name not in cls.attributes:
            setters = [method for method in cls.methods.values() if method.sets(name)]
            setters.sort(key=lambda method: method.name != "__init__")
            found, final = self.project.summaries.derive(
                (cls, name), lambda: self._assigned(cls, name, setters)
            )
            if final and self.giving.isdisjoint(setters):
                cls.attributes[name] = found
            return found
        return cls.attributes[name]

    def _assigned(self, cls: ClassInfo, name: str, setters: Sequence[FunctionInfo]) -> Value | None:
        """Join what the methods that assign an attribute give it."""
        found = cls.own.get(name)
        cls.attributes[name] = found or Value(role=Role.IN_PROGRESS)  # what it sees itself as
        for method in setters:
            value = self._given(method).get(name)
            if value is not None:
                found = value if found is None else join(found, value)
        del cls.attributes[name]
        return found

    def _given(self, method: FunctionInfo) -> Mapping[str, Value]:
        """Return what a method assigns to attributes; it is run for that once."""
        if method.given is not None:
            return method.given
        given, final = self.project.summaries.derive(method, lambda: self._run_for_given(method))
        if not final:
            method.given = None
        return given

    def _run_for_given(self, method: FunctionInfo) -> dict[str, Value]:
        given: dict[str, Value] = {}
        method.given = given  # as far as it is known, for those who ask meanwhile
        self.giving.add(method)
        self.run(method, given)
        self.giving.discard(method)
        return given

    def _bind_parameters(self, frame: Frame, info: FunctionInfo) -> None:
        for index, parameter in enumerate(info.parameters):
            frame.env[parameter.name] = self._parameter(frame, info, index, parameter)

    def _parameter(
        self, frame: Frame, info: FunctionInfo, index: int, parameter: Parameter
    ) -> Value:
        if index == 0 and info.has_self and info.cls is not None:
            return types.instance_of(info.cls)
        params = frozenset({index})
        value = self._declared(frame, parameter)
        if info.compiled and value.kind == UNKNOWN:
            value = Value(DEVICE, self.frameworks[0], role=Role.MODEL_OUTPUT)
        if value.kind == UNKNOWN and info.hook == Loop.STEP and parameter.default is None:
            usage = frame.hint(parameter.name)
            value = usage if usage.kind != UNKNOWN else self._argument(info)
        if value.kind == CONTAINER and value.element is None and info.hook == Loop.STEP:
            value = value._replace(element=self._argument(info))
        if parameter.stars:
            return container(from_params(value, params))
        return from_params(value, params)

    def _declared(self, frame: Frame, parameter: Parameter) -> Value:
        outer = frame.parent or self.frame
        if parameter.annotation is not None:
            with outer.quiet():
                value = types.type_value(outer, parameter.annotation)
            if value.kind == DEVICE and type(parameter.default) in (cst.Integer, cst.Float):
                return HOST_VALUE  # a number that may as well be an array
            if value.kind != UNKNOWN:
                named = self.knowledge.by_name(parameter.name, self.frameworks)
                if named is None or named[0] != HOST_ARRAY:
                    return value
                return container(Value(*named)) if value.kind == CONTAINER else Value(*named)
        if parameter.default is not None:
            with outer.quiet():
                value = evaluate(outer, parameter.default)
            if value.kind == HOST and value.literal is not None and value.role == Role.LITERAL:
                return HOST_VALUE
            if value.kind in _TOOLS:
                return value
        return self._documented(outer, frame.function, parameter.name)

    def _documented(self, frame: Frame, info: FunctionInfo, name: str) -> Value:
        """Return what a function's docstring says of a parameter."""
        text = info.documented.get(name)
        if text is None:
            return UNKNOWN_VALUE
        node = parse_type(text)
        if node is None:
            return UNKNOWN_VALUE
        with frame.quiet():
            value = types.type_value(frame, node)
        if value.kind == UNKNOWN and (known := self.knowledge.device_types.get(text)):
            value = device(known) if known in self.frameworks else UNKNOWN_VALUE
        why = frame.reason(Provenance.DOCSTRING, f"the docstring declares `{name}` as `{text}`")
        return value._replace(why=why) if value.kind != UNKNOWN else value

    def _argument(self, info: FunctionInfo) -> Value:
        """Return what a framework passes to its hook, as far as nothing else tells."""
        says = f"`{info.name}` is entered by its framework"
        why = Reason(Provenance.ARGUMENT, says, self.path)
        return device(self.hook_framework(info), why)

    def hook_framework(self, info: FunctionInfo) -> str:
        """Return the framework whose hook the function is."""
        owners = self.knowledge.hot_functions.get(info.name, frozenset())
        for kind in ("metric", "model"):
            owners |= self.knowledge.hot_functions.get(f"{kind}.{info.name}", frozenset())
        return next((f for f in self.frameworks if f in owners), self.frameworks[0])

    # ---- definitions

    def define_function(self, frame: Frame, node: cst.FunctionDef) -> None:
        """Bind a function's name; decorators may compile it or make it a property."""
        info = self.by_node.get(id(node)) or self._new_function(frame, node)
        decorated = Value(FUNCTION, ref=info)
        for decorator in reversed(node.decorators):
            decorated = self._decorate(frame, info, decorated, decorator.decorator)
        frame.bind(node.name.value, decorated)

    def _new_function(self, frame: Frame, node: cst.FunctionDef) -> FunctionInfo:
        cls = self._class_scope(frame)
        outer = frame.function.qualname
        prefix = cls.qualname if cls else outer
        info = FunctionInfo(
            node.name.value,
            f"{prefix}.{node.name.value}" if prefix else node.name.value,
            node,
            self,
            cls,
            None if frame is self.frame else frame,
        )
        if cls is not None:
            cls.methods.setdefault(info.name, info)
            cls.methods[info.name] = info
            info.closure = frame.parent
        info.outlined = self._outlined(node)
        info.unit = frame.function.unit
        if info.outlined is not None:
            if cls is not None:
                for path, hint in info.outlined.hints.items():
                    note_hint(cls.hints, path, hint)
        else:
            scan(info, self.knowledge, self.frameworks)
        self._set_hook(info)
        self.functions.append(info)
        self.by_node[id(node)] = info
        return info

    def _outlined(self, node: cst.FunctionDef) -> Outlined | None:
        """Return the outlined function whose number stands for the body."""
        suite = node.body
        if type(suite) is cst.SimpleStatementSuite and len(suite.body) == 1:
            small = suite.body[0]
            if type(small) is cst.Expr and type(small.value) is cst.Integer:
                index = int(small.value.value)
                if index < len(self.outline.functions):
                    known = self.outline.functions[index]
                    return known if known.name == node.name.value else None
        return None

    def _class_scope(self, frame: Frame) -> ClassInfo | None:
        return frame.function.cls if frame.function.name == "<class>" else None

    def _set_hook(self, info: FunctionInfo) -> None:
        active = set(self.frameworks)
        if info.cls is None and _METHOD_ONLY(info.name):
            return
        if is_test(info.name, self.path):
            return
        names = [info.name]
        if info.cls is not None and info.name in self.knowledge.kind_hooks:
            # "metric.update": the hook of a kind of class
            family = list(info.cls.family())
            kinds = {base.kind for cls in family for base in cls.bases}
            kinds.update(kind for cls in family for kind in kinds_by_name(cls.name))
            kinds.update(kinds_by_methods(self.outline.methods.get(info.cls.name, frozenset())))
            if MODEL in kinds:
                kinds.discard("policy")  # whose own call is traced, or is its `forward`
            names += [f"{kind}.{info.name}" for kind in kinds]
        outlined = info.outlined
        if outlined is not None:
            taken = outlined.parameters
        else:
            taken = tuple(parameter.name for parameter in info.parameters)
        if info.cls is None and taken[:1] == ("self",) and _STANDS_IN(info.name):
            names.append("forward")  # the method of a class elsewhere, which it replaces
        hooked = any(self.knowledge.hot_functions.get(n, frozenset()) & active for n in names)
        hooked |= self.knowledge.enters(taken)
        if hooked or (outlined is not None and self._is_eager and self.outline.is_step(outlined)):
            info.hook = Loop.STEP
        elif self.knowledge.cold_functions.get(info.name, frozenset()) & active:
            info.hook = Loop.EPOCH

    def _handed_on(self, info: FunctionInfo) -> Iterator[str]:
        """Yield the names of what a function hands to others first: `strategy.run(self.step)`."""
        outlined = info.outlined
        if outlined is None:
            for call in walk(info.node):
                if type(call) is cst.Call and type(call.func) is cst.Attribute and call.args:
                    yield dotted(call.args[0].value).rpartition(".")[2]
            return
        tree = self._syntax.get((outlined.line, outlined.indent))
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                if isinstance(first, ast.Name | ast.Attribute):
                    yield first.id if isinstance(first, ast.Name) else first.attr

    @cached_property
    def _is_eager(self) -> bool:
        """Whether the frameworks that it uses trace no functions."""
        return not any(self.knowledge.frameworks[f].steps.compiled for f in self.frameworks)

    def _decorate(
        self, frame: Frame, info: FunctionInfo, value: Value, node: cst.BaseExpression
    ) -> Value:
        func = node.func if type(node) is cst.Call else node
        name = blocks.evaluate_name(frame, func)
        last = name.rpartition(".")[2] or dotted(func).rpartition(".")[2]
        if last in ("property", "cached_property"):
            info.is_property = True
        elif last == "staticmethod":
            info.is_static = True
        elif name.rpartition(".")[2] == "partial" and type(node) is cst.Call and node.args:
            name = blocks.evaluate_name(frame, node.args[0].value)
        if not name:
            return value
        if found := self.knowledge.compiled.find(name):
            info.compiled = True
            self.traced.update(self._handed_on(info))
            return Value(MODEL, found[1], ref=info)
        if self.knowledge.hot_decorators.find(name):
            info.hook = Loop.STEP
        return value

    def define_class(self, frame: Frame, node: cst.ClassDef) -> None:
        """Bind a class's name, and its methods."""
        outer = frame.function.qualname
        name = node.name.value
        cls = ClassInfo(name, f"{outer}.{name}" if outer else name, self)
        bases = [argument.value for argument in node.bases]
        cls.find_bases = lambda: self._bases(frame, bases)
        for decorator in node.decorators:
            evaluate(frame, decorator.decorator)
        info = FunctionInfo("<class>", cls.qualname, node, self, cls, unit=frame.function.unit)
        inner = Frame(self, info, parent=frame, silent=frame.silent)
        for statement in node.body.body:
            blocks.execute(inner, statement)
            self._dataclass_field(cls, statement)
        for key, value in inner.env.items():
            if value.kind not in (FUNCTION, UNKNOWN) and "." not in key:
                cls.own.setdefault(key, value)
        frame.sites.extend(inner.sites)
        frame.bind(name, Value(CLASS, ref=cls))

    def _bases(self, frame: Frame, nodes: list[cst.BaseExpression]) -> tuple[Value, ...]:
        with frame.quiet():
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

    # ---- imports

    def bind_import(self, frame: Frame, node: cst.Import) -> None:
        """`import a.b` binds `a`; `import a.b as c` binds `c` to a.b."""
        for alias in node.names:
            name = dotted(alias.name)
            if alias.asname is not None and type(alias.asname.name) is cst.Name:
                frame.bind(alias.asname.name.value, self._imported(name))
            else:
                first = name.partition(".")[0]
                above = self._beside(name).removesuffix(name)
                frame.bind(first, symbol(above + first))

    def bind_import_from(self, frame: Frame, node: cst.ImportFrom) -> None:
        """`from a import b` binds `b` to a.b; relative imports start from the package."""
        base = self._absolute(node)
        names: Any = node.names
        if type(names) is cst.ImportStar:
            self.star_modules.append(base)
            return
        for alias in names:
            name = dotted(alias.name)
            bound = name
            if alias.asname is not None and type(alias.asname.name) is cst.Name:
                bound = alias.asname.name.value
            frame.bind(bound, self._imported(f"{base}.{name}" if base else name))

    def _absolute(self, node: cst.ImportFrom) -> str:
        module = dotted(node.module) if node.module else ""
        return absolute(len(node.relative), module, self.package)

    def _imported(self, name: str) -> Value:
        return symbol(self._beside(self.knowledge.canonical(name)))

    def _beside(self, name: str) -> str:
        """Return the full name of a module that a script finds in a folder that it is in."""
        if self.project.is_packaged(self.path):
            return name
        modules = self.project.modules
        prefix = "" if self.knowledge.framework_of(name) else self.package
        while prefix and name not in modules and name.rpartition(".")[0] not in modules:
            full = f"{prefix}.{name}"
            if full in modules or full.rpartition(".")[0] in modules:
                return full
            prefix = prefix.rpartition(".")[0]
        return name

    def named(self, kind: str, framework: str, why: Reason) -> Value:
        """Return a value of a kind that a catalogue table tells."""
        if kind == "module":  # of arrays, NumPy's or one like it: `xp`
            return symbol(self.knowledge.canonical(f"{framework}.xp"))
        return Value(kind, framework, why)

    def resolve(self, name: str, depth: int = 0) -> Value:
        """Return what a dotted name stands for, looking into checked modules."""
        name = self.knowledge.canonical(name)
        found = self._in_checked_module(name, depth)
        return found if found is not None else symbol(name)

    def _in_checked_module(self, name: str, depth: int = 0) -> Value | None:
        module, _, attr = name.rpartition(".")
        if not module or depth > 6:
            return None
        analysis = self._module(module)
        if analysis is None:
            return None
        value = analysis.frame.env.get(attr)
        if value is None:
            value = analysis.from_star_imports(attr)
        if value is None:
            return None
        if value.kind == SYMBOL and value.name != name:
            return analysis.resolve(value.name, depth + 1)
        return value

    def _module(self, name: str) -> FileAnalysis | None:
        if name == self.module_name:
            return self
        return self.project.module(name, self.path)

    def from_star_imports(self, name: str, asked: frozenset[str] = frozenset()) -> Value | None:
        """Return what a star import brings under `name`; `asked`: the modules that ask for it."""
        if name in _BUILTINS:
            return None
        asked |= {self.module_name}
        for module in self.star_modules:
            if self.project.binds(module, name, self.path):
                analysis = self._module(module)
                value = analysis.frame.env.get(name) if analysis not in (None, self) else None
                if value is None and analysis is not None and analysis.module_name not in asked:
                    value = analysis.from_star_imports(name, asked)
                if value is not None:
                    return value
            elif self.knowledge.framework_of(module):
                full = self.knowledge.canonical(f"{module}.{name}")
                if full in self.knowledge.returns.exact or full in self.knowledge.sync_functions:
                    return symbol(full)
        return None

    def called_function(self, frame: Frame, name: str) -> Value | None:
        """Return the checked function that an imported name stands for, where it is called.

        It may be a compiled one.
        """
        value = self._in_checked_module(name) if self._follows(frame, name) else None
        if value is None or not isinstance(value.ref, FunctionInfo):
            return None
        return value if value.kind in (FUNCTION, MODEL) else None

    def called_class(self, frame: Frame, name: str) -> ClassInfo | None:
        """Return the checked class that a call of an imported name makes an instance of."""
        is_named_like_one = name.rpartition(".")[2][:1].isupper()
        follows = is_named_like_one or self._follows(frame, name)
        return self.foreign_class(name) if follows else None

    def _follows(self, frame: Frame, name: str) -> bool:
        """Whether a call into another file is followed: from where something may be hot."""
        if name.startswith(self.module_name + "."):
            return True
        if frame.function is self.body:
            return not self.project.is_packaged(self.path)
        return True

    def foreign_class(self, name: str) -> ClassInfo | None:
        """Return the checked class that an imported name stands for."""
        value = self._in_checked_module(name)
        if value is not None and value.kind == CLASS and isinstance(value.ref, ClassInfo):
            return value.ref
        return None

    def is_abstract(self, info: FunctionInfo) -> bool:
        """Whether a method only raises or does nothing: some subclass says what."""
        outlined = info.outlined
        if outlined is not None and not any(
            map(_RAISES_OR_PASSES.match, info.module.lines[outlined.last - 4 : outlined.last])
        ):
            return False
        info.module.grow(info)
        body = info.node.body.body if type(info.node) is cst.FunctionDef else ()
        if len(body) > 3 or not all(type(line) is cst.SimpleStatementLine for line in body):
            return False
        small = [
            part for line in body if type(line) is cst.SimpleStatementLine for part in line.body
        ]
        return not any(map(_does_something, small))

    # ---- results

    def translate(self, point: SyncPoint, framework: str) -> SyncPoint | None:
        """Return `point`, or what it is called in another framework, for a read by a helper."""
        if not framework or framework == point.framework or point.source is None:
            return point
        knowledge = self.knowledge
        for protocol in point.source.protocols:
            if other := knowledge.sync_protocols.get((framework, protocol)):
                return other
        for method in point.source.methods:
            for candidate in knowledge.sync_methods.get((point.source.receiver, method), ()):
                if candidate.framework == framework:
                    return candidate
        return None

    def defines(self, method: str) -> bool:
        """Whether a class of the file defines a method of this name."""
        return self.outline.defines(method)

    def infos(self) -> Iterator[FunctionInfo]:
        """Yield the module's body and every function that was run."""
        yield self.body
        yield from self.functions


def _names_any(words: Iterable[str], text: str, before: str) -> bool:
    """Whether one of these words stands in a text, behind none of the characters `before`.

    It is looked for as it is first, which is fast.
    """
    return any(w in text and compiled(rf"{w}\b(?<![{before}]{w})").search(text) for w in words)


_RAISES_OR_PASSES = re.compile(r"\s*(raise\b|return$|pass\b|\.\.\.)|.*\"\"\"\s*$")


def _does_something(statement: cst.CSTNode) -> bool:
    """Whether a statement is neither a docstring nor `pass`, `...`, `raise` or a bare `return`."""
    if type(statement) is cst.Return:
        return statement.value is not None
    if type(statement) is cst.Expr:
        return not isinstance(statement.value, (cst.BaseString, cst.Ellipsis))
    return type(statement) not in (cst.Pass, cst.Raise)


_METHOD_ONLY = family("function.method_only")
_STANDS_IN = family("function.stands_in")


def _summary_of(frame: Frame) -> Summary:
    result = settled(_join_all(frame.returns))
    if frame.yields:
        result = container(_join_all(frame.yields))
    return Summary(
        result,
        _once(frame.reads),
        _once(frame.sites),
        tuple(frame.edges),
        tuple(frame.events),
        tuple(frame.named),
        frame.works,
        frame.trained and not frame.prepares,
        frame.stepped and not frame.prepares,
        frame.updates and not frame.prepares,
        frame.step_loops,
        frame.rounds,
        frame.acts,
        tuple(frame.compiles),
    )


def _once(sites: Sequence[Site]) -> tuple[Site, ...]:
    """Keep one site a node, and a read within: the last noted, when the most was known."""
    return tuple({(id(s.node), s.point.rule, id(s.read.node)): s for s in sites}.values())


def _join_all(values: Sequence[Value]) -> Value:
    if not values:
        return HOST_VALUE
    merged = values[0]
    for value in values[1:]:
        merged = join(merged, value)
    return merged
