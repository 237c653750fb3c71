"""The cross-check, with torch's callbacks fired by hand: nothing here needs a device."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.model import TraceRecord
from asyncguard.runtime import store
from asyncguard.runtime.crosscheck import REGISTRIES, CrossCheck, _user
from asyncguard.runtime.frames import charged
from asyncguard.runtime.hub import state
from asyncguard.runtime.recorder import Recorder
from asyncguard.runtime.session import Session
from asyncguard.runtime.sites import Blocker, Site, ranks
from tests import warm
from tests.records import record
from tests.runtime.helpers import Clock, counts


def _site() -> Site:
    blocker = Blocker(catalogue.load()["torch.Tensor.item"], "cuda:0", stand_in=False)
    return Site(blocker, __file__, 1, "main", ())


class Registry:
    """As `torch._utils.CallbackRegistry`."""

    def __init__(self) -> None:
        self.callback_list: list[Any] = []

    def fire_callbacks(self, *args: int) -> None:
        for callback in self.callback_list:
            callback(*args)


class Torch:
    """The part of torch that is used, in torch's place."""

    def __init__(self) -> None:
        self.activated = 0
        self._C = SimpleNamespace(_activate_gpu_trace=self._activate)
        self.trace = SimpleNamespace(**{name: Registry() for name in REGISTRIES})

    def _activate(self) -> None:
        self.activated += 1

    def fire(self, *args: int, named: bool = False, name: str = REGISTRIES[0]) -> None:
        state.doing.waiting = named
        try:
            getattr(self.trace, name).fire_callbacks(*args)
        finally:
            state.doing.waiting = False


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Torch]:
    fake = Torch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setitem(sys.modules, "torch.cuda._gpu_trace", fake.trace)
    yield fake
    assert all(not getattr(fake.trace, name).callback_list for name in REGISTRIES)


def check(torch: Torch) -> tuple[CrossCheck, Recorder]:
    clock = Clock()
    recorder = Recorder(clock)
    recorder.start()
    made = CrossCheck(recorder, clock)
    made.start()
    return made, recorder


def test_a_wait_inside_a_named_sync_point_agrees(torch: Torch) -> None:
    made, recorder = check(torch)
    made.begin()
    torch.fire(7, named=True)
    made.end(_site(), None)
    made.stop()
    assert recorder.read().cells == ()
    assert made.annotate(record()).extra["cross_check"] == {"attributed": 1, "unattributed": 0}


def test_a_wait_inside_a_call_that_proved_to_be_none_is_unattributed(torch: Torch) -> None:
    """Told at the thread's next call that may wait, or at the end."""
    made, recorder = check(torch)
    for _ in range(2):
        made.begin()
        torch.fire(7, named=True)
    made.stop()
    ((site, _, cell),) = recorder.read().cells
    assert (site.blocker.point.id, site.path, cell.count) == ("unattributed", __file__, 2)
    assert made.annotate(record()).extra["cross_check"] == {"attributed": 0, "unattributed": 2}


def test_a_wait_of_asyncguards_own_is_neither(torch: Torch) -> None:
    made, recorder = check(torch)
    torch.fire(7, named=True)
    made.stop()
    assert recorder.read().cells == ()
    assert made.annotate(record()).extra["cross_check"] == {"attributed": 0, "unattributed": 0}


@pytest.mark.parametrize(
    ("call", "agreement"),
    [
        (lambda x: x.item(), {"attributed": 1, "unattributed": 0}),
        (lambda x: x.to("cpu"), {"attributed": 1, "unattributed": 0}),
        (lambda x: x.to(x.dtype), {"attributed": 0, "unattributed": 1}),
    ],
    ids=["item", "to cpu", "to dtype"],
)
def test_what_fires_within_a_hook_agrees_only_if_the_hook_counts(
    call: Any, agreement: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tensor that passes for one of a device, and waits whatever is done to it."""
    torch = pytest.importorskip("torch")
    import torch.cuda._gpu_trace as trace

    from asyncguard.runtime.adapters import torch as adapter

    class Waits(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), kw: Any = None
        ) -> Any:
            result = super().__torch_function__(function, types, args, kw or {})
            if getattr(function, "__name__", "") in ("item", "to"):
                trace.StreamSynchronizationCallbacks.fire_callbacks(0)
                to_host = args[1:] == ("cpu",)
                result = torch.ones(1).as_subclass(torch.Tensor) if to_host else result
            return result

    monkeypatch.setattr(
        adapter.Adapter,
        "_of_other",
        lambda self, value: "cuda:0" if isinstance(value, Waits) else None,
    )
    value = torch.ones(1).as_subclass(Waits)
    with Session(frameworks=["torch"], cross_check=True) as session:
        call(value)
    assert session.record().extra["cross_check"] == agreement


@pytest.mark.parametrize(("name", "args"), [*zip(REGISTRIES, [(7,), (8,), ()], strict=True)])
def test_a_wait_that_nobody_names_is_reported_with_its_line_and_stack(
    torch: Torch, name: str, args: tuple[int, ...]
) -> None:
    made, recorder = check(torch)
    torch.fire(*args, name=name)
    made.stop()
    ((site, _, cell),) = recorder.read().cells
    assert (site.blocker.point.id, cell.count, cell.stall) == ("unattributed", 1, 0)
    assert site.path == __file__
    assert "fire" in site.function or "fire" in site.callers[0]
    checked = made.annotate(record())
    assert checked.extra["cross_check"] == {"attributed": 0, "unattributed": 1}
    assert "how long is not known" in checked.notes[0]


def test_nothing_is_heard_after_the_end(torch: Torch) -> None:
    made, recorder = check(torch)
    made.stop()
    torch.fire(7)
    assert recorder.read().cells == ()
    assert torch.activated == 1


def test_a_thread_without_python_of_its_own_works_for_the_main_thread() -> None:
    outermost: Any = SimpleNamespace(f_back=None)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(charged(_user(outermost), ranks)))
    thread.start()
    thread.join()
    assert found[0].f_code is sys._getframe().f_code


def test_without_torch_the_record_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    finders = list(sys.meta_path)
    made = CrossCheck(Recorder(Clock()), Clock())
    made.start()
    made.stop()
    checked = made.annotate(record())
    assert checked.notes == ("No cross-check: torch was not imported.",)
    assert "cross_check" not in checked.extra
    assert sys.meta_path == finders


def test_a_torch_without_a_gpu_trace_is_told_of_and_goes_on(
    torch: Torch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch.trace, REGISTRIES[-1])
    made, _ = check(torch)
    made.stop()
    assert "this torch has no GPU trace" in made.annotate(record()).notes[0]
    setattr(torch.trace, REGISTRIES[-1], Registry())


def test_a_script_that_imports_torch_itself_is_checked(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from torch.cuda import _gpu_trace\n"
        "_gpu_trace.StreamSynchronizationCallbacks.fire_callbacks(0)\n"
    )
    command = [*warm.python(), "-m", "asyncguard", "run", "--cross-check", "-q", "script.py"]
    root = Path(__file__).parents[2]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": str(root)})
    found = store.load(tmp_path / "asyncguard-trace.json")
    assert [(site.line, site.api) for site in found.sites] == [(3, "unattributed")]


def test_torchs_own_registries_are_used_and_left_as_they_were() -> None:
    pytest.importorskip("torch")
    import torch.cuda._gpu_trace as trace

    before = [list(getattr(trace, name).callback_list) for name in REGISTRIES]
    session = Session(frameworks=["torch"], cross_check=True)
    with session:
        trace.StreamSynchronizationCallbacks.fire_callbacks(0)
        trace.DeviceSynchronizationCallbacks.fire_callbacks()
    found: TraceRecord = session.record()
    assert counts(found) == {"unattributed": 2}
    assert {site.path for site in found.sites} == {"tests/runtime/test_crosscheck.py"}
    assert [list(getattr(trace, name).callback_list) for name in REGISTRIES] == before
