"""Many items on several processes: every result arrives, whatever happens to a process."""

from __future__ import annotations

import os
import signal

import pytest

from asyncguard.lint import pool

ITEMS = list(range(40))


def double(item: int) -> int:
    return 2 * item


def dies_on_seven(item: int) -> int:
    if item == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def fails(item: int) -> int:
    raise ValueError(item)


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_every_item_comes_back_once_with_its_result(jobs: int | None) -> None:
    assert sorted(pool.run(double, ITEMS, jobs)) == [(item, 2 * item) for item in ITEMS]


def test_a_process_that_dies_costs_only_its_own_item() -> None:
    results = dict(pool.run(dies_on_seven, ITEMS, 2))
    assert results.pop(7) is None
    assert results == {item: item for item in ITEMS if item != 7}


def test_an_exception_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match=r"\d+"):
        list(pool.run(fails, ITEMS, 2))
