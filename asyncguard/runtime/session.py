"""A session: the time during which waits are recorded, and the record of it.

Sessions may be nested and may overlap in several threads; each counts for itself. A session
hooks every thread of the process.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Generic, TypeVar

from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import identity, memory, ranks, reading
from asyncguard.runtime.adapter import Adapter, Undo
from asyncguard.runtime.crosscheck import CrossCheck
from asyncguard.runtime.device import DeviceTimes, finders
from asyncguard.runtime.hub import hub
from asyncguard.runtime.lines import Lines
from asyncguard.runtime.overlap import Overlap
from asyncguard.runtime.ranges import Ranges
from asyncguard.runtime.recorder import Reading, Recorder, Totals
from asyncguard.runtime.registry import homes, registry
from asyncguard.runtime.simulated import present

DEPTHS = ("light", "full")
NOT_DEEP_NOTE = (
    "Full depth saw nothing below Python: torch was not imported in the thread that started the"
    " trace."
)
CHANGED_NOTE = "{} was changed by the program during the trace and has been left as it is."
T = TypeVar("T")


class Session:
    """Records every sync point between `start` and `stop`, in all threads.

    frameworks: the names to watch; None: all that are or will be imported.
    count_cpu:  whether reads of CPU tensors count on torch; None: only while no accelerator is in
                use, where they stand in for device tensors.
    warmup:     how many steps are kept apart from the per-step figures.
    clock:      returns nanoseconds; within `simulate_cuda` the default is its virtual clock.
    timeline:   how many of the newest waits and steps to keep one by one; None: none.
    depth:      "light": the entry points that Python can call; "full": also the operators that
                torch runs below Python, in the thread that starts the session.
    command:    what is being run, for the record.
    device_times: who measures the idle time of the device that each wait causes: "cupti",
                "profiler" (torch's), or "auto", the first of them that can. None: nobody does.
    cross_check: whether to compare with the waits that torch itself reports on CUDA.
    ranges:     "record_function" or "nvtx": ranges round the waits, for other profilers.
    lines:      whether to record which lines of the user's own files run.
    """

    def __init__(
        self,
        frameworks: Iterable[str] | None = None,
        count_cpu: bool | None = None,
        warmup: int = 1,
        clock: Callable[[], int] = time.perf_counter_ns,
        timeline: int | None = None,
        depth: str = "light",
        command: str = "",
        device_times: str | None = None,
        cross_check: bool = False,
        lines: bool = False,
        ranges: str | None = None,
    ) -> None:
        if depth not in DEPTHS:
            raise AsyncguardError(f"unknown depth {depth!r}; one of {', '.join(DEPTHS)}")
        _check_number("warmup", warmup)
        _check_number("timeline", timeline or 0)
        _check_clock(clock)
        self._frameworks = _known(frameworks)
        self._model = present.model
        if self._model is not None and clock is time.perf_counter_ns:
            clock = self._model.now
        self._recorder = Recorder(
            clock,
            warmup=warmup,
            frameworks=self._frameworks,
            stand_ins=count_cpu,
            in_use=registry.accelerator_in_use,
            timeline=timeline,
        )
        self._device = (
            DeviceTimes(self._recorder, finders(device_times), clock) if device_times else None
        )
        self._overlap = Overlap(self._recorder, warmup) if timeline else None
        self._ranges = Ranges(ranges) if ranges else None
        self._cross_check = CrossCheck(self._recorder, clock) if cross_check else None
        self._clock = clock
        self._command = command
        self._root = os.getcwd()
        self._lines = Lines(self._root) if lines else None
        self._versions: dict[str, str] = {}
        self._began = identity.now()
        self._began_ns = 0  # Unix's clock, as the recorder's began
        self._devices: frozenset[str] = frozenset()
        self._memory: memory.Resident | None = None
        self._peaks: dict[str, int] = {}
        self._depth = depth
        self._thread = 0
        self._surface: list[Undo] = []
        self._went_deep = False
        self._left: tuple[str, ...] = ()  # attributes that somebody else has changed meanwhile
        self._state = "new"
        self._record: TraceRecord | None = None  # once it has stopped

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
        self._memory = memory.read()
        registry.acquire(self._frameworks, self._clock)
        hub.add_marked(self._recorder)
        if self._device is not None:
            self._device.start()
        self._began_ns = time.time_ns()
        self._recorder.start()
        if self._cross_check is not None:
            self._cross_check.start()
        hub.add(self._recorder)
        if self._cross_check is not None:
            hub.add(self._cross_check)
        if self._device is not None:  # behind the recorder, whose stalls its work must not enter
            hub.add(self._device)
        if self._overlap is not None:
            hub.add(self._overlap)
        if self._ranges is not None:
            hub.add(self._ranges)
        if self._depth == "full":
            self._thread = threading.get_ident()
            self._surface.append(registry.each(self._deepen))
        if self._lines is not None:
            self._lines.start()
            self._surface.append(self._lines.stop)

    def _deepen(self, adapter: Adapter) -> None:
        """Go below Python where the adapter can, now or once its framework is imported."""
        # What is done to a thread has to be undone there.
        undo = adapter.deepen() if threading.get_ident() == self._thread else None
        if undo is not None:
            self._surface.append(undo)
            self._went_deep = True

    def stop(self) -> None:
        """Stop recording and put back what was hooked, unless another session needs it."""
        if self._state != "running":
            return
        self._state = "stopped"
        while self._surface:
            self._surface.pop()()
        if self._cross_check is not None:
            hub.remove(self._cross_check)
            self._cross_check.stop()
        try:
            if self._model is not None:
                self._model.settle()
            self._recorder.stop()
            self._note_frameworks()
        finally:
            self._unhook()

    def _unhook(self) -> None:
        # This may settle what the last wait cost.
        self._left = registry.release(self._frameworks, self._clock)
        hub.remove(self._recorder)
        hub.remove_marked(self._recorder)
        if self._overlap is not None:
            hub.remove(self._overlap)
        if self._ranges is not None:
            hub.remove(self._ranges)
        if self._device is not None:  # no hook is left that would count what this waits for
            hub.remove(self._device)
            self._device.stop()

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
        record = replace(record, extra={**began, **about, **self._peaks})
        for part in (
            self._device,
            self._cross_check,
            self._overlap,
            self._model,
            self._lines,
            self._ranges,
        ):
            record = part.annotate(record) if part is not None else record
        if self._depth == "full" and not self._went_deep:
            record = replace(record, notes=(*record.notes, NOT_DEEP_NOTE))
        notes = tuple(CHANGED_NOTE.format(name) for name in self._left)
        return ranks.seated(replace(record, notes=(*record.notes, *notes)), ranks.seat())

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
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _note_frameworks(self) -> None:
        grown = memory.growth(self._memory, memory.read())
        if grown is not None:
            self._peaks["peak_memory_growth_bytes"] = grown
        for adapter in registry.adapters():
            name = adapter.framework.name
            if self._frameworks is None or name in self._frameworks:
                self._versions[name] = adapter.version()
                self._devices |= frozenset(adapter.device_names())
                pending = adapter.peak_pending_bytes()
                if pending is not None:
                    self._peaks["peak_pending_bytes"] = pending


def step() -> None:
    """Mark the end of a step, one iteration of your loop, in every trace that is running.

        for batch in loader:
            predict(batch)
            asyncguard.step()

    Needed only where no optimizer's update marks it: in inference, under plain `jax.jit`. From the
    first call on the updates of optimizers mark no steps, and what they marked before is forgotten.
    Without a running trace it does nothing.
    """
    hub.mark(None)


class Steps(Generic[T]):
    """Items of a loader, each of whose turns is a step; iterate as often as the loader allows.

    A turn ends where the loop asks for the next item: one that is left by `break` is no whole step.
    """

    def __init__(self, loader: Iterable[T], mark: Callable[[], None]) -> None:
        self._loader = loader
        self._mark = mark

    def __iter__(self) -> Iterator[T]:
        for item in self._loader:
            yield item
            self._mark()

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]  # TypeError where it has none


def steps(loader: Iterable[T]) -> Steps[T]:
    """Iterate over `loader` and mark a step after each item: `for batch in steps(loader)`.

    As with `step()`, these marks replace those of optimizers.
    """
    return Steps(loader, step)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise AsyncguardError(f"{name} must be a whole number from 0 up, not {value!r}")


def _check_clock(clock: Callable[[], int]) -> None:
    """Ask it once, here: within the program that is traced it would be too late to object."""
    if not callable(clock):
        raise AsyncguardError(f"clock must be a function, not {clock!r}")
    try:
        now: object = clock()
    except Exception as error:
        raise AsyncguardError(f"clock must return nanoseconds, but raised {error!r}") from error
    if isinstance(now, bool) or not isinstance(now, int):
        raise AsyncguardError(f"clock must return nanoseconds as an int, not {now!r}")


def _known(frameworks: Iterable[str] | None) -> frozenset[str] | None:
    if frameworks is None:
        return None
    try:
        names = frozenset([frameworks] if isinstance(frameworks, str) else frameworks)
    except TypeError:
        raise AsyncguardError(f"frameworks must be names, not {frameworks!r}") from None
    if unknown := names - set(homes()):
        raise AsyncguardError(
            f"unknown framework {min(unknown, key=str)!r}; one of {', '.join(sorted(homes()))}"
        )
    return names
