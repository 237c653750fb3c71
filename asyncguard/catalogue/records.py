"""The records of the catalogue: the entries of a rules file, and the words for their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from asyncguard.model import Confidence, SyncKind

WAITS_FOR = ("value", "stream", "device", "everything", "ranks")  # ranks: the other processes
# What a call may return, as far as the linter cares; the same words as `lint.values` uses.
VALUE_KINDS = (
    "device", "host_array", "host", "model", "optimizer", "scheduler", "loader", "scaler",
    "criterion", "event", "stream", "work", "writer", "logger", "progress", "context", "module",
    "container", "pairs", "mapping", "device_or_host", "metric", "environment",
    "leaves", "listed", "flattened", "models", "named_models", "handle",
)  # fmt: skip

# Subscripts that block: `x[mask]`, `x[mask] = tensor`, `x[indices] = 0`, `x[i:j]` with bounds on
# the device, `x[[0, 2]]` or `x[cpu_indices]`, `x[...] = host_array`, `host_array[...] = x`,
# `x[tensor_of_no_dimension]`, `x[mask] = 0`, `x[0] = 0` of one element (seen by the runtime only).
OPERATORS = (
    "mask-read", "mask-write", "scalar-write", "slice-bound", "index-upload", "host-write",
    "device-write", "scalar-index", "mask-fill", "number-write",
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
    made_with: tuple[str, ...] = ()  # an argument was made with one of these keywords true
    # The host's side of a copy is page-locked and one block, or what is sent is so small that the
    # driver takes a copy of it (seen by the runtime only).
    staged: bool = False


class Source(NamedTuple):
    """How a sync point looks in source. At least one field is given."""

    methods: tuple[str, ...] = ()  # `value.item()`, on a device value (or on `receiver`)
    functions: tuple[str, ...] = ()  # `torch.cuda.synchronize()`, dotted as imported
    protocols: tuple[str, ...] = ()  # `__bool__`: syntax or a builtin that calls it
    operators: tuple[str, ...] = ()  # subscripts: some of OPERATORS
    receiver: str = "device"  # what `methods` are called on: one of VALUE_KINDS
    arguments: tuple[int | str, ...] = ()  # that must hold a device value; -1: any but `out`
    elements: bool = False  # whether it reads the elements of a list, but not an array itself
    fresh: bool = False  # only where the receiver was made in the same iteration
    settles: bool = False  # waits for the variables it is given: later reads of them do not
    launch: bool = False  # calls of what the framework compiled that are given arrays on the host


class Runtime(NamedTuple):
    """What the runtime hooks. `patch` are attribute paths of the imported framework."""

    patch: tuple[str, ...] = ()  # replaced while tracing: "torch.Tensor.item"
    value: str = "self"  # whose device decides: one of DECIDERS ("argument": the first one)
    moves: str = ""  # counts only if data went this way, from `value` to the result: one of MOVES
    dispatch: tuple[str, ...] = ()  # backend operators seen in full depth: "aten::nonzero"
    operators: tuple[str, ...] = ()  # subscripts, where only the runtime can tell: of OPERATORS
    inside: tuple[str, ...] = ()  # methods that wait inside a call of `patch`, and nowhere else
    watch: tuple[str, ...] = ()  # calls behind which the framework waits; its adapter sees where
    times: Mapping[str, int] = {}  # of `patch` and `dispatch`: those that differ from the entry


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
    fact: str = ""  # how it waits, in words that stand in messages for those of its rule
    remedy: str = ""  # what to do about it in a few words, beside `fact`
    inherent: str = ""  # why only an audit reports it: what waits cannot be written without
    # Beside an upload: what makes a zero, a one, or any number on the device ("zeros", ...).
    makers: tuple[str, ...] = ()
    versions: str = ""  # of the framework, a PEP 440 specifier; empty: all
    times: int = 1  # how often one call waits
    confidence: Confidence = Confidence.HIGH  # the most that the linter may claim for it

    def times_by(self, path: str) -> int:
        """How often one call waits that was made by this path, or as this backend operator."""
        return self.times if self.runtime is None else self.runtime.times.get(path, self.times)


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
    translated: tuple[str, ...] = ()  # decorators of kernels in other languages: "triton.jit"
    runtime: tuple[str, ...] = ()  # attribute paths that mark a step when called
    runtime_compiled: tuple[str, ...] = ()  # ... if one of `runtime` was met as they were traced
    updates: tuple[str, ...] = ()  # those of `methods` and `functions` that change the model, too
    signatures: tuple[str, ...] = ()  # parameters of what a library enters once a step: "x y"
    data: tuple[str, ...] = ()  # parameters of hot functions that a loader's data is handed for


class Graph(NamedTuple):
    """How values hang on the graph that they were computed by, and how they let go of it."""

    keeps: tuple[str, ...]  # methods whose result, like that of arithmetic, hangs on it as well
    detach: str  # what to write behind a value for one that does not: ".detach()"


class Region(NamedTuple):
    """How code comes to be run as a graph, which a wait in it breaks."""

    id: str
    says: str  # what the code becomes, as messages say it
    asks: str  # whom code asks whether it runs in one: "capture" or "compiler"
    error: str  # how a wait in it fails
    contexts: tuple[str, ...] = ()  # `with` these
    functions: tuple[str, ...] = ()  # what they are handed first becomes one, or what they decorate
    methods: tuple[str, ...] = ()  # of a model, which becomes one
    begins: tuple[str, ...] = ()  # methods from whose call on the code of a block is part of one
    ends: tuple[str, ...] = ()  # and those that end it
    disables: tuple[str, ...] = ()  # what they are handed first, or decorate, stays outside
    whole: str = ""  # the argument under which a wait fails, where else it splits; "": it fails
    off: str = ""  # the argument under which nothing becomes one
    breaks: tuple[str, ...] = ()  # the entries that break one; none: all do
    holds: tuple[str, ...] = ()  # those that a whole one has held since `since`
    since: str = ""  # a release
    traces: tuple[str, ...] = ()  # statements, builtins and methods that it holds all the same


class HostMemory(NamedTuple):
    """The methods and functions, by their last names, whose result shares an array's host memory.

    They say how its elements lie there, which decides whether a copy can be asynchronous.
    """

    views: tuple[str, ...]  # give all of it, in its order
    transposes: tuple[str, ...]  # all of it, in another order
    spreads: tuple[str, ...]  # with gaps, or elements that stand for several
    parts: tuple[str, ...]  # a part of it
    packs: tuple[str, ...]  # all of it without gaps: memory of its own, where there were some
    converts: tuple[str, ...]  # itself, or memory of its own where it is of another type
    shares: tuple[str, ...]  # functions, in full, that give the memory of their first argument
    pins: str  # the method that copies to pinned memory; the option of factories has its name
    unread: tuple[str, ...]  # neither read nor write it, or do that on the device
    in_place: tuple[str, ...] = ()  # methods that write to it, beside those that end so: `add_`
    writes: tuple[str, ...] = ()  # functions, in full, that write to their first argument
    stream_contexts: tuple[str, ...] = ()  # contexts that say which stream copies go to
    set_stream: tuple[str, ...] = ()  # functions that say it from then on
    current_streams: tuple[str, ...] = ()  # functions that give the stream that copies go to
    data: tuple[str, ...] = ()  # functions that make an array of numbers, not of a size
    size: str = ""  # the argument of factories that may be the size
    sized: tuple[
        str, ...
    ] = ()  # factories, by their last names, that may be given sizes one by one
    out: str = ""  # the argument of functions that is written to
    copies: tuple[str, ...] = ()  # methods that copy another array into it
    loaders: tuple[str, ...] = ()  # classes of loaders that take the option `pins`
    waits: tuple[str, ...] = ()  # methods of events and streams after which copies are done
    records: tuple[str, ...] = ()  # of an event: it is behind all that a stream has
    awaits: tuple[str, ...] = ()  # of an event: a stream waits for it
    record_events: tuple[str, ...] = ()  # of a stream: it records an event, and gives it
    wait_events: tuple[str, ...] = ()  # of a stream: it waits for an event
    wait_streams: tuple[str, ...] = ()  # of a stream: it waits for another one
    orders: tuple[str, ...] = ()  # those of them and others for which the host never waits


class Masks(NamedTuple):
    """Which functions and methods, by their last name, return masks: boolean arrays."""

    makes: tuple[str, ...]  # whatever they are called on
    keeps: tuple[str, ...]  # if they are called on one
    indices: tuple[str, ...] = ()  # never: they make indices of one
    types: tuple[str, ...] = ()  # those of such arrays' elements, and of such arrays


class Extension(NamedTuple):
    """A rules file that adds to a framework: a device, and the package that brings it."""

    path: Path
    modules: tuple[str, ...]  # whose import means that its devices are in use; none: the framework
    checked_version: str  # of the package, that the entries were read against
    devices: tuple[str, ...]  # strings that name its kinds of accelerator


class Framework(NamedTuple):
    """A framework, what its APIs return, its steps and its sync points: of one rules file or more.

    Others extend the first one.
    """

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
    immutable: bool = False  # its arrays cannot be written to: what is, is NumPy's
    reads_once: bool = False  # an array keeps its value on the host once that was read
    unbounded_queue: bool = False  # nothing holds the frontend back, however far it runs ahead
    graph: Graph | None = None  # None: values of this framework keep no graph
    memory: HostMemory | None = None  # None: no copy of this framework's is asynchronous by a flag
    tree_maps: tuple[str, ...] = ()  # functions that call their first argument with each leaf
    operators: tuple[str, ...] = ()  # namespaces of functions that programs register by their names
    passes: tuple[str, ...] = ()  # methods of a context that give back what they are given
    registers: tuple[str, ...] = ()  # methods of a model and functions that make parts of one
    region: tuple[Region, ...] = ()  # the ways in which code becomes a graph
    masks: Masks | None = None  # None: no indexing of this framework depends on the data
    # Modules of the framework whose own reads are the user's waits, where those of others are not:
    # reads of CPU values that stand in for a device's (torch), or any reads (asynchronous_cpu).
    blocking_internals: tuple[str, ...] | None = None  # None: every module's
    makes: tuple[str, ...] = ()  # functions, by their last name, that fill or place an array
    whole: tuple[str, ...] = ()  # methods that give as much of an array as it holds
    joins: tuple[str, ...] = ()  # functions that make one array of a list of them, where they are
    takes: tuple[str, ...] = ()  # functions whose first argument is an array; patterns allowed
    reductions: tuple[str, ...] = ()  # methods that give one number where they name no axis
    shaped: tuple[str, ...] = ()  # methods that take a shape, wherever that comes from
    moves: tuple[str, ...] = ()  # methods that take an array to another place
    array_attributes: tuple[str, ...] = ()  # of an array, which are arrays themselves
    devices: tuple[str, ...] = ()  # strings that name a kind of accelerator
    unwaited: tuple[str, ...] = ()  # those to which a copy from the host waits for nothing
    device_functions: Mapping[str, str] = {}  # functions that give a device -> which one
    default_device: tuple[str, ...] = ()  # functions that set where arrays are made from then on
    device_contexts: tuple[str, ...] = ()  # contexts that say where arrays are made in them
    asked_for: tuple[str, ...] = ()  # arguments that ask for its arrays, in host memory
    reveals: tuple[str, ...] = ()  # methods whose call in a text means that it is in use
    numbers: Mapping[str, int] = {}  # functions that give a number -> with so many arguments
    rare: tuple[str, ...] = ()  # methods that its arrays have, and are rarely asked for
    axes: tuple[str, ...] = ()  # keywords of an axis that no other library's arrays take
    extensions: tuple[Extension, ...] = ()  # the files that add to it
    kernels: tuple[str, ...] = ()  # functions that launch a kernel, which writes to its arguments
    closed: bool = False  # its arrays have no attributes but those that are listed
    on_device: bool = False  # arrays are made on the device where nothing says otherwise
    measured: bool = False  # a clock around its functions tells what they take: they wait
    # Options of models, which run on the host if none is given, or only these values.
    on_host: Mapping[str, tuple[str, ...]] = {}


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
    draws: frozenset[str] = frozenset()  # functions and methods that draw figures
    exits: frozenset[str] = frozenset()  # functions that end the program
    asks: frozenset[str] = frozenset()  # functions that wait for somebody who answers
    paces: frozenset[str] = frozenset()  # functions that wait until it is time
    repeats: frozenset[str] = frozenset()  # functions that call their argument once in each step
    calls_back: frozenset[str] = frozenset()  # methods that have a function called in each step
    adds: frozenset[str] = frozenset()  # functions that add their second argument to their first
    submits: frozenset[str] = frozenset()  # functions that run one with the arguments behind it
    starts: frozenset[str] = frozenset()  # classes, by their last name, that run a function aside
    hot_functions: frozenset[str] = frozenset()  # run once a step, in programs of any framework
    drives: frozenset[str] = frozenset()  # methods that run one step, of models or environments
    remote_calls: frozenset[str] = frozenset()  # methods that call their owner in another process
    remote_options: frozenset[str] = frozenset()  # methods that give their owner, set otherwise
    declares: frozenset[str] = frozenset()  # functions that give back what they declare the type of
    worker_libraries: frozenset[str] = frozenset()  # whose workers, elsewhere, hold the devices
    received: frozenset[str] = frozenset()  # functions that give what another process has sent
    plain_functions: frozenset[str] = frozenset()  # which read nothing and give plain objects
    host_libraries: frozenset[str] = frozenset()  # whose functions give no arrays of another one
    array_libraries: frozenset[str] = frozenset()  # whose arrays are in host memory
    host_backends: frozenset[str] = frozenset()  # of process groups: they send from host memory
    other_devices: frozenset[str] = frozenset()  # where no CUDA device is: "cpu"
    host_runtimes: frozenset[str] = frozenset()  # run models, but on no CUDA device
    placing_libraries: frozenset[str] = frozenset()  # whose loaders give batches on the device
    places_loaders: frozenset[str] = frozenset()  # methods of such libraries that make them so
    array_methods: frozenset[str] = frozenset()  # of arrays of any library
    injected_names: frozenset[str] = frozenset()  # that tools bind for every module
    collectives: frozenset[str] = frozenset()  # of communication libraries, by their last name


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
    def _device(self) -> re.Pattern[str]:
        return re.compile(rf"""(?<=["'.])(?:{"|".join(sorted(self.devices))})(?![\w-])""")

    def devices_named(self, text: str) -> frozenset[str]:
        """Return the kinds of accelerators that a program names, in strings or as attributes."""
        return frozenset(self._device.findall(text))

    @cached_property
    def unwaited(self) -> frozenset[str]:
        """Those to which a copy from the host waits for nothing."""
        return frozenset(name for f in self.frameworks.values() for name in f.unwaited)

    @cached_property
    def moves(self) -> frozenset[str]:
        """The methods that take an array of any framework to another place."""
        return frozenset(name for f in self.frameworks.values() for name in f.moves)

    def __iter__(self) -> Iterator[SyncPoint]:
        for framework in self.frameworks.values():
            yield from framework.sync

    @cached_property
    def inherent(self) -> Mapping[str, str]:
        """Why only an audit reports some entries, by their ids."""
        return {point.id: point.inherent for point in self if point.inherent}

    @cached_property
    def _by_id(self) -> Mapping[str, SyncPoint]:
        return {point.id: point for point in reversed([*self])}

    def __getitem__(self, sync_id: str) -> SyncPoint:
        return self._by_id[sync_id]
