"""What composite calls wait: the reads inside them, by a clock that is set around those alone."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")
grad_scaler = pytest.importorskip("torch.amp.grad_scaler")
nn = torch.nn

STEPS = 4
Setup = tuple[Any, Any, Any]  # model, optimizer, scaler


def setup(kind: str = "AdamW", layers: int = 12) -> Setup:
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(layers))).cuda()
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1e-3)
    return model, optimizer, torch.amp.GradScaler(init_scale=8.0)


def loss_of(model: Any) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return model(torch.ones(4, 8, device="cuda")).float().square().mean()


def many_parameters() -> None:
    model, optimizer, scaler = setup(layers=60)
    for _ in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        scaler.step(optimizer)
        scaler.update()


def clipped() -> None:
    model, optimizer, scaler = setup("SGD")
    for _ in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(loss_of(model)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def two_optimizers() -> None:
    one, first, scaler = setup("Adam")
    other, second, _ = setup("RMSprop")
    for _ in range(STEPS):
        scaler.scale(loss_of(one) + loss_of(other)).backward()
        for optimizer in (first, second):
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()


def accumulated() -> None:
    model, optimizer, scaler = setup("Adagrad")
    for _ in range(STEPS):
        for _ in range(3):
            scaler.scale(loss_of(model) / 3).backward()
        scaler.step(optimizer)
        optimizer.zero_grad()
        scaler.update()


def skipping() -> None:
    """Gradients that are infinite: the optimizer is not called."""
    model, optimizer, scaler = setup()
    for step in range(STEPS):
        scaler.scale(loss_of(model) * (float("inf") if step % 2 else 1.0)).backward()
        scaler.step(optimizer)
        optimizer.zero_grad()
        scaler.update()


@pytest.fixture(scope="module")
def simulation() -> Iterator[Any]:
    with asyncguard.simulate_cuda() as simulation:
        yield simulation


@pytest.mark.parametrize(
    "program", [many_parameters, clipped, two_optimizers, accumulated, skipping]
)
def test_a_scalers_step_has_waited_as_long_as_its_reads(
    program: Callable[[], None], simulation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[int] = []

    def timed_sum(values: Iterable[Any]) -> Any:  # `_maybe_opt_step` adds up what it reads
        began = simulation.now()
        total = builtins.sum(values)
        spent.append(simulation.now() - began)
        return total

    monkeypatch.setattr(grad_scaler, "sum", timed_sum, raising=False)
    with asyncguard.trace() as trace:
        program()
    (site,) = (site for site in trace.sites if site.api == "torch.amp.GradScaler.step")
    assert site.kind.value == "composite"
    assert site.count == len(spent)
    assert site.cpu_stall_ns == pytest.approx(sum(spent), rel=0.1)
    assert site.inclusive_ns is not None
    assert site.inclusive_ns > site.cpu_stall_ns


@pytest.mark.parametrize("zipped", [True, False])
def test_a_checkpoint_on_a_slow_disk_waits_for_the_device_alone(
    zipped: bool, simulation: Any
) -> None:
    class SlowDisk(io.BytesIO):
        def write(self, data: Any) -> int:
            simulation.machine.timeline.advance_host(1_000_000)
            return super().write(data)

    model, _, _ = setup(layers=2)
    with asyncguard.trace(timeline=1000) as trace:
        for parameter in model.parameters():
            parameter.untyped_storage().cpu()
        torch.save(model.state_dict(), SlowDisk(), _use_new_zipfile_serialization=zipped)
    by_api = {site.api: site for site in trace.sites}
    save, copies = by_api["torch.save"], by_api["torch.UntypedStorage.tolist"]
    assert (save.kind.value, save.count) == ("composite", 1)
    assert save.inclusive_ns is not None
    if zipped:  # in the old format one call copies and writes
        assert save.cpu_stall_ns == pytest.approx(copies.cpu_stall_ns, rel=0.1)
        assert save.inclusive_ns > 1_000_000
    assert 0 < save.cpu_stall_ns < save.inclusive_ns
    (wait,) = (e for e in trace.record.timeline if e.kind == "wait" and e.name == "torch.save")
    assert wait.end_ns - wait.begin_ns == save.cpu_stall_ns
