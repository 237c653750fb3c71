"""Which copies hold the host, and which programs race: `copies.toml`, simulated and on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli

import asyncguard
from asyncguard.runtime.races import CopyRace
from tests.frameworks import require
from tests.sim.rows import wrong

torch = require("torch")
TABLE = tomli.loads((Path(__file__).parent / "copies.toml").read_text(encoding="utf-8"))
COPIES, RACES = TABLE["copies"], {row["name"]: row for row in TABLE["races"]}
BUSY = 1_000_000_000  # cycles that keep the stream at work while the copy is called
SIDE = 1 << 10
real = [
    # Unverified: no GPU has been asked for these rows yet.
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]
Row = dict[str, Any]


def name_of(row: Row) -> str:
    return ", ".join(f"{key}={value}" for key, value in row.items() if key not in ("holds", "why"))


def laid_out(layout: str, count: int, make: Callable[..., Any]) -> Any:
    """A tensor of so many numbers that lies in memory as the layout says."""
    rows = max(count // SIDE, 1) if count else 0
    width = min(count, SIDE)
    if layout == "gapped":
        return make(rows, 2 * width)[:, ::2]
    if layout == "transposed":
        return make(width, rows).t()
    if layout == "expanded":
        return make(1, width).expand(rows, width)
    if layout == "part":
        return make(rows + 2, width)[1 : rows + 1]
    return make(rows, width)


def maker(place: str, memory: str, dtype: Any = None) -> Callable[..., Any]:
    if place == "host":
        return lambda *shape: torch.ones(*shape, dtype=dtype, pin_memory=memory == "pinned")
    return lambda *shape: torch.ones(*shape, dtype=dtype, device=place)


def copier(row: Row) -> Callable[[], Any]:
    """The copy, with all that it needs in place."""
    by, flag, count = row["by"], row["flag"], row["kib"] << 8
    source = laid_out(row["layout"], count, maker(row["from"], row["memory"]))
    place = "cpu" if row["to"] == "host" else row["to"]
    dtype = getattr(torch, row["dtype"]) if "dtype" in row else None
    if by == "to":
        return lambda: source.to(place, dtype, non_blocking=flag)
    if by == "cuda":
        return lambda: source.cuda(non_blocking=flag)
    if by == "cpu":
        return source.cpu
    into = row.get("into", "dense")
    kind = torch.float16 if into == "float16" else None
    target = laid_out(into, count, maker(row["to"], row["memory"], kind))
    return lambda: target.copy_(source, non_blocking=flag)


def holds(row: Row, cycles: int) -> tuple[bool, Counter[Any]]:
    """Whether the copy held the host until the work before it was done; what a trace counts."""
    copy = copier(row)
    copy()  # once before, for memory that is taken when it is first needed
    torch.cuda.synchronize()
    end = torch.cuda.Event()
    with asyncguard.trace() as trace:
        torch.cuda._sleep(cycles)
        end.record()
        copy()
        held = end.query()
    torch.cuda.synchronize()
    counted = Counter({site.why: site.count for site in trace.sites})
    assert {site.kind.value for site in trace.sites} <= {"upload", "array"}
    return held, counted


@pytest.fixture
def simulated() -> Iterator[None]:
    with asyncguard.simulate_cuda(devices=2):
        yield


def test_the_table_is_as_large_as_it_says() -> None:
    assert len(COPIES) >= 60
    assert len({name_of(row) for row in COPIES}) == len(COPIES)
    assert len(RACES) == len(TABLE["races"]) == 20
    assert sum(bool(row["code"]) for row in TABLE["races"]) == 10


@pytest.mark.usefixtures("simulated")
def test_the_simulated_device_holds_the_host_as_cuda_is_documented_to() -> None:
    rows = {name_of(row): row for row in COPIES}

    def agrees(name: str) -> None:
        row = rows[name]
        held, counted = holds(row, BUSY)
        assert held == (row["holds"] != "no")
        assert counted == Counter({row.get("why"): 1} if held else {})

    assert not wrong(rows, agrees)


@pytest.mark.parametrize("row", COPIES, ids=name_of)
class TestOnADevice:
    pytestmark = real

    def test_it_holds_the_host_as_cuda_is_documented_to(self, row: Row) -> None:
        if "cuda:1" in row.values() and torch.cuda.device_count() < 2:
            pytest.skip("torch sees one CUDA device")
        held, counted = holds(row, BUSY)
        if row["holds"] != "may":
            assert held == (row["holds"] == "yes")
        assert counted == Counter({row.get("why"): 1} if row["holds"] != "no" else {})


def run(row: Row) -> None:
    side = torch.cuda.Stream()
    names = {"torch": torch, "N": 1 << 20, "side": side}
    sizes = (1 << 20, 1 << 20, 1 << 21, 1 << 22)  # a device may wait where memory is first taken
    [torch.ones(size, device="cuda") for size in sizes]
    [torch.empty(size, pin_memory=True) for size in sizes]
    torch.cuda._sleep(BUSY)
    side.wait_stream(torch.cuda.current_stream())
    exec(row["program"], names)


def test_the_simulated_device_finds_each_race_and_no_other() -> None:
    def agrees(name: str) -> None:
        row = RACES[name]
        with asyncguard.simulate_cuda():
            if not row["code"]:
                run(row)
                return
            with pytest.raises(CopyRace, match=row["code"]):
                run(row)

    assert not wrong(RACES, agrees)


@pytest.mark.parametrize("name", RACES)
class TestRacesOnADevice:
    pytestmark = real

    def test_what_is_in_flight_is_found(self, name: str) -> None:
        row = RACES[name]
        with asyncguard.trace(races=True) as trace:
            if row["code"]:
                with pytest.warns(RuntimeWarning, match=row["code"]):
                    run(row)
            else:
                run(row)
        torch.cuda.synchronize()
        found = {race["code"] for race in trace.record.extra.get("races", ())}
        assert found == ({row["code"]} if row["code"] else set())
