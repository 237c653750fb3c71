"""How busy a backend was beside the host, from clocks of ours."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from asyncguard import catalogue
from asyncguard.runtime.overlap import Overlap, Sample
from asyncguard.runtime.sites import Blocker, Site
from tests.records import record


@dataclass
class Machine:
    """A host and a backend: each takes CPU time as the test says."""

    now: int = 0
    others: int = 0
    step: int = 0
    overlap: Overlap = field(init=False)

    def __post_init__(self) -> None:
        self.overlap = Overlap(self, warmup=1, clocks=lambda: Sample(self.now, self.others))

    def spend(self, ns: int, cores: float) -> None:
        self.now += ns
        self.others += int(ns * cores)

    def wait(self, ns: int, cores: float, device: str = "cpu(0)") -> None:
        point = catalogue.load()["mxnet.NDArray.asnumpy"]
        site = Site(Blocker(point, device, stand_in=False), "a.py", 1, "", ())
        began = self.overlap.begin()
        self.spend(ns, cores)
        self.overlap.end(site, began)


def trained(share: float, cores: float = 1.0, device: str = "cpu(0)") -> Machine:
    """Steps: 100 ns of work beside a backend that is busy for a share of it, 50 of waiting."""
    machine = Machine()
    for _ in range(5):
        machine.spend(100, share * cores)
        machine.wait(50, cores, device)
        machine.step += 1
    return machine


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cores", [0.5, 1.0, 4.0])
def test_the_share_does_not_hang_on_how_many_cores_the_backend_gets(
    share: float, cores: float
) -> None:
    assert trained(share, cores).overlap.share == pytest.approx(share, abs=0.03)


def test_the_warm_up_does_not_count() -> None:
    machine = Machine()
    machine.spend(1_000_000, 8)
    machine.wait(10, 0)
    machine.step += 1
    for _ in range(3):
        machine.wait(50, 1)
        machine.spend(100, 0)
    assert machine.overlap.share == pytest.approx(0)


@pytest.mark.parametrize("device", ["cuda:0", "GPU:0"])
def test_the_cpu_time_of_a_process_says_nothing_of_an_accelerator(device: str) -> None:
    assert trained(0.5, device=device).overlap.share is None


def test_without_waits_that_last_the_share_is_not_known() -> None:
    machine = Machine(step=1)
    for _ in range(5):
        machine.spend(1_000, 1)
        machine.wait(1, 1)
    assert machine.overlap.share is None
    assert machine.overlap.annotate(record()).extra == {}


def test_the_record_tells_the_share() -> None:
    extra = trained(0.5).overlap.annotate(record(extra={"rank": 0})).extra
    assert extra["rank"] == 0
    assert extra["backend_overlap"] == pytest.approx(0.5, abs=0.03)
