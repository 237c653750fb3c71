"""A limit raises before data moves: what the arguments tell of a move is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import asyncguard
from asyncguard.runtime.faults import SyncLimitExceeded
from tests.frameworks import require
from tests.sim.rows import wrong

torch = require("torch")


@pytest.fixture(scope="module")
def simulation() -> Iterator[Any]:
    with asyncguard.simulate_cuda(devices=2) as simulation:
        yield simulation


def assign(target: Any, value: Any) -> None:
    target[:] = value


MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "to cpu": lambda host, x: x.to("cpu"),
    "to cpu by keyword": lambda host, x: x.to(device="cpu"),
    "to where another is": lambda host, x: x.to(host),
    "to cpu, a copy in any case": lambda host, x: x.to("cpu", copy=True),
    "to cuda, a copy by position": lambda host, x: host.to("cuda", torch.float16, False, True),
    "to cuda": lambda host, x: host.to("cuda"),
    "to cuda with an index": lambda host, x: host.to(torch.device("cuda", 1)),
    "cuda": lambda host, x: host.cuda(),
    "cuda with an index": lambda host, x: host.cuda(1),
    "type_as": lambda host, x: host.type_as(x),
    "copy_ to host": lambda host, x: host.copy_(x),
    "copy_ to device": lambda host, x: x.copy_(host),
    "written to the device": lambda host, x: assign(x, host),
    "written to the host": lambda host, x: assign(host, x),
}


def test_a_forbidden_move_moves_nothing(simulation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stays(name: str) -> None:
        host, x = torch.zeros(3), torch.ones(3, device="cuda")
        enqueued: list[str] = []
        with monkeypatch.context() as patch:
            patch.setattr(simulation.machine, "enqueue", lambda _, what, *__: enqueued.append(what))
            with pytest.raises(SyncLimitExceeded), asyncguard.forbid_syncs():
                MOVES[name](host, x)
        assert enqueued == []
        assert host.tolist() == [0, 0, 0]

    assert not wrong(MOVES, stays)


@pytest.mark.usefixtures("simulation")
def test_moves_that_are_none_pass_and_a_permitted_one_counts_once() -> None:
    host, x = torch.zeros(3), torch.ones(3, device="cuda")
    with asyncguard.forbid_syncs():
        host.to("cpu")
        host.to(torch.float64)
        x.to(torch.float64)
        x.to(torch.float64, copy=True)
        x.to(torch.float64, False, True)
        x.to(x)
        x.to("cuda")
        x.cuda()
        host.copy_(torch.ones(3))
        torch.zeros(0).to("cuda")
    with asyncguard.trace() as trace, asyncguard.limit_syncs(1):
        x.to("cpu")
    assert trace.total_syncs == 1
