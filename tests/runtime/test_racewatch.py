"""Races on a real device, with devices and events that are played: no GPU has run this yet."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import asyncguard
from asyncguard.runtime.adapters.torch import Adapter, racewatch
from asyncguard.runtime.hub import hub
from asyncguard.runtime.races import Race
from tests.frameworks import require

torch = require("torch")


class OnDevice(torch.Tensor):  # type: ignore[misc, name-defined]
    """A tensor that passes for one on cuda:0."""

    is_cpu = property(lambda self: False)
    device = property(lambda self: torch.device("cuda:0"))
    __torch_function__ = torch._C._disabled_torch_function_impl


class Event:
    """An event that is reached when it is told to be."""

    def __init__(self) -> None:
        self.is_done = False
        self.asked = 0

    def query(self) -> bool:
        self.asked += 1
        return self.is_done


class Device:
    """Records an event behind each copy."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.stream = 0

    def record(self, device: Any) -> tuple[object, Event]:
        assert device == torch.device("cuda:0")
        self.events.append(Event())
        return self.stream, self.events[-1]

    def finish(self) -> None:
        for event in self.events:
            event.is_done = True


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def found(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Race]]:
    races: list[Race] = []
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: self.is_cpu and self.dim() == 1)
    watch = racewatch.RaceWatch(races.append, device.record)
    watch.start()
    yield races
    watch.stop()
    assert not hub.faults


def on_device() -> Any:
    return torch.ones(1 << 15).as_subclass(OnDevice)


USES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an operator": (lambda h: h.sum(), "read"),
    "a part": (lambda h: h[7].item(), "read"),
    "tolist": (lambda h: h.tolist(), "read"),
    "numpy": (lambda h: h.numpy(), "read"),
    "in place": (lambda h: h.add_(1), "written"),
    "out": (lambda h: torch.add(torch.ones(1 << 15), 1, out=h), "written"),
    "copy on the host": (lambda h: h.copy_(torch.ones(1 << 15)), "written"),
}


@pytest.mark.parametrize("name", USES)
def test_host_memory_that_a_copy_still_fills(name: str, device: Device, found: list[Race]) -> None:
    use, told = USES[name]
    held = torch.empty(1 << 15)
    held.copy_(on_device(), non_blocking=True)
    use(held)
    assert {(race.code, race.use) for race in found} == {("ASG404", told)}
    assert found[0].used_at.path == __file__
    found.clear()
    device.finish()
    use(held)
    assert not found


def test_a_staging_buffer_that_a_copy_still_reads(device: Device, found: list[Race]) -> None:
    staging, target = torch.ones(1 << 15), on_device()
    target.copy_(staging, True)
    staging.sum()
    assert not found
    staging.zero_()
    assert [(race.code, race.use) for race in found] == [("ASG405", "written")]


def test_what_holds_the_host_is_no_copy_in_flight(device: Device, found: list[Race]) -> None:
    target = on_device()
    target.copy_(torch.ones(1 << 15))  # not told not to block
    target.view(1, -1).copy_(
        torch.ones(1, 1 << 15), non_blocking=True
    )  # pageable, of two dimensions here
    torch.empty(1 << 15).copy_(torch.ones(1 << 15), non_blocking=True)  # on the host
    assert not device.events


def test_another_thread_copies_and_this_one_reads(device: Device, found: list[Race]) -> None:
    import threading

    held = torch.empty(1 << 15)
    thread = threading.Thread(target=lambda: held.copy_(on_device(), non_blocking=True))
    thread.start()
    thread.join()
    held.sum()
    assert len(found) == 1


def test_events_are_forgotten_once_they_are_reached(device: Device, found: list[Race]) -> None:
    target = on_device()
    for _ in range(2 * racewatch._MOST_EVENTS):
        target.copy_(torch.ones(1 << 15), non_blocking=True)
        device.finish()
    order = racewatch.EventOrder()
    for _ in range(2 * racewatch._MOST_EVENTS):
        order.next.event = Event()
        order.next.event.is_done = True
        order.enqueue(0)
    assert len(order._events) <= racewatch._MOST_EVENTS
    gc.collect()


def test_what_fails_in_the_watch_is_a_fault_and_the_program_goes_on(
    device: Device, monkeypatch: pytest.MonkeyPatch, found: list[Race]
) -> None:
    def fail(device: Any) -> Any:
        raise ValueError("no stream")

    monkeypatch.setattr(device, "record", fail)
    watch = racewatch.RaceWatch(found.append, device.record)
    with asyncguard.trace() as trace:
        watch.start()
        held = torch.empty(1 << 15).copy_(on_device(), non_blocking=True)
        watch.stop()
        assert held.sum() > 0
    assert any("races of copies" in fault for fault in trace.record.faults)


def test_a_trace_lists_them(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: self.is_cpu)
    own = racewatch.RaceWatch

    def played(self: Any, tell: Any) -> Any:
        watch = own(tell, device.record)
        watch.start()
        return watch.races, watch.stop

    monkeypatch.setattr(Adapter, "watch_races", played)
    with asyncguard.trace(races=True) as trace, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        held = torch.empty(1 << 15)
        held.copy_(on_device(), non_blocking=True)
        held.sum()
    assert ["ASG404" in str(each.message) for each in caught] == [True]
    (race,) = trace.record.extra["races"]
    assert (race["code"], race["use"], race["count"]) == ("ASG404", "read", 1)
    assert "ASG404: host memory is read at" in trace.to_text()
    with asyncguard.trace(races=True) as trace:
        held.clone()
    assert "races" not in trace.record.extra
