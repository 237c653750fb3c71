"""What in a function could be a sync point, by the words in its `ast`.

The interpreter finds out what values are; this only rules out what can be none: calls of names that
the catalogue does not know, tests and indices that compute nothing. `screen` asks it about each
function, once, so it is written to be fast.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncguard.lint.knowledge import Knowledge
    from asyncguard.lint.screen import Outlined

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
# Methods that are as common on other objects as on arrays: no sign by themselves.
COMMON = frozenset({"get", "update", "step", "wait", "type", "save", "append", "extend", "write"})
HARMLESS = frozenset(
    {"isinstance", "hasattr", "len", "callable", "getattr", "issubclass", "type", "id", "range"}
)
_HARMLESS_CALLS = HARMLESS | {"size", "dim", "format", "join"}
HOST_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "device", "training", "config"})


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements of a file, those in functions too."""
    stack: list[ast.AST] = [tree]
    while stack:
        for part in _below(stack.pop()):
            if isinstance(part, BLOCKS):
                stack.append(part)
                if isinstance(part, ast.stmt):
                    yield part


class Names:
    """What the names of one file stand for, as far as its imports and `a = b.c` say."""

    def __init__(self, code: Iterable[ast.stmt], known: Callable[[str], bool]) -> None:
        self.known = known  # whether an import names a checked module
        self.full: dict[str, str] = {}  # "" for what comes from checked modules: anything
        self.any_name = False  # a star import may bind any name
        aliases = []
        for node in code:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
                aliases.append(node)
        for assignment in aliases:
            self._alias(assignment)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or name, "" if self.known(name) else name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        checked = node.level or self.known(module)
        for alias in node.names:
            self.any_name |= alias.name == "*"
            full = f"{module}.{alias.name}"
            unknown = checked or self.known(full)
            self._bind(alias.asname or alias.name, "" if unknown else full)

    def _alias(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Name) and node.value.id not in self.full:
            return  # one variable for another
        full = self.of(node.value)
        for target in node.targets if full is not None else ():
            if isinstance(target, ast.Name):
                self._bind(target.id, full or "")

    def _bind(self, name: str, full: str) -> None:
        """Note a name; one that is bound to two things may be anything."""
        self.full[name] = full if self.full.get(name, full) == full else ""

    def of(self, node: ast.expr) -> str | None:
        """Return what a chain of names stands for: "" if anything, None if a mere variable."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        base = self.full.get(node.id)
        if base is None and (parts or self.any_name):
            return "" if self.any_name else None
        return ".".join([base or node.id, *reversed(parts)]) if base != "" else ""


class Words:
    """What to look for, for the frameworks of one file."""

    def __init__(self, knowledge: Knowledge, frameworks: tuple[str, ...], names: Names) -> None:
        active = set(frameworks).union(*(knowledge.partners[f] for f in frameworks))
        self.knowledge = knowledge
        self.frameworks = frameworks
        self.names = names
        self.methods = {
            method
            for (_, method), points in knowledge.sync_methods.items()
            if any(p.framework in active for p in points)
        } - COMMON
        self.reading_methods = knowledge.trigger_methods.keys() - COMMON - self.methods
        self.functions = {
            name
            for name, points in knowledge.sync_functions.items()
            if any(p.framework in active for p in points)
        }
        self.placing = {
            name
            for name, points in knowledge.sync_functions.items()
            if all(p.when is not None and "device" in p.when.keyword_present for p in points)
        }
        self.function_ends = {name.rpartition(".")[2] for name in self.functions}
        triggers = {name.rpartition(".")[2] for name in knowledge.trigger_functions}
        self.trigger_ends = triggers - {"log"}
        self.clocks = {name.rpartition(".")[2] for name in knowledge.clocks}
        self.steps = {m for m, owners in knowledge.step_methods.items() if owners & active}

    def look_into(self, body: Sequence[ast.stmt], found: Outlined) -> None:
        """Walk a function's body once, noting what it may hold."""
        _Look(self, found).at(body)

    def hint(self, method: str) -> tuple[str, str] | None:
        """Return (kind, framework) of a value that `method` is called on, if that tells."""
        return self.knowledge.by_usage(method, self.frameworks)

    def is_method(self, call: ast.Call) -> bool:
        """Whether a call may be one of a method that blocks, by its name."""
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in self.methods:
            return False
        return func.attr != "to" or _moves(call)

    def function(self, call: ast.Call) -> str:
        """Return what a call of this function may do.

        "blocks", "may" if only its last name says so, "reads" its arguments, or "".
        """
        full = self.names.of(call.func)
        of_module = full is None and self._is_of_module(call.func)
        if full is None and not of_module:
            return ""
        full = full or ""
        end = full.rpartition(".")[2] or last_name(call.func)
        if end in self.function_ends and not full:
            return "blocks" if of_module else "may"
        if end in self.function_ends and (name := self._canonical(full)) in self.functions:
            return "may" if name in self.placing else "blocks"
        if end in self.trigger_ends and (not full or self.knowledge.trigger(self._canonical(full))):
            return "reads"
        return ""

    def _is_of_module(self, func: ast.expr) -> bool:
        """Whether a function is of a variable that holds a module of arrays, by its name."""
        name = last_name(func.value) if isinstance(func, ast.Attribute) else ""
        found = self.knowledge.by_name(name, self.frameworks) if name else None
        return found is not None and found[0] == "module"

    def _canonical(self, name: str) -> str:
        """Replace an alias of a framework's module by its real name."""
        aliases = self.knowledge.aliases
        prefix = name
        while prefix and prefix not in aliases:
            prefix = prefix.rpartition(".")[0]
        return f"{aliases[prefix]}{name[len(prefix) :]}" if prefix else name


def last_name(func: ast.expr) -> str:
    """Return the name that is called, without its owner."""
    return getattr(func, "attr", "") or getattr(func, "id", "")


class _Look:
    """One walk over a function's body; what it finds is judged at its end."""

    def __init__(self, words: Words, found: Outlined) -> None:
        self.words = words
        self.found = found
        self.computed: set[str] = set()  # names that hold results of calls or comparisons
        self.stored: set[str] = set()  # names that are assigned to
        self.elements: set[str] = set()  # names that loops bind to what they go over
        self.counters: set[str] = set()  # names that count a loop's iterations
        self.tests: list[ast.expr] = []
        self.expressions: list[ast.expr] = []  # calls, indices, values in f-strings

    def at(self, body: Sequence[ast.stmt]) -> None:
        """Note what the body holds."""
        stack: list[Any] = list(body)
        while stack:
            node = stack.pop()
            if (visit := _VISITS.get(type(node))) is not None:
                visit(self, node)
            stack += _below(node)
        self.counters -= self.stored
        self.found.suspicious = (
            self.found.steps  # it may keep graphs, or never wait at all
            or any(map(self._tests_data, self.tests))
            or any(map(self._may_wait, self.expressions))
        )

    def _may_wait(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self._blocks(node)
        if isinstance(node, ast.Subscript):
            return self._mask_like(node.slice)
        return isinstance(node, ast.FormattedValue) and self._interesting(node.value)

    def loop(self, node: Any) -> None:
        """Note a loop."""
        self.found.loops = True
        if isinstance(node, ast.While):
            self.tests.append(node.test)
        else:
            self.clause(node)

    def clause(self, node: Any) -> None:
        """Note which name counts, in a `for` statement or a comprehension."""
        names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        counter = _counter(node)
        self.counters |= names & {counter}
        self.stored |= names - {counter}
        self.elements |= names - {counter}

    def call(self, node: ast.Call) -> None:
        """Note what is called, and whether that may wait."""
        found, name = self.found, last_name(node.func)
        found.calls.add(name)
        found.clocks += name in self.words.clocks
        self.expressions.append(node)
        if isinstance(node.func, ast.Attribute):
            found.steps |= name in self.words.steps
            if (hint := self.words.hint(name)) and (path := _self_path(node.func.value)):
                found.hints[path] = hint

    def test(self, node: Any) -> None:
        """Note a condition."""
        self.tests.append(node.test)

    def expression(self, node: ast.expr) -> None:
        """Note an index, or a value in an f-string."""
        self.expressions.append(node)

    def store(self, node: Any) -> None:
        """Note which names hold something computed."""
        computes = self._computes(node.value)
        for target in getattr(node, "targets", None) or [node.target]:
            for part in (target,) if isinstance(target, ast.Name) else ast.walk(target):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    self.found.sets_attributes |= part.value.id == "self"
                elif isinstance(part, ast.Name):
                    self.stored.add(part.id)
                    if computes:
                        self.computed.add(part.id)

    # ---- what may be a device value

    def _blocks(self, call: ast.Call) -> bool:
        """Whether a call may be a sync point."""
        if self.words.is_method(call):
            return True
        does = self.words.function(call)
        if does in ("blocks", "may") and not call.args:
            return True
        if does == "may" and isinstance(call.func, ast.Attribute):
            lone = len(call.args) + len(call.keywords) == 1
            return lone or any(k.arg == "device" for k in call.keywords)
        values = list(call.args)
        if last_name(call.func) in self.words.reading_methods:
            values += [keyword.value for keyword in call.keywords]
            does = "reads"
        return bool(does) and any(map(self._interesting, values))

    def _interesting(self, node: ast.expr) -> bool:
        """Whether an expression may hold a device value: not a constant, a length or a shape."""
        if isinstance(node, ast.Constant):
            return False
        if isinstance(node, ast.Name):
            return node.id not in self.counters
        if isinstance(node, ast.BinOp):
            return self._interesting(node.left) or self._interesting(node.right)
        if isinstance(node, ast.Tuple):
            return any(map(self._interesting, node.elts))
        if isinstance(node, ast.Attribute):
            return node.attr not in HOST_ATTRIBUTES
        if isinstance(node, ast.Subscript):
            return self._interesting(node.value)
        if isinstance(node, ast.Call):
            return last_name(node.func) not in _HARMLESS_CALLS
        if isinstance(node, ast.JoinedStr):
            return any(
                isinstance(v, ast.FormattedValue) and self._interesting(v.value)
                for v in node.values
            )
        return True

    def _computes(self, value: ast.expr | None) -> bool:
        """Whether an assigned expression may be a device value."""
        if isinstance(value, (ast.Compare, ast.BoolOp)):
            return any(isinstance(n, ast.Call) for n in ast.walk(value)) or isinstance(
                value, ast.Compare
            )
        if isinstance(value, (ast.BinOp, ast.UnaryOp)):
            return True
        return isinstance(value, ast.Call) and self._interesting(value)

    def _tests_data(self, test: ast.expr) -> bool:
        """Whether a condition may test a device value."""
        if isinstance(test, ast.BoolOp):
            return any(self._tests_data(value) for value in test.values)
        if isinstance(test, ast.UnaryOp):
            return self._tests_data(test.operand)
        if isinstance(test, ast.Name):
            return test.id in self.computed
        if isinstance(test, ast.Call):
            return self._interesting(test)
        if isinstance(test, ast.Compare):
            return self._compares_data(test)
        return isinstance(test, ast.NamedExpr) and self._computes(test.value)

    def _compares_data(self, test: ast.Compare) -> bool:
        sides = [test.left, *test.comparators]
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
            return False
        if isinstance(test.ops[0], (ast.In, ast.NotIn)) and self._is_element(sides[1]):
            return True
        if any(
            isinstance(side, ast.Constant) and isinstance(side.value, _NO_NUMBER) for side in sides
        ):
            return False
        return any(self._holds_data(side) for side in sides)

    def _holds_data(self, side: ast.expr) -> bool:
        if isinstance(side, ast.Name):
            return side.id in self.computed
        if isinstance(side, (ast.BinOp, ast.UnaryOp)):
            return any(isinstance(n, ast.Name) and n.id in self.computed for n in ast.walk(side))
        called = isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute)
        return called and self._interesting(side)

    def _is_element(self, side: ast.expr) -> bool:
        return isinstance(side, ast.Name) and side.id in self.elements

    def _mask_like(self, index: ast.expr) -> bool:
        if isinstance(index, (ast.Compare, ast.List)):
            return True
        if isinstance(index, ast.UnaryOp):
            return isinstance(index.op, ast.Invert)
        if isinstance(index, ast.Tuple):
            return any(self._mask_like(part) for part in index.elts)
        return isinstance(index, ast.Name) and (index.id in self.computed or "mask" in index.id)


_NO_NUMBER = (str, bytes, type(None))


def _counter(node: Any) -> str:
    """Return the name that counts in `for i in range(n)` or `for i, x in enumerate(y)`."""
    over, target = node.iter, node.target
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name):
        return ""
    if over.func.id == "enumerate" and isinstance(target, ast.Tuple):
        return getattr(target.elts[0], "id", "")
    return getattr(target, "id", "") if over.func.id == "range" else ""


_VISITS: dict[type[ast.AST], Callable[[_Look, Any], None]] = {
    ast.Call: _Look.call,
    ast.For: _Look.loop,
    ast.AsyncFor: _Look.loop,
    ast.While: _Look.loop,
    ast.comprehension: _Look.clause,
    ast.If: _Look.test,
    ast.IfExp: _Look.test,
    ast.Assert: _Look.test,
    ast.Subscript: _Look.expression,
    ast.FormattedValue: _Look.expression,
    ast.Assign: _Look.store,
    ast.AnnAssign: _Look.store,
    ast.AugAssign: _Look.store,
    ast.NamedExpr: _Look.store,
}
# Fields that hold words or operators, never code.
_DULL = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level",
     "module", "msg", "op", "ops", "rest", "simple", "type_comment"}
)  # fmt: skip
_LEAVES = (ast.Constant, ast.Name, ast.Import, ast.ImportFrom, ast.Raise, ast.Global, ast.Nonlocal)
_FIELDS: dict[type[Any], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _DULL)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _LEAVES)
}


def _below(node: Any) -> list[Any]:
    """Return what an `ast` node holds, nodes and not; of anything else nothing."""
    found: list[Any] = []
    for name in _FIELDS.get(type(node), ()):
        value = getattr(node, name)
        if type(value) is list:
            found += value
        else:
            found.append(value)
    return found


def _self_path(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id == "self" and parts:
        return ".".join(["self", *reversed(parts)])
    return ""


_DEVICE_NAME = re.compile(r"dev|ctx|gpu|cuda|rank|cpu", re.IGNORECASE)


def _moves(node: ast.Call) -> bool:
    """Whether `.to(...)` seems to move to another device."""
    for argument in (*node.args, *(k.value for k in node.keywords if k.arg == "device")):
        for part in ast.walk(argument):
            name = getattr(part, "id", None) or getattr(part, "attr", None)
            text = part.value if isinstance(part, ast.Constant) else name
            if isinstance(text, str) and _DEVICE_NAME.search(text):
                return True
    return False
