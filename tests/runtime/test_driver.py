"""What the driver saw, with CUPTI's callbacks played: NVIDIA's enumerations, no device."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.cli import main
from asyncguard.model import AsyncguardError, SyncKind
from asyncguard.runtime import session as sessions
from asyncguard.runtime import store
from asyncguard.runtime.device.calls import DriverCalls
from asyncguard.runtime.device.source import Unavailable
from asyncguard.runtime.driven import Driven
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.options import Options
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.session import Session
from asyncguard.runtime.sites import Blocker, Site
from tests.records import record
from tests.runtime.helpers import Clock, counts

real = pytest.importorskip("cupti.cupti", reason="cupti-python is not installed")
RUNTIME, DRIVER = int(real.CallbackDomain.RUNTIME_API), int(real.CallbackDomain.DRIVER_API)
FAILS = 999  # ERROR_UNKNOWN


class Bench:
    """CUPTI and the driver's bindings, played: `call` makes a call of CUDA's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.watched: set[tuple[int, str]] = set()
        self.failing: set[str] = set()
        self.attached = False
        self.finalised = 0

    def __getattr__(self, name: str) -> Any:
        if name in ("ApiCallbackSite", "CallbackDomain", "cuptiError"):
            return getattr(real, name)
        if name.lower().endswith("_api_trace_cbid"):
            return getattr(real, name)
        raise AttributeError(name)

    def _may_fail(self, name: str) -> None:
        if name in self.failing:
            raise real.cuptiError(FAILS)

    def subscribe(self, callback: Any, userdata: Any) -> int:
        self._may_fail("subscribe")
        self._callback, self.attached = callback, True
        return 7

    def enable_callback(self, enable: int, subscriber: int, domain: Any, call: Any) -> None:
        if call.name == "cuStreamSynchronize_ptsz":
            raise real.cuptiError(1)  # one that this driver lacks
        self.watched.add((int(domain), call.name))

    def unsubscribe(self, subscriber: int) -> None:
        self._may_fail("unsubscribe")
        self.attached = False

    def finalize(self) -> None:
        self.finalised += 1

    def cuDriverGetVersion(self) -> tuple[int, int]:
        self.call("cuDriverGetVersion", 0)
        return 0, 13_040

    def call(self, name: str, takes: int, *within: tuple[str, int]) -> None:
        """Call CUDA, which calls more of it; each takes so long beside what it calls."""
        domain = RUNTIME if name.startswith("cuda") else DRIVER
        names = "Runtime_api_trace_cbid" if domain == RUNTIME else "Driver_api_trace_cbid"
        number = int(getattr(getattr(real, names), name))
        told = self.attached and (domain, name) in self.watched
        sites = real.ApiCallbackSite
        if told:
            data = SimpleNamespace(callback_site=int(sites.API_ENTER))
            self._callback(None, domain, number, data)
        self.clock.now += takes
        for inner, time in within:
            self.call(inner, time)
        if told:
            data = SimpleNamespace(callback_site=int(sites.API_EXIT))
            self._callback(None, domain, number, data)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(clock: Clock) -> Bench:
    return Bench(clock)


def driven(bench: Bench) -> tuple[Driven, Recorder]:
    recorder = Recorder(bench.clock)
    recorder.start()
    made = Driven(recorder, bench.clock, lambda *args: DriverCalls(*args, lambda: (bench, bench)))
    made.start()
    return made, recorder


def figures(recorder: Recorder) -> list[tuple[str, SyncKind, int, int]]:
    return sorted(
        (s.blocker.point.id, s.blocker.point.kind, c.count, c.stall)
        for s, _, c in recorder.read().cells
    )


def test_waits_outside_of_hooks_count_with_their_time_and_line(bench: Bench) -> None:
    made, recorder = driven(bench)
    bench.call("cudaStreamSynchronize_v3020", 30, ("cuStreamSynchronize", 12))
    bench.call("cudaMemcpy_v3020", 7)
    bench.call("cuMemcpyHtoD_v2", 5)
    bench.call("cudaMemcpyAsync_v3020", 99)
    bench.call("cuMemcpyDtoD_v2", 99)
    bench.call("cudaLaunchKernel_v7000", 99)
    made.stop()
    assert figures(recorder) == [
        ("cuMemcpyHtoD", SyncKind.UPLOAD, 1, 5), ("cudaMemcpy", SyncKind.ARRAY, 1, 7),
        ("cudaStreamSynchronize", SyncKind.BARRIER, 1, 42),
    ]  # fmt: skip
    found = {(site.path, site.function) for site, _, _ in recorder.read().cells}
    assert found == {(__file__, "Bench.call")}  # where Python calls CUPTI's callback here
    told = made.annotate(record())
    assert told.extra["driver"] == {"by_hooks": 0, "outside": 3}


def test_what_hooks_see_is_told_apart_and_not_counted_twice(bench: Bench) -> None:
    made, recorder = driven(bench)
    blocker = Blocker(catalogue.load()["torch.Tensor.item"], "cuda:0", stand_in=False)
    site = Site(blocker, __file__, 1, "main", ())
    state.doing.waiting = True
    try:
        for charged in (True, False):
            began = made.begin()
            bench.call("cudaStreamSynchronize_v3020", 10)
            made.end(site, began) if charged else made.cancel(began)
    finally:
        state.doing.waiting = False
    made.stop()
    assert figures(recorder) == [("cudaStreamSynchronize", SyncKind.BARRIER, 1, 10)]
    (note,) = made.annotate(record()).notes
    assert note.startswith("Seen by the driver: 2 waits, 1 of them by hooks and 1 outside")


def test_waits_of_other_threads_count(bench: Bench) -> None:
    made, recorder = driven(bench)
    thread = threading.Thread(
        target=bench.call, args=("cudaDeviceSynchronize_v3020", 20), name="loader"
    )
    thread.start()
    thread.join()
    made.stop()
    ((_, name, cell),) = recorder.read().cells
    assert (name, cell.stall) == ("loader", 20)


def test_a_thread_without_python_is_charged_to_the_main_threads_line(bench: Bench) -> None:
    made, recorder = driven(bench)
    made._waited("cudaStreamSynchronize", None, 1, 9)
    made.stop()
    ((site, _, cell),) = recorder.read().cells
    assert (site.path, cell.stall) == (__file__, 8)


def test_a_call_that_began_before_is_left_out(bench: Bench) -> None:
    made, recorder = driven(bench)
    number = int(real.Runtime_api_trace_cbid.cudaDeviceSynchronize_v3020)
    over = SimpleNamespace(callback_site=int(real.ApiCallbackSite.API_EXIT))
    bench._callback(None, RUNTIME, number, over)
    made.stop()
    assert figures(recorder) == []


def test_cupti_is_left_once_also_where_leaving_fails(bench: Bench, monkeypatch: Any) -> None:
    monkeypatch.setattr(hub, "_failed", {})
    made, _ = driven(bench)
    bench.failing.add("unsubscribe")
    made.stop()
    made.stop()
    assert bench.finalised == 1
    assert list(hub._failed) == ["CUPTI's callbacks"]


def test_a_session_counts_what_the_driver_saw(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make = lambda *args: DriverCalls(*args, lambda: (bench, bench))  # noqa: E731
    monkeypatch.setattr(sessions, "Driven", lambda *args: Driven(*args, make))
    with Session(driver=True, clock=clock) as session:
        bench.call("cudaDeviceSynchronize_v3020", 25)
    found = session.record()
    assert counts(found) == {"cudaDeviceSynchronize": 1}
    assert found.cpu_stall_ns == 25
    assert found.extra["driver"] == {"by_hooks": 0, "outside": 1}
    assert not bench.attached
    store.save(found, tmp_path / "t.json")
    assert store.load(tmp_path / "t.json").extra["driver"] == found.extra["driver"]


def test_without_the_option_cupti_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "Driven", lambda *_: pytest.fail("was made"))
    with Session() as session:
        pass
    assert "driver" not in session.record().extra


@pytest.mark.parametrize("reason", ["missing", "taken"])
def test_without_cupti_or_a_device_the_error_says_what_to_do(reason: str, bench: Bench) -> None:
    def find() -> tuple[Any, Any]:
        if reason == "missing":
            raise Unavailable("cupti-python cannot be imported; install it")
        return bench, bench

    bench.failing.add("subscribe")
    calls = DriverCalls(bench.clock, lambda *_: None, find)
    with pytest.raises(AsyncguardError, match="needs an NVIDIA GPU, its driver and cupti-python"):
        calls.start()
    calls.stop()


@pytest.mark.parametrize(
    "other", [{"device_times": "auto"}, {"cross_check": True}, {"frameworks": ["torch"]}]
)
def test_options_that_exclude_each_other_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(AsyncguardError, match=f"driver and {next(iter(other))} exclude"):
        Options(driver=True, **other)


def test_run_without_a_device_ends_before_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("shows what happens without a GPU")
    script = tmp_path / "a.py"
    script.write_text("print('ran')\n")
    assert main(["run", "--driver", "-o", str(tmp_path / "t.json"), str(script)]) == 2
    told = capsys.readouterr()
    assert "ran" not in told.out
    assert told.err.count("\n") == 1
    assert "leave it out to count what hooks see" in told.err
    assert not hub.generation


# ---- on a real GPU: none has confirmed it yet


@pytest.mark.gpu
def test_a_gpu_tells_of_waits_below_python() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    x = torch.ones(8, device="cuda", requires_grad=True)
    torch.cuda.synchronize()
    with Session(driver=True) as session:
        (x * 2).sum().item()  # a hook sees it
        torch._C._cuda_synchronize()  # none does
        mask = x > 0
        x[mask].sum().backward()  # waits in a thread of torch's own
    found = session.record()
    assert found.extra["driver"]["by_hooks"] >= 1
    assert counts(found)["cudaDeviceSynchronize"] == 1
    assert found.extra["driver"]["outside"] >= 2
