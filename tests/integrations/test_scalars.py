"""Scalars written while the program runs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import asyncguard
from asyncguard.integrations.recording import STALL, SYNCS
from asyncguard.integrations.scalars import ScalarExport
from asyncguard.runtime.hub import hub
from tests.frameworks import require


class Writer:
    """As TensorBoard's SummaryWriter."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, int]] = []

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.rows.append((name, value, step))


def train(steps: int, reads: int) -> None:
    torch = require("torch")
    value = torch.ones(1)
    for _ in range(steps):
        for _ in range(reads):
            value.item()
        asyncguard.step()


def test_a_writer_gets_sync_points_and_stall_a_step() -> None:
    writer = Writer()
    with asyncguard.trace() as trace, ScalarExport(trace, writer, every=4):
        train(8, reads=2)
    assert [row for row in writer.rows if row[0] == SYNCS] == [(SYNCS, 2.0, 4), (SYNCS, 2.0, 8)]
    assert [name for name, value, _ in writer.rows if value > 0] == [SYNCS, STALL] * 2


def test_a_function_gets_a_dictionary_and_what_is_left_at_the_end() -> None:
    rows: list[tuple[float, int]] = []

    def log(figures: dict[str, float], step: int) -> None:
        rows.append((figures[SYNCS], step))

    with asyncguard.trace() as trace, ScalarExport(trace, log, every=3):
        train(3, reads=1)
        train(1, reads=5)
    assert rows == [(1.0, 3), (5.0, 4)]


def test_steps_are_those_that_the_trace_counts() -> None:
    """Two optimizers that take turns end one step together."""
    torch = require("torch")
    optimizers = [torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1) for _ in range(2)]
    steps: list[int] = []
    with (
        asyncguard.trace() as trace,
        ScalarExport(trace, lambda figures, step: steps.append(step), every=2),
    ):
        for _ in range(4):
            for optimizer in optimizers:
                optimizer.step()
    assert steps == [2, 4]


def test_a_target_that_fails_is_logged_once_and_the_training_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_failed", {})

    def log(figures: dict[str, float], step: int) -> None:
        raise OSError("disk full")

    with (
        caplog.at_level(logging.ERROR, "asyncguard"),
        asyncguard.trace() as trace,
        ScalarExport(trace, log, every=1),
    ):
        for _ in range(3):
            asyncguard.step()
    assert trace.step_count == 3
    assert len(caplog.records) == 1


def test_afterwards_nobody_listens() -> None:
    rows: list[Any] = []
    with asyncguard.trace() as trace:
        with ScalarExport(trace, lambda figures, step: rows.append(step), every=1):
            asyncguard.step()
        asyncguard.step()
    assert rows == [1]


def test_a_wrong_target_or_interval_is_refused() -> None:
    trace = asyncguard.trace()
    with pytest.raises(TypeError, match="add_scalar"):
        ScalarExport(trace, "runs/1")
    with pytest.raises(ValueError, match="every must be 1 or more"):
        ScalarExport(trace, print, every=0)
