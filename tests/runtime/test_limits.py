# ruff: noqa: PT012, SIM117  what a limit does shows in blocks of several statements

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
import traceback
from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.model import AsyncguardError
from asyncguard.runtime.limits import SyncLimitExceeded, allow_syncs, forbid_syncs, limit_syncs
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import Session, step
from tests.frameworks import require

torch = require("torch")


def read() -> float:
    return torch.ones(()).item()


def test_the_first_wait_in_a_forbidden_block_raises_at_its_line() -> None:
    with pytest.raises(SyncLimitExceeded) as caught, forbid_syncs():
        read()
    entries = traceback.extract_tb(caught.value.__traceback__)
    if sys.version_info < (3, 11):  # it keeps the entries of those who raise again
        entries = [entry for entry in entries if entry.filename == __file__]
    last = entries[-1]
    assert (last.name, last.line) == ("read", "return torch.ones(()).item()")
    point = catalogue.load()["torch.Tensor.item"]
    assert str(caught.value) == (
        f"{__file__}:{last.lineno}: torch.Tensor.item waits for the device (none allowed here): "
        f"{point.advice}"
    )
    assert isinstance(caught.value, AsyncguardError)


def test_it_raises_before_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "item", lambda self: pytest.fail("it waited"), raising=False)
    with pytest.raises(SyncLimitExceeded), forbid_syncs():
        read()


def test_work_that_does_not_wait_is_free() -> None:
    with forbid_syncs():
        torch.ones(3).sum()
    read()


def test_a_limit_allows_its_number_and_not_one_more() -> None:
    with pytest.raises(SyncLimitExceeded, match="at most 2 allowed"), limit_syncs(2):
        read()
        read()
        read()


def test_a_limit_a_step_starts_anew_at_each_boundary() -> None:
    message = "at most 2 allowed a step"
    with pytest.raises(SyncLimitExceeded, match=message), limit_syncs(2, per="step"):
        for _ in range(5):
            read()
            read()
            step()
        for _ in range(3):
            read()


def test_an_optimizer_ends_the_step_of_a_limit() -> None:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with limit_syncs(1, per="step"):
        for _ in range(3):
            model(torch.ones(1, 1)).sum().backward()
            optimizer.step()
            read()


def test_waits_that_are_meant_are_free_and_noted() -> None:
    with Session() as session, pytest.raises(SyncLimitExceeded), forbid_syncs():
        with allow_syncs("log every 100 steps"):
            read()
        read()
    (site,) = session.record().sites
    assert (site.allowed, site.count) == ("log every 100 steps", 1)


def test_nested_limits_hold_together() -> None:
    with pytest.raises(SyncLimitExceeded, match="at most 2"), limit_syncs(2), limit_syncs(5):
        for _ in range(3):
            read()


def test_limits_decorate_functions() -> None:
    guarded = forbid_syncs()(read)
    allowed = allow_syncs("a test")(read)
    for _ in range(2):
        with pytest.raises(SyncLimitExceeded):
            guarded()
    with forbid_syncs():
        assert allowed() == 1.0


def test_other_threads_are_not_limited() -> None:
    seen: list[float] = []
    with forbid_syncs():
        thread = threading.Thread(target=lambda: seen.append(read()))
        thread.start()
        thread.join()
    assert seen == [1.0]


def test_tasks_started_in_the_block_are_limited() -> None:
    async def main() -> None:
        async def task() -> None:
            read()

        with forbid_syncs():
            inside = asyncio.create_task(task())
        await asyncio.gather(inside, return_exceptions=True)
        with pytest.raises(SyncLimitExceeded):
            inside.result()

    with limit_syncs(100):  # hooks stay in place until the task has run
        asyncio.run(main())


def test_steps_of_other_tasks_and_threads_are_none_of_a_limits_own() -> None:
    async def limited() -> None:
        with pytest.raises(SyncLimitExceeded, match="caught"), limit_syncs(1, per="step"):
            read()
            await asyncio.sleep(0)  # the other task marks a step meanwhile
            with pytest.raises(SyncLimitExceeded):
                read()
            thread = threading.Thread(target=step)
            thread.start()
            thread.join()
            with pytest.raises(SyncLimitExceeded):
                read()
            step()
            read()

    async def other() -> None:
        step()

    async def main() -> None:
        await asyncio.gather(limited(), other())

    asyncio.run(main())


def test_each_task_has_its_own_limit() -> None:
    async def limited(count: int) -> None:
        with pytest.raises(SyncLimitExceeded, match=f"at most {count}"), limit_syncs(count):
            for _ in range(count):
                read()
                await asyncio.sleep(0)
            read()

    async def main() -> None:
        await asyncio.gather(*map(limited, (1, 2, 3)))

    asyncio.run(main())


def test_a_limit_that_the_program_swallows_raises_at_the_end_of_its_block() -> None:
    with (
        pytest.raises(SyncLimitExceeded, match=r"item waits .* \(caught in the block"),
        forbid_syncs(),
    ):
        with contextlib.suppress(Exception):
            read()
    with pytest.raises(KeyError), forbid_syncs():  # an error of the program's own comes first
        with contextlib.suppress(Exception):
            read()
        raise KeyError


def test_a_limit_that_is_entered_again_starts_anew() -> None:
    limit = limit_syncs(1)
    for _ in range(3):
        with limit:
            read()
    with limit, pytest.raises(RuntimeError, match="entered already"):
        limit.__enter__()


def test_limits_decorate_coroutines() -> None:
    @limit_syncs(1)
    async def once(times: int) -> float:
        for _ in range(times - 1):
            read()
            await asyncio.sleep(0)
        return read()

    async def main() -> None:
        assert inspect.iscoroutinefunction(once)
        assert await asyncio.gather(once(1), once(1)) == [1.0, 1.0]
        with pytest.raises(SyncLimitExceeded):
            await once(2)
        read()

    asyncio.run(main())


def test_limits_decorate_generators_and_hold_only_while_they_run() -> None:
    @limit_syncs(2)
    def reads() -> Generator[float, float, str]:
        got = yield read()
        assert got == 5.0
        try:
            yield read()
        except KeyError:
            yield -1.0
        return "end"

    def outer() -> Generator[float, float, None]:
        assert (yield from reads()) == "end"

    assert inspect.isgeneratorfunction(reads)
    run = outer()
    assert next(run) == 1.0
    assert [read() for _ in range(5)] == [1.0] * 5  # the caller's own are free
    assert run.send(5.0) == 1.0
    assert run.throw(KeyError()) == -1.0
    assert list(run) == []
    guarded = forbid_syncs()(lambda: (yield read()))
    with pytest.raises(SyncLimitExceeded):
        next(guarded())
    assert not registry.adapters()


def test_a_generator_that_is_left_early_is_closed_and_its_limit_with_it() -> None:
    closed: list[bool] = []

    @forbid_syncs()
    def items() -> Generator[int, None, None]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    run = items()
    assert next(run) == 1
    run.close()
    assert closed == [True]
    assert not registry.adapters()


def test_limits_decorate_async_generators() -> None:
    closed: list[bool] = []

    @limit_syncs(1)
    async def reads(times: int) -> AsyncGenerator[float, None]:
        try:
            for _ in range(times):
                await asyncio.sleep(0)
                yield read()
        finally:
            closed.append(True)

    async def main() -> None:
        assert inspect.isasyncgenfunction(reads)
        async for value in reads(1):
            assert (value, read()) == (1.0, 1.0)
        with pytest.raises(SyncLimitExceeded):
            assert [value async for value in reads(2)]
        left = reads(1)
        assert await left.asend(None) == 1.0
        await left.aclose()

    asyncio.run(main())
    assert closed == [True, True, True]
    assert not registry.adapters()


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (forbid_syncs, "forbid_syncs"),
        (partial(limit_syncs, 1), "limit_syncs"),
        (partial(allow_syncs, "a test"), "allow_syncs"),
    ],
)
@pytest.mark.parametrize("elsewhere", ["thread", "task"])
def test_a_block_that_is_left_elsewhere_cleans_up_and_says_so(
    make: Any, name: str, elsewhere: str
) -> None:
    entered = make()

    def leave() -> None:
        said = f"^{name} was left in another task or thread"
        with pytest.warns(RuntimeWarning, match=said):
            entered.__exit__(None, None, None)

    async def enter() -> None:
        entered.__enter__()

    if elsewhere == "task":

        async def main() -> None:
            await asyncio.create_task(enter())
            leave()

        asyncio.run(main())
    else:
        entered.__enter__()
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert read() == 1.0
    assert not registry.adapters()
    with pytest.raises(SyncLimitExceeded), forbid_syncs():
        read()


def test_nothing_is_left_behind() -> None:
    before = dict(vars(torch.Tensor))
    with pytest.raises(SyncLimitExceeded), forbid_syncs():
        read()
    assert dict(vars(torch.Tensor)) == before


@pytest.mark.parametrize("count", [-1, 1.5, True, None])
def test_a_limit_needs_a_number(count: Any) -> None:
    with pytest.raises(ValueError, match="whole number"):
        limit_syncs(count)


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_an_allowance_needs_a_reason(reason: Any) -> None:
    with pytest.raises(ValueError, match="say why"):
        allow_syncs(reason)
