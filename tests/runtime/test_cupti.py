"""CUPTI on a bench: NVIDIA's own record classes and enumerations, and calls that are played.

cupti-python installs without a GPU; its calls need one, so each is replaced here, and each fails in
turn. What a driver does with the real ones is asked by `benchmarks/cuda_check.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asyncguard.runtime import device
from asyncguard.runtime.device import DeviceTimes, cupti, subscription
from asyncguard.runtime.device.source import Records, Unavailable
from asyncguard.runtime.hub import hub
from asyncguard.runtime.recorder import Recorder
from tests.records import record
from tests.runtime.helpers import Clock
from tests.runtime.test_device import AtOnce, make_site

real = pytest.importorskip("cupti.cupti", reason="cupti-python is not installed")
KIND = real.ActivityKind
TAKEN = 39  # ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
FAILS = 999  # ERROR_UNKNOWN
CALLS = (
    "activity_flush_all", "activity_disable", "activity_enable_runtime_api",
    "activity_enable_driver_api", "activity_get_num_dropped_records", "enable_callback",
    "unsubscribe", "finalize", "get_timestamp", "cuDriverGetVersion", "cuCtxSynchronize",
)  # fmt: skip


class Bench:
    """`cupti.cupti` and the driver, whose calls are noted; `failing` are those that fail."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.failing: dict[str, int] = {}
        self.did: list[str] = []
        self.kinds: set[int] = set()
        self.silent: set[str] = set()
        self.calls_back = True
        self.subscribed = self.attached = False

    def __getattr__(self, name: str) -> Any:
        if name in ("ActivityKind", "ActivityMemcpyKind", "ApiCallbackSite", "CallbackDomain"):
            return getattr(real, name)
        if name.lower().endswith("_api_trace_cbid") or name == "cuptiError":
            return getattr(real, name)
        raise AttributeError(name)

    def _did(self, name: str) -> None:
        self.did.append(name)
        if name in self.failing:
            raise real.cuptiError(self.failing[name])

    def subscribe(self, callback: Any, userdata: Any) -> int:
        self._did("subscribe")
        self._callback = callback
        self.subscribed = self.attached = True
        return 7

    def unsubscribe(self, subscriber: int) -> None:
        assert subscriber == 7
        self._did("unsubscribe")
        self.subscribed = False

    def finalize(self) -> None:
        self._did("finalize")
        self.attached = False

    def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
        self._did("activity_register_callbacks")
        self.requested, self.completed = requested, completed

    def activity_enable(self, kind: Any) -> None:
        self._did("activity_enable")
        self.kinds.add(int(kind))

    def activity_disable(self, kind: Any) -> None:
        self._did("activity_disable")
        self.kinds.discard(int(kind))

    def activity_enable_runtime_api(self, call: Any, enable: int) -> None:
        self._enable("activity_enable_runtime_api", call, enable)

    def activity_enable_driver_api(self, call: Any, enable: int) -> None:
        if call.name == "cuEventQuery":
            raise real.cuptiError(1)  # a call that this driver lacks
        self._enable("activity_enable_driver_api", call, enable)

    def _enable(self, name: str, call: Any, enable: int) -> None:
        if enable:
            self._did(name)
        (self.silent.discard if enable else self.silent.add)(call.name)

    def records(self, kind: Any, call: str) -> bool:
        """Whether calls are recorded: as CUDA 13.0 does it, never without their kind."""
        return int(kind) in self.kinds and call not in self.silent

    def activity_flush_all(self, flag: int) -> None:
        self._did("activity_flush_all")

    def activity_get_num_dropped_records(self, context: int, stream: int, dropped: int) -> None:
        self._did("activity_get_num_dropped_records")

    def enable_callback(self, enable: int, subscriber: int, domain: Any, call: Any) -> None:
        self._did("enable_callback")
        self.watched = int(domain), call.name

    def cuDriverGetVersion(self) -> tuple[int, int]:
        self._did("cuDriverGetVersion")
        if self.calls_back and self.watched == (1, "cuDriverGetVersion"):
            for place in (real.ApiCallbackSite.API_ENTER, real.ApiCallbackSite.API_EXIT):
                self._callback(None, 1, 2, SimpleNamespace(callback_site=int(place)))
        return 0, 13_040

    def cuCtxSynchronize(self) -> tuple[int]:
        self._did("cuCtxSynchronize")
        return (0,)

    def get_timestamp(self) -> int:
        self._did("get_timestamp")
        return self.clock.now


def started(bench: Bench, full: Callable[[], None] = lambda: None) -> cupti.Cupti:
    source = cupti.Cupti(bench, bench)
    source.start(full)
    return source


def filled(kind: Any, record: str, /, **fields: Any) -> Any:
    """A record of the newest class of this name that cupti-python has."""
    versions = [found for found in dir(real) if found.rstrip("0123456789") == record]
    newest = max(versions, key=lambda found: int(found.removeprefix(record) or 0))
    made = getattr(real, newest)()
    for field, value in {"kind": int(kind), **fields}.items():
        setattr(made, field, value)
    return made


def kernel(begin: int, end: int, call: int, name: str = "add") -> Any:
    fields = {"start": begin, "end": end, "correlation_id": call, "device_id": 1, "name": name}
    return filled(KIND.CONCURRENT_KERNEL, "ActivityKernel", **fields)


def launch(kind: Any, begin: int, end: int, call: int) -> Any:
    return filled(kind, "ActivityAPI", start=begin, end=end, correlation_id=call)


def test_records_become_runs_and_launches() -> None:
    bench = Bench()
    source = started(bench)
    at = {"device_id": 0, "correlation_id": 9}
    bench.completed(
        [
            kernel(10, 20, 1, "void add<float>()"),
            kernel(0, 0, 2),  # in flight
            filled(KIND.MEMCPY, "ActivityMemcpy", start=30, end=31, copy_kind=2, **at),
            filled(KIND.MEMCPY2, "ActivityMemcpyPtoP", start=32, end=33, copy_kind=10, **at),
            filled(KIND.MEMSET, "ActivityMemset", start=34, end=35, **at),
            launch(KIND.RUNTIME, 5, 9, 1),
            launch(KIND.DRIVER, 6, 8, 1),  # within it
            filled(KIND.OVERHEAD, "ActivityOverhead"),
        ]
    )
    records = source.drain()
    assert [tuple(run) for run in records.runs] == [
        (1, 10, 20, 1, "void add<float>()"),
        (0, 30, 31, 9, "Memcpy DTOH"),
        (0, 32, 33, 9, "Memcpy PTOP"),
        (0, 34, 35, 9, "Memset"),
    ]
    assert records.launches == {1: (5, 9)}
    assert records.unfinished == 1
    assert source.drain() == Records()


def test_only_calls_that_enqueue_are_recorded() -> None:
    bench = Bench()
    source = started(bench)
    of_the_device = (KIND.CONCURRENT_KERNEL, KIND.MEMCPY, KIND.MEMCPY2, KIND.MEMSET)
    assert bench.kinds == {*map(int, of_the_device), int(KIND.RUNTIME), int(KIND.DRIVER)}
    calls = {
        KIND.RUNTIME: subscription.enumeration(real, subscription.RUNTIME_CALLS),
        KIND.DRIVER: subscription.enumeration(real, subscription.DRIVER_CALLS),
    }
    recorded = {c.name for kind in calls for c in calls[kind] if bench.records(kind, c.name)}
    launches = {"cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000", "cuLaunchKernel", "cuMemcpy"}
    assert launches <= recorded
    recorded.discard("cuEventQuery")  # this driver lacks it
    idle = ("GetDevice", "EventQuery", "StreamIsCapturing", "GetLastError", "Synchronize")
    assert not [name for name in recorded if any(word in name for word in idle)]
    size, limit = bench.requested()
    assert (1 << 20 <= size <= 10 << 20, limit) == (True, 0)
    source.stop()
    assert not bench.kinds
    assert not bench.silent  # whoever subscribes next finds CUPTI as it was


@pytest.mark.parametrize("calls_back", [True, False])
def test_what_is_in_flight_is_waited_for_and_cupti_left_once(calls_back: bool) -> None:
    bench = Bench()
    bench.calls_back = calls_back
    source = started(bench)
    bench.did.clear()
    source.stop()
    assert list(dict.fromkeys(bench.did)) == [
        "cuCtxSynchronize",
        "activity_flush_all",
        "activity_enable_driver_api",
        "activity_enable_runtime_api",
        "activity_disable",
        "activity_get_num_dropped_records",
        "enable_callback",
        "cuDriverGetVersion",
        "unsubscribe",
        "finalize",
    ]
    assert (bench.did.count("unsubscribe"), bench.did.count("finalize")) == (1, 1)


def test_a_taken_cupti_is_left_alone() -> None:
    bench = Bench()
    bench.failing["subscribe"] = TAKEN
    with pytest.raises(Unavailable, match=r"taken by another profiler.*MULTIPLE_SUBSCRIBERS"):
        started(bench)
    assert bench.did == ["subscribe"]


@pytest.mark.parametrize("call", ["activity_enable", "activity_register_callbacks"])
def test_a_cupti_that_cannot_collect_is_left(call: str) -> None:
    bench = Bench()
    bench.failing[call] = FAILS
    with pytest.raises(Unavailable, match="does not collect here"):
        started(bench)
    assert not bench.attached
    assert not bench.subscribed


def test_runs_and_launches_alike_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that only launches, or whose kernels are not delivered, must not pile up."""
    monkeypatch.setattr(cupti, "PORTION", 2)
    bench, calls = Bench(), list[int]()
    source = started(bench, lambda: calls.append(len(source.drain())))
    bench.completed([launch(KIND.RUNTIME, 1, 2, 1)])
    assert calls == []
    bench.completed([launch(KIND.RUNTIME, 3, 4, 2)])
    assert calls == [2]


def test_a_record_of_an_unknown_shape_is_no_exception_in_cuptis_thread() -> None:
    bench = Bench()
    source = started(bench)
    bench.completed([kernel(10, 20, 1), SimpleNamespace(kind=int(KIND.MEMSET))])
    assert len(source.drain().runs) == 1
    with pytest.raises(AttributeError):
        source.stop()
    assert not bench.attached


# ---- each call failing in turn, under the charging of idle times


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_failed", {})


@pytest.mark.parametrize("call", CALLS)
def test_a_failure_at_the_end_costs_no_figure_and_leaves_cupti(call: str, quiet: None) -> None:
    bench, site = Bench(), make_site("cuda:1")
    recorder = Recorder(bench.clock)
    times = DeviceTimes(recorder, [lambda: cupti.Cupti(bench, bench)], bench.clock, AtOnce)
    recorder.start()
    times.start()
    bench.clock.now = 100  # both clocks
    bench.completed(
        [
            kernel(10, 20, 1),
            kernel(40, 50, 2),
            launch(KIND.RUNTIME, 5, 6, 1),
            launch(KIND.RUNTIME, 38, 39, 2),
        ]
    )
    for listener in (times, recorder):
        listener.waited(site, 12, 22)
    bench.failing[call] = FAILS
    bench.did.clear()
    recorder.stop()
    times.stop()
    assert recorder.read().idle == {site: 20}
    assert bench.did.count("finalize") == 1
    assert bench.attached == (call == "finalize")
    assert bench.subscribed == (call == "unsubscribe")
    told = times.annotate(record())
    assert told.extra["device_times"]["source"] == "cupti"
    (note,) = told.notes
    assert note.startswith("GPU stalls may be incomplete: cuptiError: ")


@pytest.mark.parametrize("call", ["get_timestamp", "activity_enable", "subscribe"])
def test_a_failure_at_the_start_leaves_cupti_and_the_program_goes_on(
    call: str, quiet: None
) -> None:
    bench = Bench()
    bench.failing[call] = FAILS
    times = DeviceTimes(
        Recorder(bench.clock), [lambda: cupti.Cupti(bench, bench)], bench.clock, AtOnce
    )
    times.start()
    assert not bench.attached
    assert not bench.subscribed
    times.stop()
    (note,) = times.annotate(record()).notes
    assert note.startswith("GPU stalls were not measured: ")


def test_a_session_that_nobody_stops_leaves_cupti_at_exit() -> None:
    code = (
        "from tests.runtime.test_cupti import Bench\n"
        "from asyncguard.runtime.device import cupti\n"
        "from asyncguard.runtime import session\n"
        "import atexit\n"
        "bench = Bench()\n"
        "atexit.register(lambda: print(bench.did[-1], bench.attached))\n"
        "session.finders = lambda choice: [lambda: cupti.Cupti(bench, bench)]\n"
        "session.Session(frameworks=[], device_times='cupti').start()\n"
    )
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "finalize False"


# ---- the real module


def test_the_real_module_has_what_is_called() -> None:
    names = [name for name in dir(Bench) if name.startswith(("activity_", "get_", "enable_"))]
    for name in (*names, "subscribe", "unsubscribe", "finalize"):
        assert callable(getattr(real, name))
    driver = pytest.importorskip("cuda.bindings.driver")
    assert callable(driver.cuDriverGetVersion)
    assert callable(driver.cuCtxSynchronize)


def test_without_a_driver_cupti_is_unavailable() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("shows what happens without a GPU")
    (find,) = device.finders("cupti")
    with pytest.raises(Unavailable, match="not usable here"):
        find().start(lambda: None)


def test_without_cupti_python_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupti.cupti", None)
    with pytest.raises(Unavailable, match="install the cupti-python of the CUDA version"):
        cupti.find()
