"""Many items on several processes: every result arrives, whatever happens to a process."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.live import check_text
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.settings import Settings

ITEMS = list(range(40))


def double(item: int) -> int:
    return 2 * item


def dies_on_seven(item: int) -> int:
    if item == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def fails(item: int) -> int:
    raise ValueError(item)


def pid(item: int) -> int:
    return os.getpid()


def run(
    function: Callable[[int], int], jobs: int | None, items: Sequence[int] = ITEMS
) -> list[tuple[int, int | None]]:
    with pool.Pool(function, jobs) as workers:
        return list(workers.run(items))


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_every_item_comes_back_once_with_its_result(jobs: int | None) -> None:
    assert sorted(run(double, jobs)) == [(item, 2 * item) for item in ITEMS]


@pytest.fixture
def processes() -> None:
    """Processes of the pool's own, which Python 3.10 cannot start beside other threads."""
    if sys.version_info < (3, 11) and threading.active_count() > 1:
        pytest.skip("an earlier test's threads still run, and Python 3.10 works alone beside them")


@pytest.mark.usefixtures("processes")
def test_a_process_that_dies_costs_only_its_own_item() -> None:
    results = dict(run(dies_on_seven, 2))
    assert results.pop(7) is None
    assert results == {item: item for item in ITEMS if item != 7}


def test_an_exception_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match=r"\d+"):
        run(fails, 2)


@pytest.mark.usefixtures("processes")
def test_neighbouring_items_go_to_the_same_process() -> None:
    with pool.Pool(pid, 2) as workers:
        first = dict(workers.run(ITEMS))
        again = dict(workers.run(ITEMS))
    assert len({*first.values(), *again.values()}) == 2  # the processes of the first run
    assert first[0] == again[0]
    assert first[len(ITEMS) // 2] == again[len(ITEMS) // 2]
    assert first[0] != first[len(ITEMS) // 2]


@pytest.mark.usefixtures("processes")
def test_processes_end_with_the_pool() -> None:
    with pool.Pool(pid, 2) as workers:
        pids = {pid for _, pid in workers.run(ITEMS) if pid is not None}
    for each in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(each, 0)


def test_one_item_is_done_in_this_process() -> None:
    assert run(pid, 2, [1]) == [(1, os.getpid())]


def test_checks_collect_seldom_and_leave_their_callers_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / "a.py", "import torch\n"
    path.write_text(text)
    usual, before, meanwhile = gc.get_threshold(), (700, 10, 10), []
    settings = Settings(cache=False, jobs=1)
    check = worker.Worker.check

    def noting(self: worker.Worker, *arguments: Any) -> FileFacts:
        meanwhile.append(gc.get_threshold()[0])
        return check(self, *arguments)

    monkeypatch.setattr(worker.Worker, "check", noting)
    gc.set_threshold(*before)
    try:
        check_paths([tmp_path], settings)
        check_source(text, str(path), settings)
        check_text(text.encode(), str(path), Configuration.fixed(settings))
        after = gc.get_threshold()
    finally:
        gc.set_threshold(*usual)
    assert len(meanwhile) == 3
    assert min(meanwhile) > 100 * before[0]
    assert after == before
