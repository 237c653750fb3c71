"""Device times without a device: sources that are played, and the charging of what they report."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import catalogue
from asyncguard.model import AsyncguardError
from asyncguard.runtime import device
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.device import DeviceTimes, clocks, kineto
from asyncguard.runtime.device.source import Records, Unavailable
from asyncguard.runtime.device.worker import Worker
from asyncguard.runtime.hub import hub
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.session import Session
from asyncguard.runtime.sites import Blocker, Site
from tests.records import record
from tests.runtime.helpers import Clock

AHEAD = 1_000  # by how much the sources' clocks run ahead


def make_site(device: str = "cuda:0", stand_in: bool = False) -> Site:
    point = catalogue.load().frameworks["torch"].sync[0]
    blocker = Blocker(point, device, stand_in=stand_in)
    return Site(blocker, f"{device}.py", 1, "main", ())


class Played:
    """A source that reports what the test says, in times of the session's clock."""

    name = "played"

    def __init__(self, clock: Clock, reason: str = "") -> None:
        self._clock = clock
        self._reason = reason
        self._records = Records()
        self.full: Callable[[], None] = lambda: None
        self.stopped = False

    def start(self, full: Callable[[], None]) -> None:
        if self._reason:
            raise Unavailable(self._reason)
        self.full = full

    def timestamp(self) -> int:
        return self._clock.now + AHEAD

    def run(self, begin: int, end: int, launched: int | None = None, device: int = 0) -> None:
        call = len(self._records.runs) + 1_000 * begin
        self._records.add_run(device, begin + AHEAD, end + AHEAD, call, "kernel")
        if launched is not None:
            self._records.add_launch(call, launched + AHEAD, launched + 1 + AHEAD)

    def drain(self) -> Records:
        taken, self._records = self._records, Records()
        return taken

    def stop(self) -> None:
        self.stopped = True

    def lost(self) -> int:
        return 0


class AtOnce(Worker):
    """Does the work where it is asked for."""

    def start(self) -> None:
        pass

    def ask(self) -> None:
        self._work()


class Playground:
    def __init__(self, *reasons: str) -> None:
        self.clock = Clock()
        self.recorder = Recorder(self.clock, timeline=100)
        self.sources = [Played(self.clock, reason) for reason in (*reasons, "")]
        self.source = self.sources[-1]
        finders = [lambda source=source: source for source in self.sources]
        self.times = DeviceTimes(self.recorder, finders, self.clock, AtOnce)
        self.recorder.start()
        self.times.start()

    def wait(self, site: Site, begin: int, end: int) -> None:
        self.times.waited(site, begin, end)
        self.recorder.waited(site, begin, end)

    def stop(self) -> dict[Site, int]:
        self.recorder.stop()
        self.times.stop()
        return self.recorder.read().idle


def test_idle_time_reaches_the_site_that_caused_it() -> None:
    play, site = Playground(), make_site()
    play.source.run(10, 20, launched=5)
    play.source.run(40, 50, launched=38)
    play.wait(site, 12, 22)
    assert play.stop() == {site: 20}
    assert play.source.stopped
    idle = [span for span in play.recorder.read().events if span.kind == "idle"]
    assert [(span.thread, span.begin, span.end) for span in idle[:1]] == [("cuda:0", 20, 40)]
    spans = [s for s in play.recorder.read().events if s.kind in ("enqueue", "run")]
    assert [(span.kind, span.begin, span.end) for span in spans] == [
        ("run", 10, 20),
        ("enqueue", 5, 6),
        ("run", 40, 50),
        ("enqueue", 38, 39),
    ]


@pytest.mark.parametrize(("orphans", "noted"), [(1, False), (3, True)])
def test_a_source_that_does_not_say_what_enqueued_the_activities_is_doubted(
    orphans: int, noted: bool
) -> None:
    """The idle time before them is charged to nobody: a figure near 0 is no good news."""
    play = Playground()
    for call in range(20):
        play.source.run(10 * call, 10 * call + 5, launched=None if call < orphans else 10 * call)
    play.wait(make_site(), 2, 12)
    play.stop()
    told = play.times.annotate(record())
    assert told.extra["device_times"]["activities_of_unknown_origin"] == orphans
    notes = [note for note in told.notes if "too small: 3 of 20 device activities" in note]
    assert bool(notes) == noted


def test_a_wait_that_left_no_device_idle_is_zero_not_none() -> None:
    play, site = Playground(), make_site()
    play.source.run(10, 60, launched=5)
    play.wait(site, 12, 22)
    assert play.stop() == {site: 0}


def test_a_device_that_ran_dry_some_microseconds_after_the_wait_ran_dry_within_it() -> None:
    """CUPTI's clock of the device is off by an amount that it does not tell."""
    play, site = Playground(), make_site()
    play.source.run(1_000, 30_000, launched=500)
    play.source.run(60_000, 70_000, launched=58_000)
    play.wait(site, 2_000, 22_000)
    assert play.stop() == {site: 30_000}


def test_a_source_that_saw_no_device_leaves_none_behind_and_a_note() -> None:
    play, site = Playground(), make_site()
    play.wait(site, 12, 22)
    assert play.stop() == {}
    assert play.times.annotate(record()).notes == (
        "GPU stalls were not measured: no device activity was seen.",
    )


def test_waits_for_the_cpu_are_not_charged() -> None:
    play, stand_in, on_cpu = Playground(), make_site("cpu (stand-in)", True), make_site("cpu")
    play.source.run(10, 20, launched=5)
    play.source.run(40, 50, launched=38)
    play.wait(stand_in, 12, 22)
    play.wait(on_cpu, 12, 22)
    assert play.stop() == {}


def test_a_taken_source_is_passed_over_for_the_next() -> None:
    play, site = Playground("CUPTI is taken"), make_site()
    play.source.run(10, 20, launched=5)
    play.wait(site, 12, 22)
    play.stop()
    about = play.times.annotate(record()).extra["device_times"]
    assert (about["source"], about["activities"]) == ("played", 1)


def test_without_any_source_the_note_gives_each_reason() -> None:
    play, site = Playground(), make_site()
    times = DeviceTimes(play.recorder, [_unavailable("no CUPTI"), _unavailable("no torch")])
    times.start()
    times.waited(site, 12, 22)
    times.stop()
    assert play.recorder.read().idle == {}
    assert times.annotate(record()).notes == ("GPU stalls were not measured: no CUPTI; no torch.",)


def _unavailable(reason: str) -> Callable[[], Any]:
    def find() -> Any:
        raise Unavailable(reason)

    return find


def test_a_framework_that_is_imported_later_is_asked_at_its_first_wait() -> None:
    play, site = Playground(), make_site()
    found: list[Played] = []

    def find() -> Played:
        if not found:
            raise Unavailable("not yet")
        return found[0]

    times = DeviceTimes(play.recorder, [find], play.clock)
    times.start()
    found.append(Played(play.clock))
    times.waited(site, 1, 2)  # finds the source; before that nothing was measured
    found[0].run(10, 20, launched=5)
    found[0].run(40, 50, launched=38)
    times.waited(site, 12, 22)
    times.stop()
    assert play.recorder.read().idle == {site: 20}


def test_a_source_that_breaks_down_is_told_and_the_program_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_failed", {})
    play, site = Playground(), make_site()

    def stop() -> None:
        raise RuntimeError("the driver went away")

    monkeypatch.setattr(play.source, "stop", stop)
    play.source.run(10, 20, launched=5)
    play.source.full()
    play.wait(site, 12, 22)
    play.stop()
    assert "device times" in caplog.text
    assert play.times.annotate(record()).notes == (
        "GPU stalls may be incomplete: RuntimeError: the driver went away.",
    )


def test_what_was_measured_counts_although_the_source_cannot_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play, site = Playground(), make_site()
    for name in ("stop", "timestamp"):
        monkeypatch.setattr(play.source, name, _broken)
    play.source.run(10, 20, launched=5)
    play.source.run(40, 50, launched=38)
    play.wait(site, 12, 22)
    assert play.stop() == {site: 20}


def test_a_source_whose_clock_cannot_be_read_is_stopped_and_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    deaf, other = Played(clock), Played(clock)
    monkeypatch.setattr(deaf, "timestamp", _broken)
    times = DeviceTimes(Recorder(clock), [lambda: deaf, lambda: other], clock, AtOnce)
    times.start()
    assert deaf.stopped
    assert times._source is other
    times.stop()


def test_asking_for_work_returns_at_once_and_takes_no_lock() -> None:
    """A source asks within CUPTI, which holds a lock that the work may want."""
    cupti, done, threads = threading.Lock(), threading.Event(), []

    def work() -> None:
        with cupti:
            threads.append(threading.get_ident())
            done.set()

    worker = Worker(work)
    worker.start()
    with cupti:
        worker.ask()
    assert done.wait(60)
    worker.stop()
    assert threads[0] != threading.get_ident()
    worker.ask()
    assert len(threads) == 1


def test_runs_whose_times_are_missing_count_as_lost() -> None:
    play = Playground()
    play.source.run(10, 20, launched=5)
    play.source.run(-AHEAD, -AHEAD, launched=7)  # in flight as CUPTI was told to flush
    play.stop()
    about = play.times.annotate(record()).extra["device_times"]
    assert (about["activities"], about["records_lost"]) == (1, 1)


def _broken() -> Any:
    raise RuntimeError("the driver went away")


def test_what_a_source_waits_for_itself_counts_in_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    source = Played(Clock())
    monkeypatch.setattr(source, "start", lambda full: torch.ones(1).item())
    monkeypatch.setattr(source, "stop", lambda: torch.ones(1).item())
    monkeypatch.setattr("asyncguard.runtime.session.finders", lambda choice: [lambda: source])
    with Session(frameworks=["torch"]) as outer, Session(device_times="auto"):
        pass
    assert outer.record().total_syncs == 0


def test_a_forked_child_leaves_the_parents_source_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Playground()
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    play.stop()
    assert not play.source.stopped


def test_a_session_hands_the_figures_on_to_record_and_timeline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torch's CPU tensors pass for those of a device; what the device did is played."""
    torch = pytest.importorskip("torch")
    from asyncguard.runtime.adapters import torch as adapter

    clock = Clock(tick=1)
    source = Played(clock)
    monkeypatch.setattr(adapter, "STAND_IN", "cuda:0")
    monkeypatch.setattr("asyncguard.runtime.session.finders", lambda choice: [lambda: source])
    monkeypatch.setattr(device, "SKEW", 0)
    value = torch.ones(1)
    options: dict[str, Any] = {"device_times": "auto", "timeline": 100, "clock": clock}
    with Session(frameworks=["torch"], **options) as session:
        begin = clock.now
        value.item()
        end = clock.now
        source.run(begin - 2, end - 1, launched=begin - 3)
        source.run(end + 50, end + 60, launched=end + 40)
        clock.now += 100
    found = session.record()
    (site,) = found.sites
    assert (site.api, site.device, site.gpu_stall_ns) == ("torch.Tensor.item", "cuda:0", 51)
    assert found.extra["device_times"]["source"] == "played"
    idle = next(event for event in found.timeline if event.kind == "idle" and event.thread)
    assert (idle.thread, idle.end_ns - idle.begin_ns, idle.site) == ("cuda:0", 51, 0)
    assert idle.cause is not None
    assert found.timeline[idle.cause].kind == "wait"
    runs = [event for event in found.timeline if event.kind == "run"]
    assert [(event.name, event.thread) for event in runs] == [("kernel", "cuda:0")] * 2


def test_a_launch_that_is_reported_after_its_kernel_still_counts() -> None:
    play, site = Playground(), make_site()
    play.source.run(10, 20, launched=5)
    play.source.run(40, 50)
    play.source.full()
    play.source._records.add_launch(40_001, 38 + AHEAD, 39 + AHEAD)
    play.wait(site, 12, 22)
    assert play.stop() == {site: 20}


def test_a_long_run_is_settled_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "HELD", 40)
    play, site = Playground(), make_site()
    for step in range(1_000):
        now = 100 * step + 10
        play.source.run(now, now + 20, launched=now - 1)
        play.wait(site, now + 5, now + 20)
        play.source.full()
        assert play.times._held() <= 40 + 3
    # 79 from each kernel's end to the next one's enqueueing, 1 until it starts; none after the last
    assert play.stop() == {site: 999 * 80}


@given(st.integers(-(10**6), 10**6), st.integers(-500, 500), st.integers(0, 10**6))
def test_times_lie_on_the_line_through_both_readings(offset: int, drift: int, at: int) -> None:
    first = clocks.Reading(offset, 0, 3)
    last = clocks.Reading(offset + 10**6 + drift, 10**6, 5)
    alignment = clocks.Alignment(first, last)
    assert alignment.error == 5
    assert abs(alignment.ours(at) - (offset + at + drift * at / 10**6)) <= 1


def test_of_several_readings_the_quickest_is_kept() -> None:
    ours = iter([0, 100, 200, 204, *range(300, 1000)])
    reading = clocks.read(lambda: next(ours), lambda: 7)
    assert reading == clocks.Reading(300, 7, 1)


class _Event:
    """As `torch._C._autograd._KinetoEvent`."""

    def __init__(self, name: str, kind: str, begin: int, call: int, on_device: bool) -> None:
        self.name, self.activity_type = lambda: name, lambda: kind
        self.start_ns, self.duration_ns = lambda: begin, lambda: 10
        self.correlation_id, self.device_index = lambda: call, lambda: 0
        self.device_type = lambda: "CUDA" if on_device else "CPU"
        self.is_user_annotation = lambda: kind == "gpu_user_annotation"


EVENTS = [
    _Event("cudaLaunchKernel", "cuda_runtime", 5, 1, on_device=False),
    _Event("void add<float>()", "kernel", 10, 1, on_device=True),
    _Event("Memcpy DtoH", "gpu_memcpy", 30, 2, on_device=True),
    _Event("step", "gpu_user_annotation", 1, 5, on_device=True),
]


def fake_torch(events: list[Any], cuda: bool = True, profiling: bool = False) -> Any:
    results = SimpleNamespace(events=lambda: events)
    profile = SimpleNamespace(
        start=lambda: None, stop=lambda: None, profiler=SimpleNamespace(kineto_results=results)
    )
    return SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda),
        autograd=SimpleNamespace(
            _profiler_enabled=lambda: profiling,
            profiler=SimpleNamespace(_is_profiler_enabled=False),
            DeviceType=SimpleNamespace(CUDA="CUDA"),
        ),
        profiler=SimpleNamespace(
            ProfilerActivity=SimpleNamespace(CUDA="cuda"),
            supported_activities=lambda: {"cuda"},
            profile=lambda **options: profile,
        ),
    )


@pytest.mark.parametrize("tells_type", [True, False], ids=["new torch", "old torch"])
def test_profiler_events_become_runs_and_launches(tells_type: bool) -> None:
    events: list[Any] = EVENTS
    if not tells_type:
        events = [SimpleNamespace(**vars(event)) for event in EVENTS]
        for event in events:
            del event.activity_type
    source = kineto.Kineto(fake_torch(events))
    source.start(lambda: None)
    source.stop()
    records = source.drain()
    assert [(run.begin, run.end, run.correlation) for run in records.runs] == [
        (10, 20, 1),
        (30, 40, 2),
    ]
    assert records.launches == {1: (5, 15)}


def test_a_profiler_of_another_thread_is_not_stopped_and_that_is_said() -> None:
    source = kineto.Kineto(fake_torch(EVENTS))
    thread = threading.Thread(target=lambda: source.start(lambda: None))
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match="only in the thread that started it"):
        source.stop()
    assert source.drain() == Records()


def test_a_profile_in_another_thread_is_seen() -> None:
    torch = pytest.importorskip("torch")
    found: list[bool] = []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        thread = threading.Thread(target=lambda: found.append(private.is_profiling(torch)))
        thread.start()
        thread.join()
    assert found == [True]
    assert not private.is_profiling(torch)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"cuda": False}, "no CUDA device"), ({"profiling": True}, "in use")],
)
def test_the_profiler_stays_away_where_it_cannot_or_must_not_run(
    options: dict[str, bool], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        kineto.Kineto(fake_torch([], **options)).start(lambda: None)


def test_cupti_is_left_to_a_user_who_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", fake_torch([], profiling=True))
    for find in device.finders("auto"):
        with pytest.raises(Unavailable, match="profiler"):
            find().start(lambda: None)


def test_the_profiler_is_no_source_before_torch_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    (find,) = device.finders("profiler")
    with pytest.raises(Unavailable, match="not imported"):
        find()


def test_what_the_profiler_source_calls_exists_in_torch() -> None:
    torch = pytest.importorskip("torch")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        assert torch.autograd._profiler_enabled()
        torch.ones(3).sum()
    source = kineto.Kineto(torch)
    for event in profile.profiler.kineto_results.events():
        source._take(event)
    assert source.drain().launches  # on the CPU each event counts as one that enqueued nothing


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(AsyncguardError, match="unknown device_times 'nvml'"):
        Session(device_times="nvml")


def test_a_session_says_why_it_has_no_device_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "finders", lambda choice: [_unavailable("nothing here")])
    monkeypatch.setattr("asyncguard.runtime.session.finders", device.finders)
    with Session(device_times="auto") as session:
        pass
    assert session.record().notes == ("GPU stalls were not measured: nothing here.",)
    assert session.record().gpu_stall_ns is None
