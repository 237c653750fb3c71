"""How busy a backend was beside the host, from clocks of ours."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from dataclasses import dataclass, field

import pytest

from asyncguard import catalogue
from asyncguard.runtime import overlap
from asyncguard.runtime.overlap import Clocks, Overlap, Sample
from asyncguard.runtime.sites import Blocker, Site
from tests.records import record, site

MS = 1_000_000
POINT = catalogue.load()["mxnet.NDArray.asnumpy"]


@dataclass
class Machine:
    """A host and a backend: each takes CPU time as the test says."""

    now: int = 0
    others: int = 0
    step: int = 0
    overlap: Overlap = field(init=False)

    def __post_init__(self) -> None:
        self.overlap = Overlap(self, warmup=1, clocks=lambda step: Sample(self.now, self.others))

    def spend(self, ns: int, cores: float) -> None:
        self.now += ns
        self.others += int(ns * cores)

    def wait(self, ns: int, cores: float, device: str = "cpu(0)", line: int = 1) -> None:
        place = Site(Blocker(POINT, device, stand_in=False), "a.py", line, "", ())
        began = self.overlap.begin()
        self.spend(ns, cores)
        self.overlap.end(place, began)


def trained(share: float, cores: float = 1.0, device: str = "cpu(0)") -> Machine:
    """Steps: 10 ms of work beside a backend that is busy for a share of it, 5 of waiting."""
    machine = Machine()
    for _ in range(5):
        machine.spend(10 * MS, share * cores)
        machine.wait(5 * MS, cores, device)
        machine.step += 1
    return machine


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cores", [0.5, 1.0, 4.0])
def test_the_share_does_not_hang_on_how_many_cores_the_backend_gets(
    share: float, cores: float
) -> None:
    found = trained(share, cores).overlap.share
    assert found is not None
    assert found.likely == pytest.approx(share, abs=0.03)
    assert found.least <= share <= found.most


def test_the_warm_up_does_not_count() -> None:
    machine = Machine()
    machine.spend(1_000 * MS, 8)
    machine.wait(MS, 0)
    machine.step += 1
    for _ in range(3):
        machine.wait(5 * MS, 1)
        machine.spend(10 * MS, 0)
    assert machine.overlap.share is not None
    assert machine.overlap.share.likely == pytest.approx(0)


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


def test_a_short_wait_leaves_more_of_the_share_open_than_a_long_one() -> None:
    """How long a wait takes to return is not known, and of a short one that is much."""

    def width(waited: int) -> float:
        machine = Machine(step=1)
        for _ in range(5):
            machine.spend(10 * MS, 0.5)
            machine.wait(waited, 1)
        found = machine.overlap.share
        assert found is not None
        assert found.least <= found.likely <= found.most
        return found.most - found.least

    assert width(MS // 4) > 2 * width(50 * MS)


def test_the_record_tells_the_share_and_that_before_each_site() -> None:
    machine = Machine(step=1)
    for _ in range(9):
        for line, share in (1, 0.0), (2, 1.0):
            machine.spend(10 * MS, share)
            machine.wait(5 * MS, 1, line=line)
    sites = [site(path="a.py", line=line, api=POINT.id) for line in (2, 1, 3)]
    extra = machine.overlap.annotate(record(*sites, extra={"rank": 0})).extra
    assert extra["rank"] == 0
    assert extra["backend_overlap"] == pytest.approx(0.5, abs=0.05)
    assert extra["backend_overlap_range"] == pytest.approx([0.4, 0.6], abs=0.05)
    assert extra["backend_overlap_by_site"] == {
        "0": [pytest.approx(1, abs=0.01), pytest.approx(0.86, abs=0.01), 1.0],
        "1": [0.0, 0.0, pytest.approx(0.1)],
    }


def test_the_clock_of_the_process_is_brought_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel counts what a running thread took only once that thread's own clock is read."""
    counted, taken = {7: 0, 8: 0}, {7: 30, 8: 12}
    ended = overlap._clock_of(9)

    def read(clock: int) -> int:
        if clock == ended:
            raise OSError(errno.EINVAL, "no such thread")
        (thread,) = [number for number in taken if overlap._clock_of(number) == clock]
        counted[thread] = taken[thread]
        return counted[thread]

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "listdir", lambda path: ["7", "8", "9"])
    monkeypatch.setattr(time, "clock_gettime_ns", read)
    monkeypatch.setattr(time, "process_time_ns", lambda: 100 + sum(counted.values()))
    monkeypatch.setattr(time, "thread_time_ns", lambda: 100)
    clocks = Clocks()
    assert clocks(0).others == 42
    taken[7] = 35
    assert clocks(0).others == 47


def test_threads_are_looked_for_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([[], []])
    monkeypatch.setattr(overlap, "_thread_clocks", lambda: next(looks))
    clocks = Clocks()
    for step in (0, 0, 1, 1, 1):
        clocks(step)
    assert list(looks) == []


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux numbers its clocks")
def test_the_clock_of_a_thread_is_the_one_that_the_library_names() -> None:
    clock = time.pthread_getcpuclockid(threading.get_ident())
    assert overlap._clock_of(threading.get_native_id()) == clock
    assert clock in overlap._thread_clocks()


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_where_threads_cannot_be_listed_the_clock_is_read_as_it_is(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(overlap, "TASKS", os.devnull)
    assert overlap._thread_clocks() == []
    assert Clocks()(0).now > 0
