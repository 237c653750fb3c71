"""A session: the time during which waits are recorded, and the record of it.

Sessions may be nested and may overlap in several threads; each counts for itself. A session
hooks every thread of the process.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, TypeVar, overload

from asyncguard.model import SiteStats, TraceRecord
from asyncguard.runtime import identity, memory, ranks, reading, units
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.crosscheck import CrossCheck
from asyncguard.runtime.device import DeviceTimes, finders
from asyncguard.runtime.driven import Driven
from asyncguard.runtime.faults import UNWATCHED
from asyncguard.runtime.figures import Figures, Progress, Reading, Totals
from asyncguard.runtime.graph_breaks import GraphBreaks
from asyncguard.runtime.hub import hub
from asyncguard.runtime.lines import Lines
from asyncguard.runtime.options import Options
from asyncguard.runtime.overlap import Overlap
from asyncguard.runtime.owned import Owned
from asyncguard.runtime.racereports import RaceReports
from asyncguard.runtime.ranges import Ranges
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.registry import registry
from asyncguard.runtime.simulated import present
from asyncguard.runtime.unit_counts import UnitCounts
from asyncguard.runtime.units import NamedStep

NOT_DEEP_NOTE = (
    "Full depth saw nothing below Python: torch was not imported in the thread that started the"
    " trace."
)
CHANGED_NOTE = "{} was changed by the program during the trace and has been left as it is."
LONGEST = 1_000  # characters of an exception
T = TypeVar("T")


class Session:
    """Records every sync point between `start` and `stop`, in all threads.

    options: what to record, or its fields by name; command: what is run, for the record.
    """

    def __init__(self, options: Options | None = None, *, command: str = "", **fields: Any) -> None:
        self._options = options or Options(**fields)
        self._frameworks = self._options.watched
        self._command = command
        self._root = os.getcwd()
        self._lines = Lines(self._root) if self._options.lines else None
        self._owned = Owned(self._options.own) if self._options.own else None
        watches_torch = self._frameworks is None or "torch" in self._frameworks
        self._breaks = GraphBreaks(self._root) if watches_torch else None
        self._versions: dict[str, str] = {}
        self._began = identity.now()
        self._began_ns = 0  # Unix's clock, as the recorder's began
        self._devices: frozenset[str] = frozenset()
        self._memory: memory.Resident | None = None
        self._peaks: dict[str, int] = {}
        self._thread = 0
        self._undo = ExitStack()  # of all that `start` does
        self._went_deep = False
        self._unwatched: dict[str, list[str]] = {}
        self._left: tuple[str, ...] = ()  # attributes that somebody else has changed meanwhile
        self._faults: tuple[str, ...] = ()  # once it has stopped
        self._exception = ""  # that left the block
        self._state = "new"
        self._record: TraceRecord | None = None  # once it has stopped
        self._bind()

    def _bind(self) -> None:
        """Make the listeners, on the clock of the simulated device that is present."""
        options, self._model = self._options, present.model
        clock, timeline = options.clock, options.timeline_events
        if self._model is not None and clock is time.perf_counter_ns:
            clock = self._model.now
        self._clock = clock
        self._recorder = recorder = Recorder(
            clock,
            warmup=options.warmup,
            frameworks=self._frameworks,
            stand_ins=options.count_cpu,
            in_use=registry.accelerator_in_use,
            timeline=timeline,
        )
        times = options.device_times
        self._device = DeviceTimes(recorder, finders(times), clock) if times else None
        self._overlap = Overlap(recorder, options.warmup) if timeline else None
        self._ranges = Ranges(options.ranges) if options.ranges else None
        # The simulated device looks for them all the time.
        self._races = RaceReports() if options.races and self._model is None else None
        self._cross_check = CrossCheck(recorder, clock) if options.cross_check else None
        self._driven = Driven(recorder, clock) if options.driver else None
        self._units = UnitCounts(recorder, options.warmup, self._frameworks)

    @property
    def has_started(self) -> bool:
        """Whether it records, or has recorded."""
        return self._state != "new"

    def start(self) -> Session:
        """Begin to record. A session can be started once."""
        if self._state != "new":
            raise RuntimeError("a session can be started only once; make another one")
        self._state = "running"
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        if present.model is not self._model:
            self._bind()
        self._memory = memory.read()
        if self._breaks is not None:
            self._breaks.start()
        undo = self._undo.callback  # the last comes first
        if self._owned is not None:
            self._owned.start()
            undo(self._owned.stop)
        if self._device is not None:  # no hook is left by then that would count its waits
            undo(self._device.stop)
        undo(self._unlisten)  # releasing hooks may settle the cost of the last wait
        registry.acquire(self._frameworks, self._clock)
        undo(self._release)
        hub.add_marked(self._recorder)
        if self._device is not None:
            self._device.start()
        self._began_ns = time.time_ns()
        self._recorder.start()
        undo(self._finish)
        if self._cross_check is not None:
            self._cross_check.start()
            undo(self._cross_check.stop)
            undo(hub.remove, self._cross_check)
        if self._driven is not None:
            self._driven.start()
            undo(self._driven.stop)
            undo(hub.remove, self._driven)
        for part in self._listeners():
            hub.add(part)
        undo(self._units.stop)
        self._units.start()
        if self._options.depth == "full":
            self._thread = threading.get_ident()
            undo(registry.each(self._deepen))
        if self._races is not None:
            undo(self._races.stop)
            self._races.start()
        if self._lines is not None:
            self._lines.start()
            undo(self._lines.stop)

    def _deepen(self, adapter: Adapter) -> None:
        """Go below Python where the adapter can, now or once its framework is imported."""
        # What is done to a thread has to be undone there.
        undo = adapter.deepen() if threading.get_ident() == self._thread else None
        if undo is not None:
            self._undo.callback(undo)
            self._went_deep = True

    def stop(self) -> None:
        """Stop recording and put back what was hooked, unless another session needs it.

        Each step back is taken whatever became of the others; the first error is raised.
        """
        if self._state != "running":
            return
        self._state = "stopped"
        self._undo.close()

    def _finish(self) -> None:
        """End the recording: nothing is hooked below Python any more."""
        try:
            if self._model is not None:
                self._model.settle()
        finally:
            self._recorder.stop()
            if self._breaks is not None:
                self._breaks.stop()
            self._faults = self._present_faults()
        self._note_frameworks()

    def _present_faults(self) -> tuple[str, ...]:
        return (*registry.faults(self._frameworks), *hub.faults)

    def _listeners(self) -> Iterator[Any]:
        """Yield the sinks; the device's times come last, for their work must not enter a stall."""
        checks = self._cross_check, self._driven
        parts = self._recorder, *checks, self._device, self._overlap, self._ranges
        return filter(None, parts)

    def _unlisten(self) -> None:
        for part in self._listeners():
            hub.remove(part)
        hub.remove_marked(self._recorder)

    def _release(self) -> None:
        self._left = registry.release(self._frameworks, self._clock)

    def step(self) -> None:
        """Mark the end of a step in this session alone."""
        self._recorder.mark(None)

    def record(self) -> TraceRecord:
        """What has been recorded: so far while running, else from start to stop."""
        if self._state == "stopped":
            if self._record is None:
                self._record = self._made(self._recorder.take)
            return self._record
        if self._state == "running":
            self._note_frameworks()
        return self._made(self._recorder.read)

    def _made(self, read: Callable[[], Reading]) -> TraceRecord:
        record = reading.to_record(read(), self._root, self._command, dict(self._versions))
        about = identity.identity(self._root, self._devices)
        began = {"started": self._began, "started_ns": self._began_ns}
        models = ", ".join(sorted(self._devices))
        record = replace(
            record,
            extra={**began, **about, **self._peaks, **self._unwatched},
            device=models or record.device,
        )
        for part in (
            self._device,
            self._cross_check,
            self._driven,
            self._overlap,
            self._model,
            self._lines,
            self._ranges,
            self._breaks,
            self._races,
            self._units,
        ):
            record = part.annotate(record) if part is not None else record
        if self._options.depth == "full" and not self._went_deep:
            record = replace(record, notes=(*record.notes, NOT_DEEP_NOTE))
        record = replace(
            record,
            notes=(*record.notes, *(CHANGED_NOTE.format(name) for name in self._left)),
            faults=self._faults if self._state == "stopped" else self._present_faults(),
            exception=self._exception,
        )
        return ranks.seated(record, ranks.seat())

    def sites(self) -> tuple[SiteStats, ...]:
        """The sites of the record as it is now, for which no timeline is made."""
        if self._record is not None or self._state == "stopped":
            return self.record().sites
        return self._made(lambda: self._recorder.read(brief=True)).sites

    def figures(self) -> Figures | None:
        """The figures of the record that `record` would make now; None where only that can tell."""
        adding = self._cross_check, self._driven, self._device
        if self._state == "stopped" or any(part is not None for part in adding):
            return None  # these add to what the recorder knows
        return self._recorder.figures()

    def progress(self, most: int) -> Progress:
        """How it goes, and the sites to look at first: cheap enough to ask a few times a second."""
        rows = self._recorder.steadiest(most)
        figures = self._recorder.figures()
        sites = reading.sites_of(rows, figures.step_count, self._root)
        return Progress(
            figures, sites, self._clock() - self._recorder.started, self._model is not None
        )

    def totals(self) -> Totals:
        """The sums alone: cheap enough to ask every few steps, and locks nobody out."""
        if self._record is not None:
            record = self._record
            return Totals(record.total_syncs, record.cpu_stall_ns, record.step_count)
        return self._recorder.totals()

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.failed(error)
        self.stop()

    def failed(self, error: BaseException | None) -> None:
        """Note the exception, if any, by which the program leaves the block."""
        if error is not None and self._state == "running":
            self._exception = described(error)

    def _note_frameworks(self) -> None:
        grown = memory.growth(self._memory, memory.read())
        if grown is not None:
            self._peaks["peak_memory_growth_bytes"] = grown
        if self._frameworks is not None:
            left_out = registry.imported() - self._frameworks
            self._unwatched = {UNWATCHED: sorted(left_out)} if left_out else {}
        for adapter in registry.adapters():
            name = adapter.framework.name
            if self._frameworks is None or name in self._frameworks:
                self._versions[name] = adapter.version()
                self._devices |= frozenset(adapter.device_names())
                pending = adapter.peak_pending_bytes()
                if pending is not None:
                    self._peaks["peak_pending_bytes"] = pending


def described(error: BaseException) -> str:
    """Return an exception on one line, as the last line of its traceback has it."""
    try:
        lines = traceback.format_exception_only(error)
    except Exception:  # noqa: BLE001  its own `__str__` is the program's code
        lines = []
    return (lines[-1].strip() if lines else type(error).__name__)[:LONGEST]


@overload
def step(name: None = None) -> None: ...


@overload
def step(name: str) -> NamedStep: ...


def step(name: str | None = None) -> NamedStep | None:
    """Mark the end of a step, one iteration of your loop, in every trace that is running.

        for batch in loader:
            predict(batch)
            asyncguard.step()

    Needed only where no optimizer's update marks it: in inference, under plain `jax.jit`. From the
    first call on the updates of optimizers mark no steps, and what they marked before is forgotten.
    Without a running trace it does nothing.

    With a name it marks a unit of work, such as a token or a request, for `limit_syncs(per=name)`
    and for traces, in the task or thread that calls it. Units may lie within each other.

        with asyncguard.step("request"):        # a block; also a decorator
            for token in generate():
                send(token)
                asyncguard.step("token")        # or the end of one, as of a step

    Raises ValueError for a name that is no text, or empty, or "step".
    """
    if name is None:
        hub.mark(None)
        return None
    return NamedStep(units.checked(name), units.mark(name))


class Steps(Generic[T]):
    """Items of a loader, each of whose turns is a step; iterate as often as the loader allows.

    A turn ends where the loop asks for the next item: one that is left by `break` is no whole step.
    """

    def __init__(self, loader: Iterable[T], mark: Callable[[], None], name: str = "") -> None:
        self._loader = loader
        self._mark = mark
        self._name = name  # of the units that turns are instead, if any

    def __iter__(self) -> Iterator[T]:
        for item in self._loader:
            if self._name:
                with NamedStep(self._name):
                    yield item
            else:
                yield item
                self._mark()

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]  # TypeError where it has none


def steps(loader: Iterable[T], name: str | None = None) -> Steps[T]:
    """Iterate over `loader` and mark a step after each item: `for batch in steps(loader)`.

    As with `step()`, these marks replace those of optimizers. With a name each turn is a unit of
    that name instead, as in `with step(name):`.
    """
    return Steps(loader, step, "" if name is None else units.checked(name))
