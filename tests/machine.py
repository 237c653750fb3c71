"""A machine in virtual time that writes down what a trace of it would hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from asyncguard.model import TimelineEvent, TraceRecord
from asyncguard.timeline.program import Program, recorded
from asyncguard.timeline.virtual import Run, VirtualTimeline
from tests.records import record, site


@dataclass
class Machine:
    """Runs programs in virtual time and writes down what a trace would."""

    latency: int = 0
    events: list[TimelineEvent] = field(default_factory=list)
    step: int = 0

    def __post_init__(self) -> None:
        self.timeline = VirtualTimeline(launch_latency_ns=self.latency)
        self.runs: list[Run] = []
        self._began = 0

    def work(self, ns: int) -> None:
        self.timeline.advance_host(ns)

    def enqueue(
        self, ns: int, host_ns: int = 0, nbytes: int = 0, worker: str = "worker", name: str = ""
    ) -> None:
        begin, serial = self.timeline.now, len(self.runs)
        run = self.timeline.enqueue(self.timeline.default_stream(), ns, nbytes=nbytes)
        self.runs.append(run)
        self.timeline.advance_host(host_ns)
        self._add("enqueue", begin, self.timeline.now, name=name, serial=serial, nbytes=nbytes)
        self._add("run", run.begin_ns, run.end_ns, thread=worker, serial=serial)

    def wait(self, site: int = 0, return_ns: int = 0, back: int = 1) -> None:
        begin = self.timeline.now
        self.timeline.wait_until(self.runs[-back].end_ns, site, return_ns=return_ns)
        self._add("wait", begin, self.timeline.now, thread="main", site=site)

    def boundary(self) -> None:
        now = self.timeline.now
        self._add("step", self._began, now, name=f"step {self.step}")
        self._began, self.step = now, self.step + 1

    def _add(self, kind: str, begin: int, end: int, **more: object) -> None:
        self.events.append(TimelineEvent(kind, str(more.pop("name", "")), begin, end, **more))  # type: ignore[arg-type]

    def ordered(self) -> tuple[TimelineEvent, ...]:
        return tuple(sorted(self.events, key=lambda event: event.begin_ns))

    def recorded(self, first_step: int = 0) -> Program:
        program = recorded(self.ordered(), first_step)
        assert program is not None
        return program

    def record(self, runs: bool = True, sites: int = 1, timeline: bool = True) -> TraceRecord:
        """The trace of what was done so far, of which the first step was the warm-up."""
        kinds = {"step", "wait", "enqueue", "run"} if runs else {"step", "wait"}
        events = tuple(event for event in self.ordered() if event.kind in kinds)
        steps = [event for event in events if event.kind == "step"]
        warm = steps[0].end_ns
        waits = [event for event in events if event.kind == "wait" and event.begin_ns >= warm]
        return record(
            *(
                site(
                    line=10 + number,
                    framework="engine",
                    api="engine.ndarray.item",
                    device="cpu",
                    count=sum(wait.site == number for wait in waits),
                    steady_count=sum(wait.site == number for wait in waits),
                    steady_stall_ns=sum(
                        wait.end_ns - wait.begin_ns for wait in waits if wait.site == number
                    ),
                )
                for number in range(sites)
            ),
            step_count=len(steps),
            steady_steps=len(steps) - 1,
            steady_duration_ns=steps[-1].end_ns - warm,
            duration_ns=self.timeline.now,
            timeline=events if timeline else (),
        )
