"""Every call that waits for CUDA waits as often on the simulated device, and no other call does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require
from tests.runtime.cuda_rows import is_told
from tests.sim.rows import wrong

torch = require("torch")
waits = importlib.import_module("tests.sim.waits")


@pytest.fixture(scope="module")
def simulated() -> Iterator[None]:
    with asyncguard.simulate_cuda():
        yield


def trace_of(call: Callable[[Any], Any], device: str) -> asyncguard.Trace:
    given = waits.given(device)
    with asyncguard.trace() as trace:
        call(given)
    return trace


def test_what_waits_and_what_does_not(simulated: None) -> None:
    def waits_as_often(name: str) -> None:
        call, count, kind = waits.WAITS[name]
        trace = trace_of(call, "cuda")
        assert trace.total_syncs == count
        assert {site.kind for site in trace.sites} == {kind}
        assert {site.device for site in trace.sites} == {"cuda:0 (simulated)"}
        assert all(site.path.endswith("waits.py") for site in trace.sites)
        assert all(site.cpu_stall_ns > 0 for site in trace.sites)
        calls = trace.record.extra["simulated"]["cuda_calls"]
        assert set(calls) == {site.api for site in trace.sites}

    def waits_not(name: str) -> None:
        assert trace_of(waits.WAITS_NOT[name], "cuda").sites == ()

    assert not wrong(waits.WAITS, waits_as_often)
    assert not wrong(waits.WAITS_NOT, waits_not)


def seen_by_torch(call: Callable[[Any], Any]) -> int:
    """How many synchronisations torch reports of a real device."""
    from torch.cuda import _gpu_trace

    seen: list[str] = []
    given = waits.given("cuda")
    torch._C._activate_gpu_trace()
    _gpu_trace.register_callback_for_stream_synchronization(lambda _: seen.append("stream"))
    _gpu_trace.register_callback_for_event_synchronization(lambda _: seen.append("event"))
    _gpu_trace.register_callback_for_device_synchronization(lambda: seen.append("device"))
    try:
        call(given)
    finally:
        for kind in ("Stream", "Event", "Device"):
            getattr(_gpu_trace, f"{kind}SynchronizationCallbacks").callback_list.clear()
    return len(seen)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_real_device_waits_as_often() -> None:
    def waits_as_often(name: str) -> None:
        call, count, _ = waits.WAITS[name]
        expected = 0 if name in waits.HIDDEN else count
        assert is_told(seen_by_torch(call), expected, name in waits.LEAST)

    def waits_not(name: str) -> None:
        assert seen_by_torch(waits.WAITS_NOT[name]) == 0

    assert not wrong(waits.WAITS, waits_as_often)
    assert not wrong(waits.WAITS_NOT, waits_not)
