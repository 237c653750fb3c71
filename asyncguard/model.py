"""The records that every part of asyncguard shares.

Frozen, plain data between the stages: the linter makes `Finding`s, the runtime `TraceRecord`s, all
after them (gate, advise, render) only reads. Imports the standard library, nothing of asyncguard.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

STAND_IN = "cpu (stand-in)"  # a CPU that counts as the device, for want of an accelerator


class AsyncguardError(Exception):
    """Something that the user can put right: a usage, configuration or file error.

    The message names the file, the line where there is one, and the remedy; the command line
    prints it to stderr and exits with status 2.
    """


class SyncKind(str, enum.Enum):
    """What makes the frontend wait (see docs/reference/kinds.md)."""

    BARRIER = "barrier"
    COMPOSITE = "composite"  # a call that does work of its own around the reads that wait in it
    SCALAR = "scalar"
    ARRAY = "array"
    TEXT = "text"
    TRUTH = "truth"
    SHAPE = "shape"
    UPLOAD = "upload"
    QUEUE = "queue"  # the frontend was held back because a bounded queue was full


class Loop(str, enum.Enum):
    """How often a site executes: once a step, once an epoch, or otherwise."""

    STEP = "step"
    EPOCH = "epoch"
    NONE = "none"

    __hash__ = str.__hash__  # it equals its text; and `Enum`'s own is slow


class Device(str, enum.Enum):
    """Where the linter takes the values of the checked program to be."""

    WRITTEN = "as-written"  # models and what they get on an accelerator, factories where they say
    ACCELERATOR = "accelerator"  # what is made without a device too
    CPU = "cpu"  # nothing waits but where the CPU backend itself is asynchronous


class Confidence(str, enum.Enum):
    """How sure the linter is that the value lives on the device and the site is hot."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from (line, column) up to (end_line, end_column) with `text`.

    Lines count from 1 and columns from 0, in characters, as in `ast`.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Applicability(str, enum.Enum):
    """Which option applies a repair."""

    SAFE = "safe"  # --fix: the program computes the same
    UNSAFE = "unsafe"  # --fix --unsafe-fixes: it may not, in cases that the message names
    SHOWN = "shown"  # none: the reader has to decide, or to complete it


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: what it does in words, what that changes for the reader, and its edits.

    After one that `reports_less` the program prints or logs less often.
    """

    message: str
    edits: tuple[Edit, ...]
    applicability: Applicability
    reports_less: bool = False

    @property
    def safe(self) -> bool:
        """Whether it keeps the program's meaning."""
        return self.applicability == Applicability.SAFE

    def is_applied(self, *, unsafe: bool) -> bool:
        """Whether `--fix` makes the edits, with `--unsafe-fixes` or without."""
        return self.safe or (unsafe and self.applicability == Applicability.UNSAFE)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that leads to a finding; in a notebook, `line` counts within the `cell` (from 1)."""

    path: str
    line: int
    function: str = ""
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class FindingReason:
    """One thing that a finding rests on.

    `about`: why the "value" is taken to be on the device, what casts "doubt" on that, or why the
    "place" is hot (from the finding outwards: its loop, or who calls its function). `text` is a
    clause, `path` and `line` say where that was seen (from 1; 0 if nowhere; within the `cell` of a
    notebook). `family` is the family of names that took part (`rules/names.toml`), or the
    catalogue's entry; `kind` is the sort of evidence.
    """

    about: str
    text: str
    path: str = ""
    line: int = 0
    family: str = ""
    kind: str = ""
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One place in the source that a rule objects to.

    Lines count from 1; columns count from 1, in characters, as editors show them. `reached_from`
    are the calls that hand a device value to what is read in a helper, the hottest first. `reasons`
    say why it is there.
    """

    code: str
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    loop: Loop = Loop.NONE
    guarded: bool = False
    framework: str = ""
    api: str = ""
    confidence: Confidence = Confidence.HIGH
    advice: str = ""
    source: str = ""
    fix: Fix | None = None
    cell: int | None = None  # of a notebook, from 1; `line` then counts within the cell
    reached_from: tuple[CallSite, ...] = ()
    reasons: tuple[FindingReason, ...] = ()
    probability: float = 1.0  # that the place waits, 0 to 1
    evidence: tuple[str, ...] = ()  # the items that this follows from (`rules/evidence.toml`)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready data."""
        data: dict[str, Any] = to_plain(self)
        if self.fix is not None:
            data["fix"]["safe"] = self.fix.safe
            if not self.fix.reports_less:
                del data["fix"]["reports_less"]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """Rebuild a finding from `to_dict`'s result."""
        values = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        values["loop"] = Loop(values.get("loop", "none"))
        values["confidence"] = Confidence(values.get("confidence", "high"))
        if fix := values.get("fix"):
            edits = tuple(Edit(**edit) for edit in fix["edits"])
            grade, reports_less = Applicability(fix["applicability"]), "reports_less" in fix
            values["fix"] = Fix(fix["message"], edits, grade, reports_less)
        values["reached_from"] = tuple(CallSite(**call) for call in values.get("reached_from", ()))
        values["reasons"] = tuple(FindingReason(**why) for why in values.get("reasons", ()))
        values["evidence"] = tuple(values.get("evidence", ()))
        return cls(**values)


@dataclass(frozen=True, slots=True)
class CallPath:
    """One way in which a program came to wait at a site: waits, and nanoseconds blocked in them.

    `callers` called the site's function; `library` are the frames of libraries between the site's
    line and the wait. Both read "path:line function", innermost first.
    """

    callers: tuple[str, ...]
    count: int
    cpu_stall_ns: int
    library: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteStats:
    """What happened at one sync point of the traced program, summed over the run.

    `count` is the number of waits. Stalls are in nanoseconds. `gpu_stall_ns` is device idle time
    that the waits caused, None where it was not measured. `callers` and `library` are those of the
    call path that waited longest; where there are several, `paths` has all of them.
    """

    path: str
    line: int
    function: str
    api: str
    framework: str
    kind: SyncKind
    count: int
    cpu_stall_ns: int
    gpu_stall_ns: int | None = None
    source: str = ""  # the text of the line, stripped: what a gate recognises the site by
    device: str = ""  # "cuda:0", "cpu", "cpu (stand-in)", ...
    first_step: int | None = None
    last_step: int | None = None
    steady_count: int = 0  # of `count`, those within complete steps after the warm-up
    steady_stall_ns: int = 0  # the CPU stall of those
    max_stall_ns: int = 0
    stall_histogram: Mapping[int, int] = field(default_factory=dict)  # log2(ns) -> waits
    callers: tuple[str, ...] = ()  # "path:line function", innermost first, without frameworks
    library: tuple[str, ...] = ()  # between the line and the wait, innermost first
    paths: tuple[CallPath, ...] = ()  # what waited longest first
    thread: str = ""
    allowed: str | None = None  # the reason given to allow_syncs
    steps: int = 0  # in how many steps it waited; 0 where that is not known
    steady_visits: int = 0  # in how many of the steps that `steady_count` is of it waited
    steady_most: int = 0  # how often at most in one of those; both 0 where that is not known
    inclusive_ns: int | None = None  # the whole time of calls that do more than wait, if they do
    why: str | None = None  # a copy waited that was told not to block: "pageable", "gapped", ...

    @property
    def place(self) -> str:
        """The line as call paths show it: "path:line function"."""
        return f"{self.path}:{self.line} {self.function}"

    @property
    def stack(self) -> tuple[str, ...]:
        """The call path that waited longest, innermost first, the line itself included."""
        return (*self.library, *((self.place,) if self.line else ()), *self.callers)

    @property
    def call_paths(self) -> tuple[CallPath, ...]:
        """Every call path, also where there is only one."""
        return self.paths or (CallPath(self.callers, self.count, self.cpu_stall_ns, self.library),)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do about one or more sites, and how much it can save a step.

    `saving_ns_per_step` is an upper bound; with `saving_low_ns` and `saving_high_ns` it is what
    replay of the timeline predicts, beyond what the suggestions above it save. One that is an
    alternative to the n-th of the list has that in `instead_of`, and its own saving. `help` is the
    catalogue's advice on the API that waited longest there. It is not `worth` doing where the waits
    took next to no time.
    """

    title: str
    advice: str
    sites: tuple[SiteStats, ...]
    syncs_saved_per_step: float
    saving_ns_per_step: int | None  # None where it cannot be told
    help: str = ""
    worth: bool = True
    saving_low_ns: int | None = None
    saving_high_ns: int | None = None
    instead_of: int | None = None


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One span of the optional timeline; nanoseconds from the start of the trace.

    `kind` is "step" (a whole step), "wait" (a sync point), "enqueue" (handing one operation over),
    "run" (the device executes) or "idle" (the device waits for the host). `site` is an index into
    the record's sites; `cause` is, for "idle", the index of the event that brought it about.
    An "enqueue" and the "run" that it led to have the same `serial`; `nbytes` is what the result of
    an "enqueue" takes, where that is known.
    """

    kind: str
    name: str
    begin_ns: int
    end_ns: int
    thread: str = ""
    site: int | None = None
    cause: int | None = None
    serial: int | None = None
    nbytes: int | None = None


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """The record of one run: plain data, saved as JSON.

    A step ends at each boundary (an optimizer's step, or `asyncguard.step()`). `step_count` counts
    the boundaries, `steady_steps` the complete steps after the warm-up, which together took
    `steady_duration_ns`, and `step_syncs` is the number of sync points in each of the newest
    complete steps (a bounded window), `step_allowed` of those that `allow_syncs` covered.
    """

    sites: tuple[SiteStats, ...]
    step_count: int
    duration_ns: int
    steady_steps: int = 0
    steady_duration_ns: int = 0
    step_syncs: tuple[int, ...] = ()
    step_allowed: tuple[int, ...] = ()
    step_collective_ns: tuple[int, ...] = ()  # of the newest complete steps, waited for other ranks
    command: str = ""
    root: str = ""  # directory that relative site paths start from
    asyncguard_version: str = ""
    frameworks: Mapping[str, str] = field(default_factory=dict)  # name -> version
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    basis: str = ""  # of figures: "measured", "modelled" (simulated), "stand-in" (the CPU) or ""
    device: str = ""  # what the program waited for, in words
    timeline: tuple[TimelineEvent, ...] = ()  # the newest events only, where one was asked for
    # path -> line number -> text, around the sites that cost most, as they read during the run
    sources: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # what was not hooked, or failed: waits may be missing
    complete: bool = True  # False: saved while the program ran, which may have been killed since
    exit_status: int | None = None  # of the program, as a shell has it; None: not known
    exception: str = ""  # that ended the program, or left the traced block

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why the figures may be too low, a sentence each: how the run ended, and the faults."""
        end = ""
        if not self.complete:
            end = "The trace was saved while the program ran, and the program has not replaced it"
            end += ": it runs still, or was killed."
        elif self.exit_status:
            end = f"The program ended with exit status {self.exit_status}"
            end += f": {self.exception}." if self.exception else "."
        elif self.exception:
            end = f"The traced block ended with an exception: {self.exception}."
        return (*filter(None, [end]), *self.faults)

    @property
    def total_syncs(self) -> int:
        """The number of sync points executed."""
        return sum(site.count for site in self.sites)

    @property
    def syncs_per_step(self) -> float | None:
        """Sync points a step, warm-up left out; None when no step was marked."""
        return self.per_step(
            sum(s.count for s in self.sites), sum(s.steady_count for s in self.sites)
        )

    def per_step(self, total: int, steady: int) -> float | None:
        """Turn a total over the run and over its steady steps into a rate a step."""
        return a_step(total, self.step_count, steady, self.steady_steps)

    @property
    def cpu_stall_ns(self) -> int:
        """Host time spent blocked, in nanoseconds."""
        return sum(site.cpu_stall_ns for site in self.sites)

    @property
    def gpu_stall_ns(self) -> int | None:
        """Device idle time that the waits caused, in nanoseconds; None if nowhere measured."""
        known = [site.gpu_stall_ns for site in self.sites if site.gpu_stall_ns is not None]
        return sum(known) if known else None


def a_step(total: float, steps: int, steady: float, steady_steps: int) -> float | None:
    """The rate a step, of the steady ones where there are any; None without steps."""
    if steady_steps:
        return steady / steady_steps
    return total / steps if steps else None


def to_plain(value: Any) -> Any:
    """Reduce records, enums, mappings and tuples to what `json` writes."""
    if isinstance(value, enum.Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_plain(item) for item in value]
    return value
