"""The Python face: `asyncguard.trace()` and `asyncguard.load_trace()`.

Composes the parts that must not know each other: a runtime session records, `advise` suggests,
`runtime.store` writes. A `Trace` reads the same whether it is running, finished or loaded.
"""

from __future__ import annotations

import html
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from asyncguard import files, reports, screens
from asyncguard.advise import suggest
from asyncguard.advise.replay import Prediction, predict
from asyncguard.model import AsyncguardError, SiteStats, Suggestion, TraceRecord
from asyncguard.render import Screen
from asyncguard.render import table as render_table
from asyncguard.render.table import SortBy
from asyncguard.runtime import store
from asyncguard.runtime.figures import Figures, Totals
from asyncguard.runtime.options import Depth, DeviceTimes, Options, Ranges
from asyncguard.runtime.schedule import Cycles, Schedule
from asyncguard.runtime.session import Session, Steps

T = TypeVar("T")


class Trace:
    """Sync points of one run: a context manager that records, or a loaded record.

    Counts are of waits, times in nanoseconds. While the block runs, every property shows the
    state so far; afterwards they stay as they were on exit.
    """

    def __init__(
        self, session: Session | Cycles | None = None, record: TraceRecord | None = None
    ) -> None:
        self._session = session
        self._record = record
        self._suggested: tuple[object, tuple[Suggestion, ...]] | None = None  # of what, and what

    def start(self) -> Trace:
        """Begin to record, until `stop`; as `with` does. Raises RuntimeError the second time."""
        if self._session is None or self._record is not None:
            raise RuntimeError(
                "this trace has already been recorded; call asyncguard.trace() again"
            )
        self._session.start()
        return self

    def stop(self) -> Trace:
        """Stop recording; does nothing where it has stopped. Raises RuntimeError before `start`."""
        if self._record is None:
            assert self._session is not None
            if not self._session.has_started:
                raise RuntimeError("this trace has not been started; call start() first")
            try:
                self._session.stop()
            finally:
                self._record = self._session.record()
        return self

    def __enter__(self) -> Trace:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None:
            self._session.failed(error)
        self.stop()

    def __reduce__(self) -> tuple[Callable[[TraceRecord], Trace], tuple[TraceRecord]]:
        """Copied and pickled is what has been recorded, so far where the block still runs."""
        return _recorded, (self.record,)

    @property
    def record(self) -> TraceRecord:
        """The plain data, as it is saved."""
        if self._record is not None:
            return self._record
        assert self._session is not None
        return self._session.record()

    @property
    def _figures(self) -> Figures | TraceRecord:
        """What its figures are read from: while it runs they make no record."""
        running = self._session if self._record is None else None
        return (running and running.figures()) or self.record

    def totals(self) -> Totals:
        """Waits, nanoseconds blocked and steps so far: a snapshot that costs microseconds."""
        if self._session is not None and self._record is None:
            return self._session.totals()
        return Totals(self.total_syncs, self.cpu_stall_ns, self.step_count)

    def step(self) -> None:
        """Mark the end of a step in this trace alone; `asyncguard.step()` marks it in all."""
        if self._session is not None and self._record is None:
            self._session.step()

    def steps(self, loader: Iterable[T]) -> Steps[T]:
        """As `asyncguard.steps`, with the steps marked in this trace alone."""
        return Steps(loader, self.step)

    @property
    def total_syncs(self) -> int:
        """How many times the frontend waited for the backend."""
        return self._figures.total_syncs

    @property
    def step_count(self) -> int:
        """How many steps were marked."""
        return self._figures.step_count

    @property
    def syncs_per_step(self) -> float | None:
        """Sync points a step, the first (warm-up) step left out; None without steps."""
        return self._figures.syncs_per_step

    @property
    def cpu_stall_ns(self) -> int:
        """Host time spent waiting, in nanoseconds."""
        return self._figures.cpu_stall_ns

    @property
    def gpu_stall_ns(self) -> int | None:
        """Device idle time that the waits caused, in nanoseconds; None where not measured."""
        return self._figures.gpu_stall_ns

    @property
    def steady_steps(self) -> int:
        """How many complete steps there were after the warm-up."""
        return self._figures.steady_steps

    @property
    def steady_duration_ns(self) -> int:
        """What those took together, in nanoseconds."""
        return self._figures.steady_duration_ns

    @property
    def sites(self) -> tuple[SiteStats, ...]:
        """One entry for each place that waited, what cost most first."""
        if self._record is None and self._session is not None:
            return self._session.sites()
        return self.record.sites

    @property
    def graph_breaks(self) -> tuple[dict[str, Any], ...]:
        """Where torch.compile broke its graphs, and why, as dynamo tells.

        Each has `path`, `line`, `function`, `source`, `reason`, `explanation`, `effect` ("split":
        compiled in two; "uncompiled": the function is left to Python), and how many compilations
        found it during the trace (`count`) and `before` it.
        """
        return tuple(self.record.extra.get("graph_breaks", ()))

    @property
    def units(self) -> dict[str, dict[str, int]]:
        """The complete units that `asyncguard.step(name)` marked, by name.

        Each has how many there were (`count`) and how often they waited (`waits`), the same of
        those after the warm-up (`steady_count`, `steady_waits`), and the most waits in one of these
        (`most`). Of units that calls mark, those from the first call on.
        """
        found = self.record.extra.get("units", ())
        return {each["name"]: {k: v for k, v in each.items() if k != "name"} for each in found}

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What to batch, move or drop, and at most what that saves."""
        known = self.totals() if self._record is None else None
        if self._suggested is None or self._suggested[0] != known:
            self._suggested = known, suggest(self.record)
        return self._suggested[1]

    def predict(
        self,
        *,
        remove: SiteStats | Iterable[SiteStats] = (),
        batch: Iterable[SiteStats] | Iterable[Iterable[SiteStats]] = (),
        every: tuple[SiteStats, int] | Iterable[tuple[SiteStats, int]] = (),
        wait_each_step: bool | str = False,
    ) -> Prediction:
        """Predict the time of a step if the program waited less often.

            trace.predict(remove=trace.sites[0]).step_ns
            trace.predict(batch=trace.sites[:3], every=(trace.sites[3], 100))

        remove: sites that wait no more, or one of them.
        batch:  groups of sites that one wait a step serves, the last of them; or one group.
        every:  sites with the n of which they wait in one step only; or one such pair.
        wait_each_step: end each step with a wait, as a bound for the queue and its memory: for all
                that was enqueued (True), or for the step's last operation of that name.

        Record with `timeline=100_000`: without the events the order of the waits in a step is not
        known, and the range is wide. Raises AsyncguardError where the trace says nothing of what
        waits cost.
        """
        return predict(
            self.record, remove=remove, batch=batch, every=every, wait_each_step=wait_each_step
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record as JSON; `asyncguard.load_trace` reads it back."""
        store.save(self.record, Path(path))

    def to_text(self, width: int | None = None) -> str:
        """Return the report as text, lines broken at `width` columns; None: at those of stdout."""
        screen = screens.screen(sys.stdout) if width is None else Screen(width, wrapped=True)
        return reports.of_record(self.record, "text", replace(screen, color=False))

    def table(
        self, sort_by: SortBy = "cpu_stall", limit: int | None = 20, width: int | None = None
    ) -> str:
        """Return one line for each site, the largest figure first.

        sort_by: "cpu_stall", "gpu_stall", "max_stall", "count", "per_step" or "place".
        limit:   how many sites; None: all.
        width:   columns of the text; None: those of stdout.

        Raises AsyncguardError for another `sort_by`.
        """
        columns = screens.screen(sys.stdout).width if width is None else width
        return render_table.table(self.record, sort_by, limit, columns)

    def to_pandas(self, sort_by: SortBy = "cpu_stall") -> Any:
        """Return the sites as a `pandas.DataFrame`, a row for each; times are nanoseconds.

        Raises ImportError without pandas, and AsyncguardError for another `sort_by`.
        """
        import pandas as pd

        record = self.record
        sites = render_table.in_order(record, sort_by)
        return pd.DataFrame(render_table.columns(record, sites))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page; raises AsyncguardError without jinja2 (extra `html`)."""
        page = reports.of_record(self.record, "html", screens.plain())
        try:
            files.replace(Path(path), [page.encode()])
        except OSError as error:
            raise AsyncguardError(
                f"{path}: cannot write the page: {error.strerror or error}; name another file"
            ) from error

    def show(self) -> None:
        """Show the report: in a notebook as a page below the cell, else as text on stdout."""
        display = _display()
        if display is not None:
            display(self)
        else:
            screens.write(sys.stdout, self.to_text())

    def _repr_html_(self) -> str:
        """The page in a frame of its own, whose styles and scripts do not meet the notebook's."""
        try:
            page = reports.of_record(self.record, "html", screens.plain())
        except AsyncguardError:  # no jinja2
            return f"<pre>{html.escape(self.to_text())}</pre>"
        return (
            f'<iframe title="asyncguard report" srcdoc="{html.escape(page)}" '
            'sandbox="allow-scripts" '
            'style="width:100%;height:40rem;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        record = self.record
        return f"<asyncguard.Trace: {record.total_syncs} syncs, {record.step_count} steps>"


def _display() -> Callable[[object], None] | None:
    """IPython's `display` where a kernel shows pages; None elsewhere. Imports no IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or getattr(shell, "kernel", None) is None:
        return None
    display: Callable[[object], None] = ipython.display.display
    return display


def _recorded(record: TraceRecord) -> Trace:
    return Trace(record=record)


def trace(
    *,
    frameworks: Iterable[str] | None = None,
    count_cpu: bool | None = None,
    warmup: int = 1,
    timeline: int | bool | None = None,
    depth: Depth = "light",
    device_times: DeviceTimes | None = None,
    cross_check: bool = False,
    driver: bool = False,
    ranges: Ranges | None = None,
    own: Iterable[str] = (),
    races: bool = False,
    schedule: Schedule | None = None,
    on_record: Callable[[Trace], object] | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> Trace:
    """Count and time every sync point of the block, in all threads.

        with asyncguard.trace() as trace:
            train()
        print(trace.total_syncs, trace.syncs_per_step)

    A sync point is a call at which Python waits for the device: `loss.item()`, `print(t)`, `if t:`.

    frameworks: the names to watch; None: all that are or will be imported.
    count_cpu:  torch: whether reads of CPU tensors count; None: only where no accelerator is in
                use, where they stand in for device tensors.
    warmup:     how many steps at the start are kept apart from the per-step figures.
    timeline:   how many of the newest waits and steps to keep one by one; None: none; True:
                100,000.
    depth:      "light": the entry points that Python can call; "full": on torch also the operators
                below them, in the thread that starts the trace alone, and not in functions that
                torch.compile has compiled. An older torch (2.6) runs those uncompiled from then
                on; a RuntimeWarning says so.
    device_times: who measures the GPU stall, the idle time of the CUDA device that each wait
                causes: "cupti" (cupti-python), "profiler" (torch's), or "auto", the first of them
                that can. None: nobody, which costs nothing; a GPU stall is then None.
    cross_check: torch on CUDA: whether to compare with the waits that torch itself reports; those
                that no entry names are shown as api "unattributed".
    driver:     CUDA, with cupti-python: whether to count what the driver sees as well, in all
                threads and in extensions; waits outside of hooks bear the names of CUDA's calls.
                Not beside device_times, cross_check or frameworks.
    ranges:     torch: "record_function" or "nvtx" puts a range round each wait, for other profilers
                to show. None: nothing, which costs nothing.
    own:        installed packages to take for your own code, named as they are imported: waits
                inside are charged to their lines, in every trace that runs meanwhile.
    races:      torch on CUDA: whether to ask, where host memory is used, if the asynchronous copies
                that read or fill it are done, by an event behind each. What is not done is warned
                of (RuntimeWarning), and listed in the trace. A copy that was done by luck is not
                found: that takes `simulate_cuda`, which always looks. Uses are seen in the thread
                that starts the trace. It costs a look at every operator.
    schedule:   `asyncguard.Schedule(wait=100, active=20, repeat=3)`: the steps to record; between
                them nothing is recorded, and `warmup` is the schedule's.
    on_record:  called with the trace of each of its cycles; the trace itself shows the last one.
    clock:      returns nanoseconds.

    Raises AsyncguardError for an unknown framework, depth or choice of device times, for an `own`
    package that is not there, and (when it starts) for a `driver` that cannot be listened to.
    """
    options = Options(
        frameworks=frameworks,
        count_cpu=count_cpu,
        warmup=warmup,
        timeline=timeline,
        depth=depth,
        device_times=device_times,
        cross_check=cross_check,
        driver=driver,
        ranges=ranges,
        own=own,
        races=races,
        clock=clock,
    )
    if schedule is None:
        return Trace(Session(options))
    hand_on = None if on_record is None else lambda record: on_record(Trace(record=record))
    return Trace(Cycles(options, schedule, hand_on))


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a saved trace; raises AsyncguardError if the file is not one."""
    return Trace(record=store.load(Path(path)))
