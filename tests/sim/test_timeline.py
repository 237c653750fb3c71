"""The events of a simulated trace: replay gives back what the virtual clock said."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pytest

import asyncguard
from asyncguard.idle import Wait
from asyncguard.sim import idle
from asyncguard.sim.idle import Idle
from asyncguard.timeline.program import Played, play, recorded
from asyncguard.timeline.virtual import VirtualTimeline
from tests.frameworks import require

torch = require("torch")


KERNEL = 60_000  # cycles of a kernel that takes the device longer than it takes the host


@functools.cache
def train(host: str = "fixed", kernels: int = 20, streams: int = 2) -> asyncguard.Trace:
    """Kernels that keep the device busy, a read of one value and one of a mask in each step."""
    with asyncguard.simulate_cuda(host=host), asyncguard.trace(timeline=100_000) as trace:
        x = torch.ones(64, device="cuda")
        side = torch.cuda.Stream() if streams > 1 else None
        for _ in range(6):
            for _ in range(kernels):
                torch.cuda._sleep(KERNEL)
            with torch.cuda.stream(side):
                z = x + 1
            x.sum().item()
            z[z > 0]
            asyncguard.step()
    return trace


def replayed(trace: asyncguard.Trace) -> Played:
    record = trace.record
    program = recorded(record.timeline, record.step_count - record.steady_steps)
    assert program is not None
    assert program.has_runs
    return play(program)


@pytest.mark.parametrize("host", ["fixed", "measured"])
@pytest.mark.parametrize("kernels", [0, 20])
def test_an_unchanged_replay_takes_what_the_simulation_took(host: str, kernels: int) -> None:
    trace = train(host, kernels)
    played = replayed(trace)
    steady = trace.record.steady_duration_ns
    assert played.host_ns == pytest.approx(steady, rel=0.01)
    waits = Counter(wait.site for wait in played.waits)
    assert waits == {at: site.steady_count for at, site in enumerate(trace.sites)}


def test_replay_blames_the_same_waits_for_the_same_idle_time() -> None:
    trace = train(streams=1)
    idle = Counter[int]()
    for bubble in replayed(trace).bubbles:
        idle[bubble.wait.owner] += bubble.end - bubble.begin
    # Of both the last wait, after which nothing runs, is left out; the first step is the warm-up.
    for at, site in enumerate(trace.sites):
        assert idle[at] == pytest.approx((site.gpu_stall_ns or 0) * 5 / 6, rel=0.05)


def test_each_run_has_the_enqueue_that_led_to_it() -> None:
    timeline = train().record.timeline
    enqueues = {event.serial: event for event in timeline if event.kind == "enqueue"}
    runs = [event for event in timeline if event.kind == "run"]
    assert len(enqueues) == len(runs)
    assert {event.thread for event in runs} == {"cuda:0", "cuda:0 stream 1"}
    for run in runs:
        assert run.begin_ns >= enqueues[run.serial].end_ns
        assert run.name == enqueues[run.serial].name


def test_predictions_are_modelled() -> None:
    trace = train()
    prediction = trace.predict(remove=trace.sites)
    assert prediction.basis == "modelled"
    assert prediction.bottleneck == "device"
    assert prediction.step_ns < prediction.before_ns


def test_a_removed_wait_saves_what_it_is_predicted_to_save() -> None:
    """The prediction from the program with waits, and the program that sums on the device."""

    def step_ns(waits: bool) -> tuple[float, Any]:
        with asyncguard.simulate_cuda(), asyncguard.trace(timeline=100_000) as trace:
            x = torch.ones(64, device="cuda")
            total = torch.zeros((), device="cuda")
            for _ in range(40):
                for _ in range(12):
                    torch.cuda._sleep(KERNEL // 6)
                if waits:
                    x.sum().item()
                else:
                    total += x.sum()
                for _ in range(12):
                    torch.cuda._sleep(KERNEL // 6)
                asyncguard.step()
            torch.cuda.synchronize()
        return trace.steady_duration_ns / trace.steady_steps, trace

    _, before = step_ns(waits=True)
    after, _ = step_ns(waits=False)
    (read,) = (site for site in before.sites if site.steady_count)
    assert before.predict(remove=[read]).step_ns == pytest.approx(after, rel=0.05)


def test_the_whole_call_is_the_wait() -> None:
    """A host that is slow within the call that waits holds up the device, as on a real one."""
    with asyncguard.simulate_cuda() as simulation, asyncguard.trace() as trace:
        x = torch.ones((), device="cuda")
        torch.cuda.synchronize()
        simulation.machine.timeline.advance_host(1_000_000)
        x.item()
    stalls = {site.api: site.gpu_stall_ns for site in trace.sites}
    profile = simulation.machine.profile
    assert stalls["torch.cuda.synchronize"] == 1_000_000 + profile.wait_return_ns
    until_the_copy = profile.launch_latency_ns + profile.operator_host_ns
    assert stalls["torch.Tensor.item"] == until_the_copy + profile.wait_return_ns


def test_a_long_run_without_waits_needs_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "HELD", 64)
    timeline, found = VirtualTimeline(), Idle()
    stream = timeline.default_stream()
    for _ in range(2_000):
        found.ran(timeline.enqueue(stream, 10), timeline.now)
        timeline.advance_host(20)
    assert len(found._sweep) < 128
    began = timeline.now
    timeline.wait_stream(stream, return_ns=5)
    assert found.waited(Wait(began, timeline.now, "site")) == []
    (bubble,) = found.close()
    assert (bubble.wait.owner, bubble.end - bubble.begin) == ("site", 5)
