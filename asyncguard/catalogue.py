"""The catalogue of what blocks: `rules/*.toml`, read and validated.

The linter and the runtime both work from this one table. A TOML file describes one framework:
which modules mean that it is in use, what its APIs return (for the linter), what marks a step,
and one `[[sync]]` entry for each API that makes the frontend wait. `rules/python.toml` describes
the language: which calls invoke which protocol method of their argument.

Every error names the file and the entry. `rules/README.md` documents the format.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import tomli

from asyncguard import files
from asyncguard.model import AsyncguardError, Confidence, SyncKind
from asyncguard.plain import fits, made

SCHEMA = 1
# Beside the rules files: what the names in a program suggest (lint.names), and how generated files
# are recognised (lint.run.generated), and what avoids waits inside libraries (advise.libraries).
FAMILIES, GENERATED, LIBRARIES = "names.toml", "generated.toml", "libraries.toml"
ADVICE = "advice.toml"  # and what to do about a wait, by the code around it (lint.advice)
R = TypeVar("R")
WAITS_FOR = ("value", "stream", "device", "everything", "ranks")  # ranks: the other processes
# What a call may return, as far as the linter cares; the same words as `lint.values` uses.
VALUE_KINDS = (
    "device", "host_array", "host", "model", "optimizer", "scheduler", "loader", "scaler",
    "criterion", "event", "stream", "work", "writer", "logger", "progress", "context", "module",
    "container", "pairs", "mapping", "device_or_host", "metric", "environment",
    "leaves",
)  # fmt: skip

# Subscripts that block: `x[mask]`, `x[mask] = tensor`, `x[indices] = 0`, `x[i:j]` with bounds on
# the device, `x[[0, 2]]` or `x[cpu_indices]`, `x[...] = host_array`, `host_array[...] = x`,
# `x[tensor_of_no_dimension]`, `x[mask] = 0`.
OPERATORS = (
    "mask-read", "mask-write", "scalar-write", "slice-bound", "index-upload", "host-write",
    "device-write", "scalar-index", "mask-fill",
)  # fmt: skip
# `cpu_argument`: the first argument, and only where it is on the CPU: a collective of CPU tensors
# holds the host, one of CUDA tensors the stream. `elements`: those of the first argument, a list.
# `contents`: all that the first argument holds, however deep. `number`: the arguments where a size
# or a number is expected. `call`: the framework's adapter looks at the whole call.
DECIDERS = (
    "self", "argument", "second_argument", "cpu_argument", "elements", "contents", "number",
    "result", "call", "none",
)  # fmt: skip
MOVES = ("", "download", "upload")


class CatalogueError(AsyncguardError):
    """A rules file breaks the format; the message names the file, the entry and what it lacks."""


class Condition(NamedTuple):
    """A condition on a call's arguments: true when every part that is given holds."""

    keyword_true: tuple[str, ...] = ()  # any of these keywords is the literal True (or unknown)
    keyword_false: tuple[str, ...] = ()  # any of these keywords is the literal False
    keyword_present: tuple[str, ...] = ()  # any of these keywords is given, and not None
    keyword_absent: tuple[str, ...] = ()  # none of these keywords is given
    positional: tuple[int, ...] = ()  # the number of positional arguments is one of these
    positional_at_least: int | None = None
    argument_in: tuple[str, ...] = ()  # an argument is one of these strings or names: "cpu"
    argument_not_in: tuple[str, ...] = ()  # no argument is; patterns allowed: "torch.float*"
    flag: tuple[str, ...] = ()  # as keyword_true; by position, the first of True and False is it
    pinned: bool = False  # what the method is called on is page-locked (seen by the runtime only)


class Source(NamedTuple):
    """How a sync point looks in source. At least one field is given."""

    methods: tuple[str, ...] = ()  # `value.item()`, on a device value (or on `receiver`)
    functions: tuple[str, ...] = ()  # `torch.cuda.synchronize()`, dotted as imported
    protocols: tuple[str, ...] = ()  # `__bool__`: syntax or a builtin that calls it
    operators: tuple[str, ...] = ()  # subscripts: some of OPERATORS
    receiver: str = "device"  # what `methods` are called on: one of VALUE_KINDS
    arguments: tuple[int | str, ...] = ()  # that must hold a device value; -1: any but `out`


class Runtime(NamedTuple):
    """What the runtime hooks. `patch` are attribute paths of the imported framework."""

    patch: tuple[str, ...] = ()  # replaced while tracing: "torch.Tensor.item"
    value: str = "self"  # whose device decides: one of DECIDERS ("argument": the first one)
    moves: str = ""  # counts only if data went this way, from `value` to the result: one of MOVES
    dispatch: tuple[str, ...] = ()  # backend operators seen in full depth: "aten::nonzero"
    operators: tuple[str, ...] = ()  # subscripts, where only the runtime can tell: of OPERATORS


class SyncPoint(NamedTuple):
    """One entry of the catalogue: one API that makes the frontend wait."""

    id: str
    framework: str
    rule: str
    kind: SyncKind
    waits_for: str
    url: str
    advice: str
    hit: str
    miss: str
    source: Source | None = None
    runtime: Runtime | None = None
    one_sided: str = ""  # why only the linter or only the runtime can see it
    when: Condition | None = None  # it blocks only if this holds
    unless: Condition | None = None  # it does not block if this holds
    # Beside an upload: what makes a zero, a one, or any number on the device ("zeros", ...).
    makers: tuple[str, ...] = ()
    versions: str = ""  # of the framework, a PEP 440 specifier; empty: all
    times: int = 1  # how often one call waits
    confidence: Confidence = Confidence.HIGH  # the most that the linter may claim for it


class Steps(NamedTuple):
    """How a step of the loop is recognised."""

    methods: tuple[str, ...] = ()  # in source, on any value: "backward"
    optimizer_methods: tuple[str, ...] = ()  # in source, on an optimizer: "step"
    contexts: tuple[str, ...] = ()  # in source, `with` these: "mxnet.autograd.record"
    functions: tuple[str, ...] = ()  # in source, calls of: "jax.grad"
    hot_functions: tuple[str, ...] = ()  # names of functions that run once a step: "forward"
    cold_functions: tuple[str, ...] = ()  # names of hooks that run once an epoch
    trainings: tuple[str, ...] = ()  # methods of a model that train for `epochs`: "fit"
    states: tuple[str, ...] = ()  # variables that a training step gives back: "opt_state"
    hot_decorators: tuple[str, ...] = ()  # what they wrap runs once a step: "torch.compile"
    compiled: tuple[str, ...] = ()  # decorators and wrappers under which nothing blocks: "jax.jit"
    runtime: tuple[str, ...] = ()  # attribute paths that mark a step when called
    runtime_compiled: tuple[str, ...] = ()  # ... if one of `runtime` was met as they were traced
    updates: tuple[str, ...] = ()  # those of `methods` and `functions` that change the model, too
    signatures: tuple[str, ...] = ()  # parameters of what a library enters once a step: "x y"


class Graph(NamedTuple):
    """How values hang on the graph that they were computed by, and how they let go of it."""

    keeps: tuple[str, ...]  # methods whose result, like that of arithmetic, hangs on it as well
    detach: str  # what to write behind a value for one that does not: ".detach()"


class Masks(NamedTuple):
    """Which functions and methods, by their last name, return masks: boolean arrays."""

    makes: tuple[str, ...]  # whatever they are called on
    keeps: tuple[str, ...]  # if they are called on one
    indices: tuple[str, ...] = ()  # never: they make indices of one
    types: tuple[str, ...] = ()  # those of such arrays' elements, and of such arrays


class Framework(NamedTuple):
    """One rules file: a framework, what its APIs return, its steps and its sync points."""

    name: str
    modules: tuple[str, ...]  # top-level import names
    checked_version: str  # the version that the entries were read against
    asynchronous_cpu: bool  # are values of its CPU backend device values
    path: Path
    returns: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> call patterns, the most specific wins
    types: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> class names, bases too
    attributes: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> attributes of a device value
    methods: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> what methods of a device value return
    usage: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> methods that only such a value has
    telling: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> attributes that only such a value has
    parts: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> attributes and methods by owner's kind
    likely: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> methods that tell it in a step only
    alone: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> those that do without other arrays
    names: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> names that suggest it; patterns allowed
    model_methods: Mapping[str, tuple[str, ...]]  # VALUE_KINDS -> what methods of a model return
    steps: Steps
    sync: tuple[SyncPoint, ...]
    aliases: Mapping[str, str] = {}  # other names of its modules
    companions: tuple[str, ...] = ()  # libraries on top of it, whose import means it is in use
    graph_functions: tuple[str, ...] = ()  # a file that calls one builds graphs: no values in it
    session_functions: tuple[str, ...] = ()  # or one of these, and has no context that runs at once
    array_function: bool = False  # NumPy's functions of its values stay on the device
    array_methods: tuple[str, ...] = ()  # of NumPy's functions, those that call such a method of it
    unbounded_queue: bool = False  # nothing holds the frontend back, however far it runs ahead
    graph: Graph | None = None  # None: values of this framework keep no graph
    tree_maps: tuple[str, ...] = ()  # functions that call their first argument with each leaf
    passes: tuple[str, ...] = ()  # methods of a context that give back what they are given
    registers: tuple[str, ...] = ()  # methods of a model and functions that make parts of one
    masks: Masks | None = None  # None: no indexing of this framework depends on the data
    # Modules of the framework whose own reads are the user's waits, where those of others are not:
    # reads of CPU values that stand in for a device's (torch), or any reads (asynchronous_cpu).
    blocking_internals: tuple[str, ...] | None = None  # None: every module's
    makes: tuple[str, ...] = ()  # functions, by their last name, that fill or place an array
    whole: tuple[str, ...] = ()  # methods that give as much of an array as it holds
    shaped: tuple[str, ...] = ()  # methods that take a shape, wherever that comes from
    moves: tuple[str, ...] = ()  # methods that take an array to another place
    array_attributes: tuple[str, ...] = ()  # of an array, which are arrays themselves
    devices: tuple[str, ...] = ()  # strings that name a kind of accelerator
    reveals: tuple[str, ...] = ()  # methods whose call in a text means that it is in use
    numbers: Mapping[str, int] = {}  # functions that give a number -> with so many arguments
    rare: tuple[str, ...] = ()  # methods that its arrays have, and are rarely asked for


class Trigger(NamedTuple):
    """Calls that invoke a protocol of their arguments: `print` calls `__repr__`."""

    protocol: str
    functions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()  # on a value of kind `receiver`
    receiver: str = ""
    arguments: tuple[int | str, ...] = (-1,)  # positions/keywords; -1: any
    sink: bool = False  # a progress bar, metric writer or logger (ASG107)
    frameworks: tuple[str, ...] = ()  # whose values it reads; empty: any
    traced: bool = False  # it is as common in traced functions, where it reads nothing


class Language(NamedTuple):
    """What Python's own world means, by name: the table `[language]` of `python.toml`."""

    remainders: frozenset[str] = frozenset()  # functions, by their last name, that give a remainder
    warns: frozenset[str] = frozenset()  # functions and methods that warn
    complains: frozenset[str] = frozenset()  # methods of a logger that do
    exits: frozenset[str] = frozenset()  # functions that end the program
    asks: frozenset[str] = frozenset()  # functions that wait for somebody who answers
    plain_functions: frozenset[str] = frozenset()  # which read nothing and give plain objects
    host_calls: frozenset[str] = frozenset()  # functions and methods that give plain objects
    host_attributes: frozenset[str] = frozenset()  # of anything, which are plain objects
    host_modules: frozenset[str] = frozenset()  # whose functions give plain objects
    host_libraries: frozenset[str] = frozenset()  # whose functions give no arrays of another one
    array_libraries: frozenset[str] = frozenset()  # whose arrays are in host memory
    placing_libraries: frozenset[str] = frozenset()  # whose loaders give batches on the device
    common_methods: frozenset[str] = frozenset()  # as common on other objects as on arrays
    array_methods: frozenset[str] = frozenset()  # of arrays of any library


NO_LANGUAGE = Language()


@dataclass(frozen=True)
class Catalogue:
    """All rules files together."""

    frameworks: Mapping[str, Framework]
    triggers: tuple[Trigger, ...]
    clocks: tuple[str, ...] = ()  # functions that read a clock: "time.perf_counter"
    language: Language = NO_LANGUAGE

    @cached_property
    def devices(self) -> frozenset[str]:
        """The strings that name a kind of accelerator, in any framework."""
        return frozenset(name for f in self.frameworks.values() for name in f.devices)

    @cached_property
    def moves(self) -> frozenset[str]:
        """The methods that take an array of any framework to another place."""
        return frozenset(name for f in self.frameworks.values() for name in f.moves)

    def __iter__(self) -> Iterator[SyncPoint]:
        for framework in self.frameworks.values():
            yield from framework.sync

    def __getitem__(self, sync_id: str) -> SyncPoint:
        for point in self:
            if point.id == sync_id:
                return point
        raise KeyError(sync_id)


@lru_cache(maxsize=1)
def load() -> Catalogue:
    """Load the catalogue that ships with asyncguard."""
    return load_directory(rules_directory())


def rules_directory() -> Path:
    """The directory of the shipped rules files: `asyncguard.data` once installed."""
    checkout = Path(__file__).parent.parent / "rules"
    if checkout.is_dir() and not (Path(__file__).parent / "data").is_dir():
        return checkout
    return Path(__file__).parent / "data"


_APART = (FAMILIES, GENERATED, LIBRARIES, ADVICE)


def load_directory(directory: Path) -> Catalogue:
    """Load every `*.toml` of `directory`; raises CatalogueError."""
    frameworks: dict[str, Framework] = {}
    triggers: tuple[Trigger, ...] = ()
    clocks: tuple[str, ...] = ()
    language = NO_LANGUAGE
    for path in sorted(set(directory.glob("*.toml")) - {directory / name for name in _APART}):
        data = _read(path)
        if "trigger" in data:
            triggers += _triggers(path, data)
        clocks += _strings(path, data.get("clocks", []))
        if "language" in data:
            language = _language(f"{path}: [language]", data["language"])
        if "framework" in data:
            framework = _framework(path, data)
            frameworks[framework.name] = framework
    if not frameworks:
        raise CatalogueError(f"{directory}: no rules files found; reinstall asyncguard")
    catalogue = Catalogue(frameworks, triggers, clocks, language)
    require_unique_ids(catalogue)
    return catalogue


def _read(path: Path) -> dict[str, Any]:
    try:
        return parse(str(path), files.read_text(path))
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CatalogueError(f"{path}: {error}") from error


def parse(path: str, text: str) -> dict[str, Any]:
    """Return what a rules file says, its schema checked; raises CatalogueError."""
    try:
        data: dict[str, Any] = tomli.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise CatalogueError(f"{path}: not valid TOML: {reason}") from error
    if data.get("schema") != SCHEMA:
        raise CatalogueError(f"{path}: schema is {data.get('schema')!r:.50}; expected {SCHEMA}")
    return data


BY_KIND = (
    "returns", "types", "attributes", "methods", "usage", "telling", "parts", "likely", "alone",
    "names", "model_methods",
)  # fmt: skip
_OF_FILES = {"schema", "framework", "trigger"}  # keys that are no fields of a framework
_KEYS = _OF_FILES.union(Framework._fields) - {"name", "path"}


def _framework(path: Path, data: dict[str, Any]) -> Framework:
    where = str(path)
    if unknown := sorted(set(data) - _KEYS):
        raise CatalogueError(f"{where}: unknown key {unknown[0]!r:.50}")
    for key in ("modules", "checked_version", "asynchronous_cpu"):
        if key not in data:
            raise CatalogueError(f"{where}: missing {key!r}")
    values = {key: value for key, value in data.items() if key not in _OF_FILES}
    values |= {"name": data["framework"], "path": path}
    values |= {table: by_kind(where, table, data) for table in BY_KIND}
    values["steps"] = build(Steps, data.get("steps", {}), f"{where}: [steps]")
    for table, cls in (("graph", Graph), ("masks", Masks)):
        if table in data:
            values[table] = build(cls, data[table], f"{where}: [{table}]")
    values["sync"] = tuple(
        sync_point(where, data["framework"], entry) for entry in entries(where, "sync", data)
    )
    return build(Framework, values, where)


def _language(where: str, data: Mapping[str, Any]) -> Language:
    names = {key: frozenset(texts(where, key, value)) for key, value in data.items()}
    made: Language = build(Language, names, where)
    return made


def texts(where: str, key: str, value: object) -> tuple[str, ...]:
    """Return a list of strings as a tuple; raises CatalogueError."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CatalogueError(f"{where}: {key!r} must be a list of strings")
    return tuple(value)


def entries(where: str, table: str, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of an array of tables."""
    entries = data.get(table, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise CatalogueError(f"{where}: [[{table}]] must be tables")
    return entries


def _triggers(path: Path, data: dict[str, Any]) -> tuple[Trigger, ...]:
    return tuple(
        build(Trigger, entry, f"{path}: trigger {entry.get('protocol')!r}")
        for entry in entries(str(path), "trigger", data)
    )


def _strings(path: Path, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not fits(tuple(value), tuple[str, ...]):
        raise CatalogueError(f"{path}: clocks must be a list of strings")
    return tuple(value)


def by_kind(where: str, table: str, data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return one of the tables BY_KIND, {} where it is not given; raises CatalogueError."""
    result: dict[str, tuple[str, ...]] = {}
    found = data.get(table, {})
    if not isinstance(found, dict):
        raise CatalogueError(f"{where}: [{table}] must be a table")
    for kind, names in found.items():
        if kind not in VALUE_KINDS:
            known = ", ".join(VALUE_KINDS)
            raise CatalogueError(
                f"{where}: [{table}]: unknown value kind {kind!r:.50}; one of {known}"
            )
        result[kind] = texts(f"{where}: [{table}]", kind, names)
    return result


_REQUIRED = ("id", "rule", "kind", "waits_for", "url", "advice", "hit", "miss")


def sync_point(
    path: str, framework: str, entry: dict[str, Any], required: Iterable[str] = _REQUIRED
) -> SyncPoint:
    """Return one `[[sync]]` entry as a record; raises CatalogueError."""
    where = f"{path}: sync {entry.get('id', '(without id)')!r:.80}"
    for key in required:
        if not entry.get(key):
            raise CatalogueError(f"{where}: missing {key!r}")
        if not isinstance(entry[key], str):
            raise CatalogueError(f"{where}: {key!r} must be a string")
    if entry["kind"] not in {kind.value for kind in SyncKind}:
        raise CatalogueError(f"{where}: unknown kind {entry['kind']!r:.50}")
    if entry["waits_for"] not in WAITS_FOR:
        raise CatalogueError(f"{where}: unknown waits_for {entry['waits_for']!r}")
    if not re.fullmatch(r"ASG\d{3}", entry["rule"]):
        raise CatalogueError(f"{where}: rule {entry['rule']!r} is no rule code")
    if entry["url"] and not str(entry["url"]).startswith("https://"):
        raise CatalogueError(f"{where}: url must start with https://")
    if not ("source" in entry and "runtime" in entry) and not entry.get("one_sided"):
        raise CatalogueError(f"{where}: only one of source and runtime: say why in 'one_sided'")
    parts = {"source": Source, "runtime": Runtime, "when": Condition, "unless": Condition}
    built: dict[str, Any] = {
        key: build(cls, entry[key], f"{where}: {key}") for key, cls in parts.items() if key in entry
    }
    _check_words(built, where)
    if "confidence" in entry:
        _one_of((entry["confidence"],), tuple(Confidence), f"{where}: confidence")
        built["confidence"] = Confidence(entry["confidence"])
    built |= {"framework": framework, "kind": SyncKind(entry["kind"])}
    point = build(SyncPoint, entry | built, where)
    if len(point.makers) not in (0, 3):
        raise CatalogueError(f"{where}: makers: names of a zero, a one and any number, or none")
    return point


def _check_words(built: Mapping[str, Any], where: str) -> None:
    """Raise for a word in an entry's source or runtime table that nobody would understand."""
    if source := built.get("source"):
        _one_of(source.operators, OPERATORS, f"{where}: source: operators")
        _one_of((source.receiver,), VALUE_KINDS, f"{where}: source: receiver")
    if runtime := built.get("runtime"):
        _one_of(runtime.operators, OPERATORS, f"{where}: runtime: operators")
        _one_of((runtime.value,), DECIDERS, f"{where}: runtime: value")
        _one_of((runtime.moves,), MOVES, f"{where}: runtime: moves")


def _one_of(words: tuple[str, ...], known: tuple[str, ...], where: str) -> None:
    for word in words:
        if word not in known:
            expected = ", ".join(filter(None, known))
            raise CatalogueError(f"{where}: unknown {word!r:.50}; one of {expected}")


def build(cls: type[R], data: Any, where: str) -> R:
    """Make a record from a TOML table, lists turned into tuples; unknown keys are errors."""
    if not isinstance(data, dict):
        raise CatalogueError(f"{where}: must be a table, not {reprlib.repr(data)}")
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]  # a NamedTuple
    if unknown := sorted(set(data).difference(fields)):
        raise CatalogueError(f"{where}: unknown key {unknown[0]!r:.50}")
    try:
        return made(cls, data)
    except ValueError as error:
        raise CatalogueError(f"{where}: {error}") from error


def require_unique_ids(catalogue: Catalogue) -> None:
    """Raise CatalogueError where two entries have one id."""
    seen: dict[str, str] = {}
    for point in catalogue:
        path = str(catalogue.frameworks[point.framework].path)
        if point.id in seen:
            raise CatalogueError(f"{path}: sync {point.id!r}: id is taken in {seen[point.id]}")
        seen[point.id] = path
