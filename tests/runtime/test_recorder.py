from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from asyncguard import catalogue
from asyncguard.runtime.hub import BATCH
from asyncguard.runtime.recorder import STEP_WINDOW, Recorder
from asyncguard.runtime.sites import Blocker, Site
from asyncguard.runtime.tables import THREADS
from tests.runtime.helpers import Clock


def site(device: str = "cuda:0", stand_in: bool = False, line: int = 1) -> Site:
    point = catalogue.load()["torch.Tensor.item"]
    return Site(Blocker(point, device, stand_in, not stand_in), "a.py", line, "f", ())


def recorder(clock: Clock, **options: object) -> Recorder:
    made = Recorder(clock, **options)  # type: ignore[arg-type]
    made.start()
    return made


def wait(recorder: Recorder, clock: Clock, at: Site, ns: int = 10) -> None:
    began = recorder.begin()
    clock.now += ns
    recorder.end(at, began)


def test_stalls_are_summed_and_sorted_into_powers_of_two() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    for ns in (0, 1, 2, 3, 1024, 2047):
        wait(record, clock, here, ns)
    ((_, _, cell),) = record.read().cells
    assert (cell.count, cell.stall, cell.longest) == (6, 3077, 2047)
    assert cell.buckets == {0: 1, 1: 1, 2: 2, 11: 2}


@pytest.mark.parametrize("before", [True, False], ids=["read before step", "read after step"])
def test_one_wait_an_iteration_is_one_a_step_on_either_side_of_the_boundary(before: bool) -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    for _ in range(10):
        if before:
            wait(record, clock, here)
        record.mark(None)
        if not before:
            wait(record, clock, here)
    reading = record.read()
    ((_, _, cell),) = reading.cells
    assert (cell.count, reading.steps, reading.steady_steps) == (10, 10, 9)
    assert (cell.steady, cell.steady_stall) == (9, 90)
    assert reading.step_syncs == (1,) * 9


def test_the_step_in_progress_and_the_warm_up_are_not_steady() -> None:
    clock = Clock()
    record = recorder(clock, warmup=2)
    here = site()
    for waits in (5, 7, 1, 2):
        for _ in range(waits):
            wait(record, clock, here)
        record.mark(None)
    wait(record, clock, here)
    reading = record.read()
    ((_, _, cell),) = reading.cells
    assert (reading.steps, reading.steady_steps, cell.steady) == (4, 2, 3)
    assert reading.step_syncs == (1, 2)
    assert (cell.first, cell.step) == (0, 4)


def test_the_steady_duration_runs_from_the_warm_up_to_the_last_boundary() -> None:
    clock = Clock()
    record = recorder(clock)
    for _ in range(3):
        clock.now += 100
        record.mark(None)
    clock.now += 1000
    record.stop()
    clock.now += 1000
    reading = record.read()
    assert (reading.steady_duration, reading.duration) == (200, 1300)


def test_steps_that_the_user_marks_replace_those_of_optimizers_from_the_start() -> None:
    clock = Clock()
    record = recorder(clock)
    here, optimizer = site(), Clock()
    for _ in range(4):
        wait(record, clock, here)
        record.mark(optimizer)
        wait(record, clock, here)
        record.mark(None)
    reading = record.read()
    ((_, _, cell),) = reading.cells
    assert (reading.steps, cell.count, cell.steady) == (4, 8, 6)
    assert reading.step_syncs == (2, 2, 2)


def test_reading_does_not_disturb_what_is_being_recorded() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    for _ in range(3):
        wait(record, clock, here)
        record.mark(None)
        record.read()
    assert record.read().cells[0][2].steady == 2


def test_cpu_values_stand_in_until_an_accelerator_is_used() -> None:
    clock = Clock()
    record = recorder(clock)
    on_cpu, on_gpu = site("cpu (stand-in)", stand_in=True), site()
    wait(record, clock, on_cpu)
    assert record.read().stand_in
    wait(record, clock, on_gpu)
    wait(record, clock, on_cpu)
    reading = record.read()
    assert not reading.stand_in
    assert [row[0] for row in reading.cells] == [on_gpu]


@pytest.mark.parametrize(("wanted", "expected"), [(True, 2), (False, 1)])
def test_the_user_decides_whether_cpu_values_count(wanted: bool, expected: int) -> None:
    clock = Clock()
    record = recorder(clock, stand_ins=wanted)
    wait(record, clock, site())
    wait(record, clock, site("cpu (stand-in)", stand_in=True))
    assert len(record.read().cells) == expected


def test_threads_lose_no_count_and_are_told_apart() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()

    def work() -> None:
        for _ in range(2000):
            record.end(here, record.begin())

    threads = [threading.Thread(target=work, name=f"worker {n}") for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = {name: cell.count for _, name, cell in record.read().cells}
    assert rows == {f"worker {n}": 2000 for n in range(8)}


def test_a_program_that_starts_threads_for_ever_stays_bounded() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    for _ in range(3 * THREADS):
        thread = threading.Thread(target=lambda: record.end(here, record.begin()))
        thread.start()
        thread.join()
        record.mark(None)
    reading = record.read()
    assert len(reading.cells) <= THREADS + 1
    assert sum(cell.count for _, _, cell in reading.cells) == 3 * THREADS
    assert sum(cell.steady for _, _, cell in reading.cells) == 3 * THREADS - 1


def test_tasks_of_asyncio_are_told_apart() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()

    async def work(waits: int) -> None:
        for _ in range(waits):
            wait(record, clock, here)
            await asyncio.sleep(0)

    async def main() -> None:
        wait(record, clock, here)
        await asyncio.gather(*(asyncio.create_task(work(n), name=f"task {n}") for n in (2, 5)))

    wait(record, clock, here)
    asyncio.run(main())
    rows = {name: cell.count for _, name, cell in record.read().cells}
    thread = threading.current_thread().name
    assert rows.pop(thread) == 1
    assert rows.pop(f"{thread} task 2") == 2
    assert rows.pop(f"{thread} task 5") == 5
    assert list(rows.values()) == [1]  # main's


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one after the other"])
def test_a_program_that_starts_tasks_for_ever_stays_bounded(at_once: bool) -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()

    async def work() -> None:
        wait(record, clock, here)
        await asyncio.sleep(0)
        wait(record, clock, here)

    async def main() -> None:
        many = [work() for _ in range(3 * THREADS)]
        if at_once:
            await asyncio.gather(*many)
        else:
            for each in many:
                await asyncio.create_task(each)

    asyncio.run(main())
    reading = record.read()
    assert len(reading.cells) <= THREADS + 1
    assert sum(cell.count for _, _, cell in reading.cells) == 6 * THREADS


def test_what_waits_is_added_up_before_its_log_grows_long() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    for _ in range(BATCH + 1):
        wait(record, clock, here)
    (table,) = record._tables
    assert (table.cells[here].count, len(table.log)) == (BATCH, 1)
    assert record.totals().syncs == BATCH + 1


def test_what_is_logged_belongs_to_the_step_it_was_logged_in() -> None:
    clock = Clock()
    record = recorder(clock)
    early, late = site(line=1), site(line=2)
    for step in range(STEP_WINDOW + 10):
        wait(record, clock, early)
        if step % 2:
            wait(record, clock, late)
        record.mark(clock)
    reading = record.read()
    assert reading.step_syncs == (1, 2) * (STEP_WINDOW // 2)
    figures = {row[0]: (row[2].first, row[2].step, row[2].steady) for row in reading.cells}
    assert figures[early] == (0, STEP_WINDOW + 9, STEP_WINDOW + 9)
    assert figures[late] == (1, STEP_WINDOW + 9, STEP_WINDOW // 2 + 5)


def test_a_signal_may_read_while_waits_are_added_up() -> None:
    clock = Clock()
    seen: list[int] = []

    def interrupted() -> bool:
        if not seen:
            seen.append(0)
            seen.append(record.totals().syncs)
            seen.append(len(record.read().cells))
        return False

    record = recorder(clock, in_use=interrupted)
    for line in range(3):
        wait(record, clock, site("cpu (stand-in)", stand_in=True, line=line))
    assert record.totals().syncs == 3
    assert seen == [0, 2, 2]  # without the one that was being added


def test_nobody_waits_while_another_thread_reads() -> None:
    clock = Clock()
    record = recorder(clock)
    here = site()
    known, reading = threading.Event(), threading.Event()

    def work() -> None:
        wait(record, clock, here)
        known.set()
        reading.wait()
        for _ in range(2 * BATCH):
            wait(record, clock, here)

    thread = threading.Thread(target=work)
    thread.start()
    known.wait()
    with record._lock:
        reading.set()
        thread.join()
    assert record.totals().syncs == 2 * BATCH + 1


def test_what_is_kept_does_not_grow_with_the_number_of_waits() -> None:
    clock = Clock()
    record = recorder(clock)
    sites = [site(line=line) for line in range(20)]

    def work(steps: int) -> int:
        for _ in range(steps):
            for here in sites:
                wait(record, clock, here)
            record.mark(None)
        record.settle()
        gc.collect()
        return len(gc.get_objects())

    before = work(10)
    assert work(1000) <= before + 10


def test_a_composite_call_has_waited_in_its_parts_in_the_step_of_the_first() -> None:
    clock = Clock()
    record = recorder(clock, timeline=100)
    here = site()
    for _ in range(3):
        entered = record.enter()
        clock.now += 5
        began = record.begin()
        clock.now += 20
        parts = [record.part(here, began)]
        clock.now += 50
        record.mark(None)  # its update ends the step
        clock.now += 25
        record.leave(here, entered, parts)
    reading = record.read()
    ((_, _, cell),) = reading.cells
    assert (cell.count, cell.stall, cell.beside, cell.longest) == (3, 60, 240, 20)
    assert (cell.first, cell.step, cell.steady) == (0, 2, 2)
    assert reading.step_syncs == (1, 1)
    waits = [(span.begin, span.end) for span in reading.events if span.kind == "wait"]
    assert waits == [(5, 25), (105, 125), (205, 225)]


def test_a_composite_call_in_which_nothing_waits_has_not_waited() -> None:
    clock = Clock()
    record = recorder(clock)
    entered = record.enter()
    clock.now += 300
    record.leave(site(), entered, [])
    ((_, _, cell),) = record.read().cells
    assert (cell.count, cell.stall, cell.beside) == (1, 0, 300)
