"""The simulation tries itself out once, and refuses a torch on which it would go wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import asyncguard
from asyncguard.model import AsyncguardError

from ..frameworks import require

torch = require("torch")
selftest = pytest.importorskip("asyncguard.sim.selftest")


def simulation() -> object:
    from asyncguard.sim.simulation import Simulation

    return Simulation("t4", 1, "fixed")


def test_it_passes_here_once_and_leaves_nothing() -> None:
    runs = []

    def faults() -> Iterator[str]:
        runs.append(1)
        yield from selftest.faults()

    before = torch.get_rng_state()
    test = selftest.SelfTest(faults)
    with torch.no_grad():
        test.run(simulation)
        test.run(simulation)
    assert len(runs) == 1
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.cuda.is_initialized()


@pytest.mark.parametrize("kind", ["wrong", "uncounted", "raises"])
def test_what_goes_otherwise_than_on_cuda_is_refused_each_time(kind: str) -> None:
    def faults() -> Iterator[str]:
        if kind == "uncounted":
            return
        yield from selftest.faults()
        if kind == "raises":
            raise AttributeError("torch has changed")
        yield "a result is wrong"

    test = selftest.SelfTest(faults)
    said = {"wrong": "a result is wrong", "uncounted": "waits are counted", "raises": "has changed"}
    for _ in range(2):
        with pytest.raises(AsyncguardError, match=said[kind]) as raised:
            test.run(simulation)
        assert "take a torch from 2.6" in str(raised.value)


def test_a_simulation_begins_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from asyncguard.sim import simulation as module

    failing = selftest.SelfTest(lambda: iter(["of no use"]))
    monkeypatch.setattr(module, "selftest", failing)
    with pytest.raises(AsyncguardError, match="of no use"), asyncguard.simulate_cuda():
        pytest.fail("entered")
    assert torch.ones(1).device.type == "cpu"
