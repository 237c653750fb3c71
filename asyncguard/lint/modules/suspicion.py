"""What in a function could be a sync point, by the words in its `ast`.

The interpreter finds out what values are; this only rules out what can be none: calls of names that
the catalogue does not know, tests and indices that compute nothing. `screen` asks it about each
function, once, so it is written to be fast.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncguard.lint.contexts.frame import is_aside
from asyncguard.lint.domain.hints import note_hint, tells_owner
from asyncguard.lint.names import family
from asyncguard.lint.syntax.signatures import parameters

if TYPE_CHECKING:
    from asyncguard.catalogue import Condition, SyncPoint
    from asyncguard.lint.domain.outlined import Outlined
    from asyncguard.lint.knowledge import Knowledge


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
_HOST_TYPES = frozenset({"int", "float", "str", "bool", "bytes"})
_CHOOSING = frozenset({"min", "max", "abs", "sum", "round"})  # what they give, they were given
_IS_PREDICATE = family("function.predicate")
_IS_SETTINGS = family("value.settings")
_IS_MASK = family("value.mask_like")
_IS_LOADER = family("loop.loader")


_BLOCK_FIELDS = ("body", "handlers", "cases", "orelse", "finalbody")
BLOCKS_OF = {
    kind: tuple(name for name in kind._fields if name in _BLOCK_FIELDS)
    for base in (*BLOCKS, ast.Module)
    for kind in (base, *base.__subclasses__())
}


def blocks(node: ast.AST) -> list[Any]:
    """Return the statements, handlers and cases right below a statement or the like, in order."""
    found: list[Any] = []
    for name in BLOCKS_OF[type(node)]:
        found += getattr(node, name)
    return found


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements of a file, those in functions too."""
    stack: list[ast.AST] = [tree]
    while stack:
        for part in blocks(stack.pop()):
            if BLOCKS_OF[type(part)]:
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
            if type(node) is ast.Assign:
                if type(node.value) in _CHAINED:
                    aliases.append(node)
            elif type(node) is ast.Import:
                self._import(node)
            elif type(node) is ast.ImportFrom:
                self._import_from(node)
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
        if type(node.value) is ast.Name and node.value.id not in self.full:
            return  # one variable for another
        full = self.of(node.value)
        for target in node.targets if full is not None else ():
            if type(target) is ast.Name:
                self._bind(target.id, full or "")

    def _bind(self, name: str, full: str) -> None:
        """Note a name; one that is bound to two things may be anything."""
        self.full[name] = full if self.full.get(name, full) == full else ""

    def checked(self, node: ast.Attribute) -> str:
        """Return a chain of names as it is written, if it starts at something checked, or ""."""
        return ".".join(_chain(node)) if self.full.get(_root(node)) == "" else ""

    def of(self, node: ast.expr) -> str | None:
        """Return what a chain of names stands for: "" if anything, None if a mere variable."""
        first = _root(node)
        if not first:
            return None
        base = self.full.get(first)
        if base is None and (self.any_name or type(node) is ast.Attribute):
            return "" if self.any_name else None
        return ".".join([base or first, *_chain(node)[1:]]) if base != "" else ""


_CHAINS = (ast.Name, ast.Attribute)
_CHAINED = frozenset(_CHAINS)


def _chain(node: ast.expr) -> list[str]:
    """Return the names of `a.b.c`; none of anything else."""
    names: list[str] = []
    while type(node) is ast.Attribute:
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if type(node) is ast.Name else []


def _root(node: ast.expr) -> str:
    """Return what `a.b.c` begins with; "" of anything else."""
    while type(node) is ast.Attribute:
        node = node.value
    return node.id if type(node) is ast.Name else ""


class Tables(NamedTuple):
    """What the catalogue says of some frameworks, by the last words of names."""

    methods: Mapping[str, list[SyncPoint]]  # that block
    updates: list[SyncPoint]  # of metrics, which are given labels and predictions
    reading_methods: frozenset[str]  # that read their arguments
    functions: Mapping[str, list[SyncPoint]]  # that block, by full name
    function_ends: frozenset[str]
    trigger_ends: frozenset[str]  # of functions that read their arguments
    clocks: frozenset[str]
    steps: frozenset[str]  # methods of training steps
    registers: frozenset[str]  # methods that make attributes
    copied: bool  # NumPy's arrays can be written values on the device


@lru_cache(maxsize=64)
def tables(knowledge: Knowledge, frameworks: tuple[str, ...]) -> Tables:
    """Return what to look for in files that use these frameworks."""
    active = set(frameworks).union(*(knowledge.partners[f] for f in frameworks))
    common = knowledge.language.common_methods
    methods: dict[str, list[SyncPoint]] = {}
    for (_, method), points in knowledge.sync_methods.items():
        if method not in common and (known := [p for p in points if p.framework in active]):
            methods.setdefault(method, []).extend(known)
    functions = {
        name: known
        for name, points in knowledge.sync_functions.items()
        if (known := [p for p in points if p.framework in active])
    }
    updates = knowledge.sync_methods.get(("metric", "update"), ())
    return Tables(
        methods,
        [point for point in updates if point.framework in active],
        frozenset(knowledge.trigger_methods.keys() - common - methods.keys()),
        functions,
        frozenset(_ends(functions)),
        frozenset(_ends(knowledge.trigger_functions)),
        frozenset(_ends(knowledge.clocks)),
        frozenset(m for m, owners in knowledge.step_methods.items() if owners & active),
        frozenset().union(*(knowledge.registers[framework] for framework in frameworks)),
        any(
            knowledge.frameworks[framework].asynchronous_cpu
            and (framework, "__array__") in knowledge.sync_protocols
            for framework in frameworks
        ),
    )


def _ends(names: Iterable[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


class Words:
    """What to look for in one file, of whose names `names` knows the meaning."""

    def __init__(self, knowledge: Knowledge, frameworks: tuple[str, ...], names: Names) -> None:
        self.knowledge = knowledge
        self.language = knowledge.language
        self.frameworks = frameworks
        self.names = names
        self.tables = tables(knowledge, frameworks)
        self.hands_on = knowledge.functional_of(frameworks) != ""  # states, from step to step

    def look_into(self, functions: Iterable[Function]) -> None:
        """Walk the bodies once, noting what they may hold; the module's own comes last."""
        attributes: dict[str, list[Stored]] = {}
        flow = Flow()
        looks = [_Look(self, flow, attributes, *function) for function in functions]
        for look in looks:
            look.follow()
            look.judge()
        looks[-1].found.binds = frozenset(looks[-1].values)
        for look in looks:
            look.values.clear()  # what is stored leads back to the looks
        attributes.clear()

    def hint(self, method: str) -> tuple[str, str] | None:
        """Return (kind, framework) of a value that `method` is called on, if that tells."""
        return self.knowledge.by_usage(method, self.frameworks)

    def makes_here(self, call: ast.Call) -> bool:
        """Whether a call makes an array in host memory that values on the device are written to."""
        full = self.names.of(call.func) or ""
        if full.startswith("numpy."):
            return self.tables.copied
        made = self.knowledge.returns.find(self.knowledge.canonical(full)) if full else None
        if made is None or made[0] != "device_or_host":
            return False
        placed = any(keyword.arg in ("device", None) for keyword in call.keywords)
        return not placed and (made[1], "device-write") in self.knowledge.sync_operators

    def acts(self, func: ast.Attribute) -> bool:
        """Whether this steps an environment, as far as its name says."""
        if func.attr != "step":
            return False
        found = self.knowledge.by_name(last_name(func.value), self.frameworks)
        return found is not None and found[0] == "environment"

    def registers(self, call: ast.Call) -> bool:
        """Whether a call makes a parameter or a buffer of a model."""
        return (self.names.of(call.func) or "") in self.tables.registers

    def updates(self, state: str, call: ast.Call) -> bool:
        """Whether a call that takes and gives back such a variable runs a training step."""
        return self.knowledge.updates(state, last_name(call.func), self.frameworks)

    def makes_mask(self, call: ast.Call) -> bool:
        """Whether a call gives an array of truth values, by its name."""
        makes = self.knowledge.makes_masks
        return any(last_name(call.func) in makes.get(f, ()) for f in self.frameworks)

    def points(self, call: ast.Call, full: str | None) -> list[SyncPoint] | None:
        """Return the sync points that a call may be; None for a function of unknown origin.

        `full` is what the function is.
        """
        func = call.func
        if type(func) is ast.Attribute and (known := self.tables.methods.get(func.attr)):
            telling = _MOVING.get(func.attr)
            return known if telling is None or telling(call) else []
        if type(func) is ast.Attribute and func.attr == "update" and len(_given(call)) == 2:
            return self.tables.updates
        if full is None:
            return []
        if not full:
            return None if last_name(func) in self.tables.function_ends else []
        ends = full.rpartition(".")[2] in self.tables.function_ends
        return self.tables.functions.get(self.knowledge.canonical(full), []) if ends else []

    def reads(self, call: ast.Call, full: str | None) -> bool:
        """Whether a call is one of a function, which `full` is, that reads its arguments."""
        if full is None:
            return False
        end = full.rpartition(".")[2] or last_name(call.func)
        if end not in self.tables.trigger_ends:
            return False
        if not full:
            return end != "log"  # a name of many others
        return self.knowledge.trigger(self.knowledge.canonical(full)) is not None

    def gives_host(self, call: ast.Call) -> bool:
        """Whether what a call gives is a plain Python object for sure."""
        name = last_name(call.func)
        if name in self.language.host_calls or name in self.language.plain_functions:
            return True
        full = self.names.of(call.func) or ""
        if _IS_PREDICATE(name) and (type(call.func) is ast.Name or "." in full):
            return True
        if "." not in full:
            return False
        if full.partition(".")[0] in self.language.host_modules:
            return True
        found = self.knowledge.returns.find(self.knowledge.canonical(full))
        return found is not None and found[0] == "host" and found[1] in self.frameworks

    def full(self, func: ast.expr) -> str | None:
        """Return what a function is: "" if anything, None if one of a variable's methods.

        A variable that is named like a module of arrays may be any.
        """
        full = self.names.of(func)
        if full is None and type(func) is ast.Attribute:
            found = self.knowledge.by_name(last_name(func.value), self.frameworks)
            return "" if found is not None and found[0] == "module" else None
        return full


def last_name(func: ast.expr) -> str:
    """Return the name that is called, without its owner."""
    if type(func) is ast.Attribute:
        return func.attr
    return func.id if type(func) is ast.Name else ""


# Names that leave it open whether such a loop does.
_FEEDS = family("loop.may_feed")


DEEP = 30  # variables that each need the next


class Flow:
    """Which variables and attributes of a file may hold device values, found once each."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, str], bool] = {}
        self.open: list[tuple[int, str]] = []  # asked, not answered yet
        self.doubtful: list[tuple[int, str]] = []  # denied while something they need was open
        self.registered: set[str] = set()  # attributes that move with their model

    def ask(self, key: tuple[int, str], given: Sequence[Stored]) -> bool:
        """Whether any of what a variable is given may be a device value."""
        if key in self.known:
            return self.known[key]
        if len(self.open) > DEEP:
            return True
        if key in self.open:  # what depends on itself adds nothing: `n = n + 1`
            self.doubtful += self.open[self.open.index(key) + 1 :]
            return False
        self.open.append(key)
        values = [(look, value) for look, value in given if not _is_none(value)]
        found = not values or any(look.may_be_data(value) for look, value in values)
        self.open.pop()
        if found:
            for doubtful in self.doubtful:
                self.known.pop(doubtful, None)
        if found or not self.open:
            self.doubtful.clear()
        self.known[key] = found
        return found


Function = tuple[Sequence[ast.stmt], "ast.arguments | None", "Outlined"]


# What a variable or attribute is given in a function: an expression, or None, anything.
Stored = tuple["_Look", Any]


class _Look:
    """One walk over a function's body; what it finds is judged when all have been walked."""

    def __init__(
        self,
        words: Words,
        flow: Flow,
        attributes: dict[str, list[Stored]],
        body: Sequence[ast.stmt],
        given: ast.arguments | None,
        found: Outlined,
    ) -> None:
        self.words = words
        self.flow = flow
        self.attributes = attributes  # by name, of any object, in the whole file
        self.found = found
        self.values: dict[str, list[Stored]] = {}  # of the function's variables
        self.elements: set[str] = set()  # names that loops bind to what they go over
        self.counters: set[str] = set()  # names that count a loop's iterations
        self.tests: list[ast.expr] = []
        self.expressions: list[ast.expr] = []  # calls, indices, values in f-strings
        self.written: list[tuple[str, ast.expr]] = []  # what elements of variables are given
        self.iterated: list[ast.expr] = []  # what loops go over, or test
        self.nests = False  # defines functions
        self.calls: set[str] = set()
        self.handed: set[str] = set()  # names that are handed on or given other names
        self.given: set[str] = set()  # attributes of `self`
        hook = found.class_name and found.name in words.knowledge.hot_names
        taken = parameters(given)
        self.handed_in = {parameter.arg for parameter in taken[1:]} if hook else set()
        for parameter in taken:
            plain = _is_plain(parameter.annotation)
            self.values[parameter.arg] = [] if plain else [(self, None)]
        self.at(body)

    def at(self, body: Sequence[ast.stmt]) -> None:
        """Note what the body holds."""
        stack: list[Any] = list(body)
        while stack:
            node = stack.pop()
            known = _WALKED.get(type(node))
            if known is None:
                continue
            visit, parts = known
            if visit is not None:
                visit(self, node)
            for value in parts(node):
                while type(value) is ast.Attribute:
                    value = value.value
                if type(value) is list:
                    stack += value
                elif type(value) in _WALKED:
                    stack.append(value)
        self.counters -= self.values.keys()
        self.found.over_steps = self.found.loops and self._may_step()
        self.found.calls = frozenset(self.calls | (self.handed - self.values.keys()))
        self.found.attributes = frozenset(self.given)

    def _may_step(self) -> bool:
        """Whether a loop may go over steps: not where only other things are done, by its name."""
        if self.nests or not is_aside(self.found.name):
            return True
        parts = (part for iterated in self.iterated for part in ast.walk(iterated))
        names = (last_name(part) for part in parts)  # type: ignore[arg-type]
        return any(map(_FEEDS, names)) or any(map(_FEEDS, self.elements | self.calls))

    def follow(self) -> None:
        """Note functions that are called by an attribute's name: `self.loss = focal_loss`."""
        given = (stored for name in self.calls for stored in self.attributes.get(name, ()))
        names = {v.id for by, v in given if type(v) is ast.Name and v.id not in by.values}
        self.found.calls |= names

    def judge(self) -> None:
        """Say whether anything in it may be a sync point."""
        self.found.suspicious = (
            self.found.steps  # it may keep graphs, or never wait at all
            or any(map(self._tests_data, self.tests))
            or any(map(self._may_wait, self.expressions))
            or any(self._may_copy(*written) for written in self.written)
        )

    def _may_wait(self, node: ast.expr) -> bool:
        if type(node) is ast.Call:
            return self._blocks(node)
        if type(node) is ast.Subscript:
            return self._mask_like(node.slice)
        if type(node) is ast.BinOp:
            return self._interesting(node.right)
        return type(node) is ast.FormattedValue and self._interesting(node.value)

    def loop(self, node: Any) -> None:
        """Note a loop."""
        self.found.loops = True
        self.iterated.append(node.test if type(node) is ast.While else node.iter)
        if type(node) is ast.While:
            self.tests.append(node.test)
        else:
            self.clause(node)

    def comprehension(self, node: Any) -> None:
        """Note a comprehension, which is a loop if it goes over batches."""
        self.found.loops |= _over_batches(node.iter)
        self.clause(node)

    def clause(self, node: Any) -> None:
        """Note which name counts, in a `for` statement or a comprehension."""
        names = {part.id for part in ast.walk(node.target) if type(part) is ast.Name}
        counters = names & _counters(node.iter, node.target)
        self.counters |= counters
        for name in names - counters:
            self._put(name, None)
        self.elements |= names - counters

    def call(self, node: ast.Call) -> None:
        """Note what is called, and whether that may wait."""
        found, name = self.found, last_name(node.func)
        self.calls.add(name)
        found.clocks += name in self.words.tables.clocks
        self.expressions.append(node)
        if name in self.words.tables.registers and node.args:
            registered = str(getattr(node.args[0], "value", ""))
            self.given.add(registered)
            self.flow.registered.add(registered)
        self._hand_on(node.args)
        if type(node.func) is ast.Attribute:
            if checked := self.words.names.checked(node.func):
                self.calls.add(checked)
            found.steps |= name in self.words.tables.steps or self.words.acts(node.func)
            hint = self.words.hint(name) if tells_owner(name, bool(node.args)) else None
            if hint and (path := _self_path(node.func.value)):
                note_hint(found.hints, path, hint)

    def table(self, node: ast.Dict) -> None:
        """Note which methods a dict holds."""
        self._hand_on(node.values)

    def _hand_on(self, values: Iterable[ast.expr]) -> None:
        """Note functions and methods of `self` that are handed on: whoever has them calls them."""
        for value in values:
            if type(value) is ast.Name:
                self.handed.add(value.id)
            elif type(value) is ast.Attribute and getattr(value.value, "id", "") == "self":
                self.calls.add(value.attr)

    def define(self, node: Any) -> None:
        """Note a function within."""
        self.nests = True

    def test(self, node: Any) -> None:
        """Note a condition."""
        self.tests.append(node.test)

    def expression(self, node: ast.expr) -> None:
        """Note an index, or a value in an f-string."""
        self.expressions.append(node)

    def operation(self, node: ast.BinOp) -> None:
        """Note what is written into a text: `"%s" % value`."""
        if type(node.op) is ast.Mod and _is_text(node.left):
            self.expressions.append(node)

    def store(self, node: Any) -> None:
        """Note what variables and attributes are given."""
        called = type(node.value) is ast.Call
        if called and node.value.args:
            self._update(node, node.value)
        elif type(node.value) is ast.Name:
            self.handed.add(node.value.id)
        for target in node.targets if type(node) is ast.Assign else (node.target,):
            for part in _parts(target):
                self._give(part, node.value, called)

    def _give(self, part: Any, value: Any, called: bool) -> None:
        """Note what one of the parts of a target is given."""
        kind = type(part)
        if kind is ast.Name:
            if type(part.ctx) is ast.Store:
                self._put(part.id, value)
        elif kind is ast.Attribute:
            if last_name(part.value) == "self":
                self.given.add(part.attr)
                if called and self.words.registers(value):
                    self.flow.registered.add(part.attr)
            if type(part.ctx) is ast.Store:
                self.attributes.setdefault(part.attr, []).append((self, value))
        elif called and kind is ast.Subscript and type(part.ctx) is ast.Store:
            self.written.append((last_name(part.value), value))

    def _may_copy(self, name: str, value: ast.expr) -> bool:
        """Whether a value on the device may be copied into an array in host memory made here."""
        made = self.values.get(name, ())
        here = any(type(node) is ast.Call and self.words.makes_here(node) for _, node in made)
        return here and self._interesting(value)

    def _update(self, node: Any, call: ast.Call) -> None:
        """Note a training step: `state, loss = train(state, batch)`, `state.train(batch)`."""
        if not self.words.hands_on:
            return
        taken = {name for argument in call.args if (name := last_name(argument))}
        owner = last_name(call.func.value) if type(call.func) is ast.Attribute else ""
        for target in getattr(node, "targets", ()) if taken or owner else ():
            several = type(target) is ast.Tuple
            for part in target.elts if several else [target]:
                name = last_name(part)
                if name and several and name == owner:
                    self.found.steps |= self.words.updates("state", call)
                elif name in taken and len(call.args) > 1:
                    self.found.steps |= self.words.updates(name, call)

    def _put(self, name: str, value: Any) -> None:
        self.values.setdefault(name, []).append((self, value))

    def bind(self, node: Any) -> None:
        """Note a name that is bound to anything: by `with`, say."""
        for part in ast.walk(node.optional_vars) if node.optional_vars is not None else ():
            if type(part) is ast.Name:
                self._put(part.id, None)

    # ---- what may be a device value

    def _blocks(self, call: ast.Call) -> bool:
        """Whether a call may be a sync point."""
        full = self.words.full(call.func)
        points = self.words.points(call, full)
        moves = points and last_name(call.func) in _MOVING
        if moves and (self._is_registered(call.func) or self._joins(call)):
            return False  # it is on the device
        if type(call.func) is ast.Attribute and call.func.attr == "format":
            return any(map(self._interesting, _given(call)))
        if points is None:
            return not _given(call) or any(map(self._interesting, _given(call)))
        if any(self._is_at(point, call) for point in points):
            return True
        if last_name(call.func) in self.words.tables.reading_methods or self.words.reads(
            call, full
        ):
            return any(map(self._interesting, _given(call)))
        return False

    def _is_registered(self, method: ast.expr) -> bool:
        """Whether a method is one of the parameters and buffers that a model has."""
        owner = _chain(method)[:-1]
        return len(owner) == 2 and owner[0] == "self" and owner[1] in self.flow.registered

    def _joins(self, call: ast.Call) -> bool:
        """Whether what a framework hands a function that it enters goes to where another value is.

        Which it is as well: `labels.to(logits.device)`.
        """
        name = _beginning(call.func)
        first, *rest = (_chain(call.args[0]) if call.args else []) or [""]
        return (
            first not in ("", "self")
            and rest[-1:] == ["device"]
            and name in self.handed_in
            and all(value is None or _beginning(value) == name for _, value in self.values[name])
        )

    def _is_at(self, point: SyncPoint, call: ast.Call) -> bool:
        """Whether a call of what a sync point names may wait, as far as its arguments say."""
        if point.when is not None and not _may_hold(point.when, call):
            return False
        wanted = point.source.arguments if point.source is not None else ()
        own = type(call.func) is ast.Attribute and call.func.attr in self.words.tables.methods
        if not wanted or (own and point.source is not None and point.source.functions):
            return True  # as a method, on what it is called on
        return any(map(self._interesting, _chosen(call, wanted)))

    def _interesting(self, node: ast.expr) -> bool:
        """Whether an expression may hold a device value: not a constant, a length or a shape."""
        if type(node) is ast.Constant:
            return False
        if type(node) is ast.Name:
            return node.id not in self.counters and self._may_hold(node.id, self.values)
        if type(node) is ast.BinOp:
            return self._interesting(node.left) or self._interesting(node.right)
        if type(node) is ast.UnaryOp:
            return self._interesting(node.operand)
        if type(node) is ast.BoolOp:
            return any(map(self._interesting, node.values))
        if type(node) is ast.Compare:
            return self._compares_data(node)
        if type(node) is ast.IfExp:
            return self._interesting(node.body) or self._interesting(node.orelse)
        if isinstance(node, (ast.Tuple, ast.List)):
            return any(map(self._interesting, node.elts))
        if type(node) is ast.Attribute:
            return self._attribute_may(node)
        if type(node) is ast.Subscript:
            return self._interesting(node.value)
        if type(node) is ast.Call:
            return self._call_may(node)
        if isinstance(node, _GENERATORS):
            return self._interesting(node.elt)
        if type(node) is ast.JoinedStr:
            return any(
                type(v) is ast.FormattedValue and self._interesting(v.value) for v in node.values
            )
        return True

    def _attribute_may(self, node: ast.Attribute) -> bool:
        plain = self.words.language.host_attributes
        if node.attr in plain or _IS_SETTINGS(last_name(node.value)):
            return False
        if _IS_PREDICATE(node.attr):
            return False
        own = type(node.value) is ast.Name and node.value.id == "self"
        return not own or self._may_hold(node.attr, self.attributes)

    def _call_may(self, call: ast.Call) -> bool:
        if type(call.func) is ast.Name and call.func.id in _CHOOSING:
            return any(map(self._interesting, call.args))
        if type(call.func) is ast.Attribute and call.func.attr == "get":
            return self._interesting(call.func.value)
        return not self.words.gives_host(call)

    def _may_hold(self, name: str, table: dict[str, list[Stored]]) -> bool:
        """Whether a variable or attribute may hold a device value, by all that it is given."""
        known = table.get(name)
        return known is None or (bool(known) and self.flow.ask((id(table), name), known))

    def may_be_data(self, value: ast.expr | None) -> bool:
        """Whether what is stored in this function may be a device value."""
        return value is None or self._interesting(value)

    def _computed(self, name: str) -> bool:
        """Whether a variable may hold device values that a call or an operation gives."""
        known = [stored for stored in self.values.get(name, ()) if type(stored[1]) in _COMPUTES]
        return bool(known) and self.flow.ask((id(self), name), known)

    def _tests_data(self, test: ast.expr) -> bool:
        """Whether a condition may test a device value."""
        if type(test) is ast.BoolOp:
            return any(self._tests_data(value) for value in test.values)
        if type(test) is ast.UnaryOp:
            return self._tests_data(test.operand)
        if type(test) is ast.Name:
            return self._computed(test.id)
        if type(test) is ast.Call:
            return self._interesting(test)
        if type(test) is ast.Compare:
            return self._compares_data(test)
        return type(test) is ast.NamedExpr and self._interesting(test.value)

    def _compares_data(self, test: ast.Compare) -> bool:
        sides = [test.left, *test.comparators]
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
            return False
        if isinstance(test.ops[0], (ast.In, ast.NotIn)) and self._is_element(sides[1]):
            return True
        if any(map(_is_no_number, sides)):
            return False
        return any(self._holds_data(side) for side in sides)

    def _holds_data(self, side: ast.expr) -> bool:
        if type(side) is ast.Name:
            return self._computed(side.id)
        if isinstance(side, (ast.BinOp, ast.UnaryOp)):
            parts = (part for part in ast.walk(side) if isinstance(part, _CHAINS))
            return any(map(self._holds_data, parts))
        if type(side) is ast.Attribute:
            return self._given_data(side)
        if type(side) is ast.Subscript:
            return self._holds_data(side.value)
        called = type(side) is ast.Call and type(side.func) is ast.Attribute
        return called and self._interesting(side)

    def _given_data(self, node: ast.Attribute) -> bool:
        """Whether an attribute of `self` is a buffer, or given what a method or operation gives."""
        if type(node.value) is not ast.Name or node.value.id != "self":
            return False
        given = self.attributes.get(node.attr, ())
        computed = any(type(value) in _COMPUTES for _, value in given)
        known = computed and self._may_hold(node.attr, self.attributes)
        return known or node.attr in self.flow.registered

    def _is_element(self, side: ast.expr) -> bool:
        return type(side) is ast.Name and side.id in self.elements

    def _mask_like(self, index: ast.expr) -> bool:
        if isinstance(index, (ast.Compare, ast.List)):
            return True
        if type(index) is ast.UnaryOp:
            return type(index.op) is ast.Invert
        if type(index) is ast.BinOp:
            masks = isinstance(index.op, _JOINING_MASKS)
            return masks and (self._mask_like(index.left) or self._mask_like(index.right))
        if type(index) is ast.Call:
            method = type(index.func) is ast.Attribute
            return method and (self.words.makes_mask(index) or self._interesting(index))
        if type(index) is ast.Tuple:
            return any(self._mask_like(part) for part in index.elts)
        if type(index) is ast.Subscript:  # `np.r_[0:4, 5:n]`, or one of several indices
            if type(index.slice) is ast.Constant and _IS_MASK(str(index.slice.value)):
                return True
            if type(index.value) is ast.Name:
                return self._computed(index.value.id)
            return (self.words.names.of(index.value) or "").startswith("numpy.")
        if type(index) is ast.Slice:
            return any(self._is_element(end) for end in (index.lower, index.upper) if end)
        if type(index) is not ast.Name:
            return False
        drawn = index.id in self.elements and _INDICES(index.id)
        return drawn or self._computed(index.id) or _IS_MASK(index.id)


_GENERATORS = (ast.GeneratorExp, ast.ListComp, ast.SetComp)
_JOINING_MASKS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Mult)
_INDICES = family("indices.drawn")  # of many, in one variable
_COMPUTES = (ast.BoolOp, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Call)
_NO_NUMBER = (str, bytes, type(None))


def _is_no_number(side: ast.expr) -> bool:
    """Whether it is text, or a member of an enumeration: no array is compared with it."""
    if type(side) is ast.Attribute:
        return len(side.attr) > 2 and side.attr.isupper()
    return type(side) is ast.Constant and isinstance(side.value, _NO_NUMBER)


def _over_batches(node: ast.expr) -> bool:
    """Whether this is a loader by its name, or goes over one: `tqdm(DataLoader(x))`."""
    while type(node) is ast.Call and node.args and not _IS_LOADER(last_name(node.func)):
        node = node.args[0]
    return _IS_LOADER(last_name(node.func if type(node) is ast.Call else node))


_NAMED = family("function.gives_names")  # methods whose results begin with names


def _counters(over: ast.expr, target: Any) -> set[str]:
    """Return the names that count or name what a loop goes over, and are no values themselves.

    `for i in range(n)`, `for i, x in enumerate(y)`, `for name, p in model.named_parameters()`.
    """
    if type(over) is not ast.Call:
        return set()
    parts = target.elts if type(target) is ast.Tuple and target.elts else [target]
    name, called = getattr(parts[0], "id", ""), last_name(over.func)
    if type(over.func) is ast.Attribute:
        return {name} if _NAMED(called) and (len(parts) > 1 or called == "keys") else set()
    if called == "enumerate" and len(parts) == 2 and over.args:
        return {name} | _counters(over.args[0], parts[1])
    return {name} if called == "range" and len(parts) == 1 else set()


def _is_text(node: ast.expr) -> bool:
    if type(node) is ast.BinOp and isinstance(node.op, (ast.Add, ast.Mult)):
        return _is_text(node.left) or _is_text(node.right)
    return type(node) is ast.Constant and isinstance(node.value, str)


_VISITS: dict[type[ast.AST], Callable[[_Look, Any], None]] = {
    ast.Call: _Look.call,
    ast.Dict: _Look.table,
    ast.FunctionDef: _Look.define,
    ast.AsyncFunctionDef: _Look.define,
    ast.Lambda: _Look.define,
    ast.For: _Look.loop,
    ast.AsyncFor: _Look.loop,
    ast.While: _Look.loop,
    ast.comprehension: _Look.comprehension,
    ast.If: _Look.test,
    ast.IfExp: _Look.test,
    ast.Assert: _Look.test,
    ast.Subscript: _Look.expression,
    ast.FormattedValue: _Look.expression,
    ast.BinOp: _Look.operation,
    ast.Assign: _Look.store,
    ast.AnnAssign: _Look.store,
    ast.AugAssign: _Look.store,
    ast.withitem: _Look.bind,
    ast.NamedExpr: _Look.store,
}
# Fields that hold words or operators, never code.
_DULL = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level",
     "module", "msg", "op", "ops", "rest", "simple", "type_comment"}
)  # fmt: skip
_LEAVES = (ast.Constant, ast.Name, ast.Import, ast.ImportFrom, ast.Raise, ast.Global, ast.Nonlocal)


# What is noted of an `ast` node, and the fields to go on with; of anything else nothing.
def _parts_of(kind: type[ast.AST]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the fields that may hold code, from nodes of a kind."""
    names = [name for name in kind._fields if name not in _DULL]
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda node, name=names[0]: (getattr(node, name),)) if names else lambda node: ()  # type: ignore[misc]


_WALKED = {
    kind: (_VISITS.get(kind), _parts_of(kind))
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _LEAVES)
}


def _self_path(node: ast.expr) -> str:
    chain = _chain(node)
    return ".".join(chain) if len(chain) > 1 and chain[0] == "self" else ""


def _beginning(node: ast.expr) -> str:
    """Return the variable that a chain of attributes, elements and method calls begins with."""
    while True:
        if type(node) is ast.Call:
            node = node.func
        elif type(node) is ast.Attribute or type(node) is ast.Subscript:
            node = node.value
        else:
            return node.id if type(node) is ast.Name else ""


def _is_plain(annotation: Any) -> bool:
    """Whether an annotation says that a parameter is a number, a word or nothing."""
    kind = type(annotation)
    if kind is ast.Name:
        return annotation.id in _HOST_TYPES
    if kind is ast.BinOp:
        return _is_plain(annotation.left) and _is_plain(annotation.right)
    if kind is ast.Subscript:
        return last_name(annotation.value) == "Optional" and _is_plain(annotation.slice)
    if kind is ast.Constant:
        return annotation.value is None or annotation.value in _HOST_TYPES
    return False


def _parts(target: ast.expr) -> list[Any]:
    """Return a target, and what it is made of."""
    found: list[Any] = [target]
    for part in found:
        kind = type(part)
        if kind is ast.Attribute or kind is ast.Starred:
            found.append(part.value)
        elif kind is ast.Tuple or kind is ast.List:
            found += part.elts
        elif kind is not ast.Name and kind is not ast.Constant:
            found += ast.iter_child_nodes(part)
    return found


def _is_none(value: ast.expr | None) -> bool:
    return type(value) is ast.Constant and value.value is None


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _chosen(call: ast.Call, wanted: Sequence[int | str]) -> list[ast.expr]:
    """Return the arguments at these positions and keywords; -1 stands for all."""
    unclear = any(type(a) is ast.Starred for a in call.args)
    if -1 in wanted or unclear or any(keyword.arg is None for keyword in call.keywords):
        return _given(call)
    chosen = [call.args[i] for i in wanted if isinstance(i, int) and i < len(call.args)]
    return chosen + [keyword.value for keyword in call.keywords if keyword.arg in wanted]


def _may_hold(condition: Condition, call: ast.Call) -> bool:
    """Whether a condition on arguments may hold; False only if it fails for sure."""
    keywords = {keyword.arg for keyword in call.keywords}
    if None in keywords or any(type(a) is ast.Starred for a in call.args):
        return True
    count = len(call.args)
    if condition.positional and count not in condition.positional:
        return False
    if condition.positional_at_least is not None and count < condition.positional_at_least:
        return False
    for needed in (condition.keyword_present, condition.keyword_true, condition.keyword_false):
        if needed and keywords.isdisjoint(needed):
            return False
    return keywords.isdisjoint(condition.keyword_absent)


_DEVICE_NAME = family("device.moved_to")
_TYPE_NAME = family("dtype.moved_to")


def _moves(node: ast.Call) -> bool:
    """Whether `.to(...)` seems to move to another device."""
    if len(node.args) == 1 and type(node.args[0]) is ast.Name:
        return not _TYPE_NAME(node.args[0].id)  # a device, or a tensor that is on it
    for argument in (*node.args, *(k.value for k in node.keywords if k.arg == "device")):
        for part in ast.walk(argument):
            name = getattr(part, "id", None) or getattr(part, "attr", None)
            text = part.value if type(part) is ast.Constant else name
            if isinstance(text, str) and _DEVICE_NAME(text):
                return True
    return False


def _retypes(node: ast.Call) -> bool:
    """Whether `.type(...)` asks for a type of tensors, which may be on another device."""
    return len(node.args) == 1 and last_name(node.args[0]).endswith("Tensor")


_MOVING = {"to": _moves, "type": _retypes}
