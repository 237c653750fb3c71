# ruff: noqa: PT012, SIM117  what a limit does shows in blocks of several statements
"""Named units: budgets for a token or a request, and what traces tell of them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import asyncguard
from asyncguard import (
    AsyncguardError,
    SyncLimitExceeded,
    SyncLimitWarning,
    allow_syncs,
    limit_syncs,
    step,
)
from asyncguard.runtime import units
from asyncguard.runtime.registry import registry

np = pytest.importorskip("asyncguard.engine.np", reason="NumPy is not installed")


def read() -> float:
    return float(np.ones(3).sum())


def again() -> float:
    return float(np.ones(2).sum())


def reads(times: int) -> None:
    for _ in range(times):
        read()


def line_of(function: Callable[..., Any]) -> int:
    return function.__code__.co_firstlineno + 1


def exceeds(block: Callable[[], Any], limit: limit_syncs) -> bool:
    try:
        with limit:
            block()
    except SyncLimitExceeded:
        return True
    return False


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Generator[None, None, None]:
    yield
    assert units.under_way() == ()
    assert units._listeners == ()
    assert not registry.adapters()


def tokens(*waits: int, then: int = 0) -> Callable[[], None]:
    """Blocks of the unit `token`, each with so many waits; `then` so many outside."""

    def block() -> None:
        for times in waits:
            with step("token"):
                reads(times)
        reads(then)

    return block


def marked(*waits: int, then: int = 0) -> Callable[[], None]:
    """The same, marked by a call at the end of each."""

    def block() -> None:
        for times in waits:
            reads(times)
            step("token")
        reads(then)

    return block


@pytest.mark.parametrize("units_of", [tokens, marked])
@pytest.mark.parametrize(
    ("waits", "after", "too_many"),
    [
        ((2, 2, 2), 0, False),
        ((2, 3, 2), 0, True),
        ((3, 2, 2), 0, True),
        ((3, 2, 2), 1, False),
        ((9, 9, 2), 2, False),
        ((9, 9, 3), 2, True),
        ((9, 3, 9), 1, True),
        ((0, 0, 3), 2, True),
    ],
)
def test_each_unit_has_its_own_allowance_past_the_warm_up(
    units_of: Any, waits: tuple[int, ...], after: int, too_many: bool
) -> None:
    assert exceeds(units_of(*waits), limit_syncs(2, per="token", after=after)) is too_many


def test_waits_outside_of_blocks_are_free_and_those_after_a_call_are_not() -> None:
    assert not exceeds(tokens(1, 1, then=9), limit_syncs(1, per="token"))
    assert not exceeds(marked(1, 1, then=1), limit_syncs(1, per="token"))
    assert exceeds(marked(1, 1, then=2), limit_syncs(1, per="token"))


def test_a_first_unit_that_only_its_end_marks_is_judged_by_then() -> None:
    with pytest.raises(SyncLimitExceeded, match="2 waits in this token"):
        with limit_syncs(1, per="token"):
            reads(2)
            step("token")
    with pytest.raises(SyncLimitExceeded, match="2 waits in this token"):
        with limit_syncs(1, per="token"):
            with step("forward"):
                reads(2)
            step("token")
            read()
            pytest.fail("the wait after it was let through")


def test_the_error_names_the_unit_the_budget_and_each_place() -> None:
    with pytest.raises(SyncLimitExceeded) as caught, limit_syncs(2, per="token"):
        with step("token"):
            reads(2)
            again()
    first, second = (f"{__file__}:{line_of(each)}" for each in (read, again))
    assert str(caught.value).startswith(
        f"{second}: engine.ndarray.__float__ waits for the device (at most 2 allowed a token; "
        f"3 waits in this token: {first} engine.ndarray.__float__ x2, "
        f"{second} engine.ndarray.__float__): "
    )
    with pytest.raises(SyncLimitExceeded, match=r"none allowed an image; 1 wait in this image: "):
        with limit_syncs(0, per="image"), step("image"):
            read()


def test_units_within_each_other_all_count() -> None:
    def requests() -> None:
        for _ in range(2):
            with step("request"):
                tokens(1, 1, then=1)()

    assert not exceeds(requests, limit_syncs(1, per="token"))
    assert not exceeds(requests, limit_syncs(3, per="request"))
    assert exceeds(requests, limit_syncs(2, per="request"))


def test_a_unit_within_one_of_its_name_counts_for_both() -> None:
    def nested() -> None:
        with step("request"):
            read()
            with step("request"):
                read()

    assert not exceeds(nested, limit_syncs(2, per="request"))
    assert exceeds(nested, limit_syncs(1, per="request"))


def test_calls_mark_units_within_their_block_alone() -> None:
    def requests() -> None:
        for _ in range(3):
            with step("request"):
                step("token")
                read()

    assert not exceeds(requests, limit_syncs(1, per="token"))


def test_one_object_may_be_entered_again_and_within_itself() -> None:
    token = step("token")

    def block() -> None:
        for _ in range(3):
            with token:
                read()
        with token, token:
            read()

    assert not exceeds(block, limit_syncs(1, per="token"))


def test_a_limit_that_is_entered_within_a_unit_holds_for_it() -> None:
    with step("request"):
        assert exceeds(lambda: reads(2), limit_syncs(1, per="request"))
        assert not exceeds(lambda: reads(1), limit_syncs(1, per="request"))


def test_an_exception_ends_a_unit() -> None:
    def block() -> None:
        for _ in range(3):
            with pytest.raises(KeyError), step("token"):
                read()
                raise KeyError

    assert not exceeds(block, limit_syncs(1, per="token"))


def test_a_unit_that_is_never_left_goes_on_and_on() -> None:
    def block() -> None:
        open_units.append(step("token").__enter__())
        tokens(1, 1)()

    open_units: list[Any] = []
    try:
        assert exceeds(block, limit_syncs(1, per="token"))
    finally:
        open_units[0].__exit__(None, None, None)


def test_a_unit_that_is_left_in_another_task_ends_all_the_same() -> None:
    entered = step("token")

    async def main() -> None:
        entered.__enter__()
        await asyncio.create_task(leave())
        reads(3)

    async def leave() -> None:
        entered.__exit__(None, None, None)

    assert not exceeds(lambda: asyncio.run(main()), limit_syncs(2, per="token"))


def test_units_of_generators() -> None:
    def stream() -> Generator[float, None, None]:
        while True:
            with step("token"):
                yield read()

    def block() -> None:
        one, other = stream(), stream()  # their units are under way beside each other
        for _ in range(3):
            next(one)
            next(other)
        one.close()
        other.close()

    assert not exceeds(block, limit_syncs(2, per="token"))
    assert exceeds(block, limit_syncs(1, per="token"))


def test_a_decorated_generator_is_a_unit_without_its_callers_code() -> None:
    @step("request")
    def answer() -> Generator[float, None, None]:
        for _ in range(2):
            yield read()

    @step("request")
    async def stream() -> AsyncGenerator[float, None]:
        for _ in range(2):
            await asyncio.sleep(0)
            yield read()

    def block() -> None:
        for _ in answer():
            reads(3)

    async def ablock() -> None:
        async for _ in stream():
            reads(3)

    for run in (block, lambda: asyncio.run(ablock())):
        assert not exceeds(run, limit_syncs(2, per="request"))
        assert exceeds(run, limit_syncs(1, per="request"))


def test_a_stretch_in_a_decorated_generator_goes_on_where_that_goes_on() -> None:
    @step("request")
    def answer() -> Generator[None, None, None]:
        for _ in range(2):
            step("token")
            read()
            yield
            read()

    assert exceeds(lambda: list(answer()), limit_syncs(1, per="token"))
    assert not exceeds(lambda: list(answer()), limit_syncs(2, per="token"))


def test_functions_and_coroutines_as_units() -> None:
    @step("request")
    def answer() -> None:
        read()

    @step("request")
    async def aanswer() -> None:
        read()

    def block() -> None:
        answer()
        answer()
        asyncio.run(aanswer())

    assert answer.__name__ == "answer"
    assert not exceeds(block, limit_syncs(1, per="request"))
    assert exceeds(block, limit_syncs(0, per="request"))


def test_a_decorator_made_under_a_limit_begins_no_unit() -> None:
    def block() -> None:
        step("token")(lambda: None)
        reads(3)

    with pytest.raises(AsyncguardError, match="waited outside of all units"):
        with limit_syncs(1, per="token"):
            block()


def test_steps_of_a_loader_are_units() -> None:
    def block() -> None:
        for _ in asyncguard.steps(range(3), "token"):
            read()
        reads(3)

    assert len(asyncguard.steps(range(3), "token")) == 3
    assert not exceeds(block, limit_syncs(1, per="token"))
    assert exceeds(block, limit_syncs(0, per="token"))


async def serve(requests: int, limit: limit_syncs, each: int = 2) -> None:
    """Requests as tasks, which take turns after every wait."""

    async def request() -> None:
        with step("request"):
            for _ in range(each):
                read()
                await asyncio.sleep(0)

    with limit:
        await asyncio.gather(*(request() for _ in range(requests)))


def test_each_task_has_its_own_unit_beside_the_others() -> None:
    asyncio.run(serve(4, limit_syncs(2, per="request")))
    with pytest.raises(SyncLimitExceeded):
        asyncio.run(serve(4, limit_syncs(1, per="request")))


def test_tasks_that_a_unit_starts_wait_for_it() -> None:
    async def request() -> None:
        with step("request"):
            await asyncio.gather(*(asyncio.to_thread(read) for _ in range(3)))

    async def main(limit: limit_syncs) -> None:
        with limit:
            await asyncio.gather(request(), request())

    asyncio.run(main(limit_syncs(3, per="request")))
    with pytest.raises(SyncLimitExceeded):
        asyncio.run(main(limit_syncs(2, per="request")))


def test_calls_in_tasks_end_their_own_units() -> None:
    async def request() -> None:
        for _ in range(2):
            read()
            await asyncio.sleep(0)
            step("token")

    async def main(limit: limit_syncs) -> None:
        with limit:
            await asyncio.gather(request(), request(), request())

    asyncio.run(main(limit_syncs(1, per="token")))
    with pytest.raises(SyncLimitExceeded):
        asyncio.run(main(limit_syncs(0, per="token")))


def test_threads_with_a_limit_of_their_own() -> None:
    @limit_syncs(1, per="token")
    def work(waits: int) -> None:
        tokens(*[waits] * 3)()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, [1, 1])) == [None, None]
        with pytest.raises(SyncLimitExceeded):
            pool.submit(work, 2).result()


def test_a_limit_holds_in_threads_that_run_in_its_context() -> None:
    for waits, too_many in ((1, False), (2, True)):
        with ThreadPoolExecutor(2) as pool:

            def block(pool: Any = pool, waits: int = waits) -> None:
                run = contextvars.copy_context().run
                pool.submit(run, tokens(waits, 1)).result()

            assert exceeds(block, limit_syncs(1, per="token")) is too_many


@pytest.mark.parametrize("on", ["raise", "warn"])
def test_a_limit_that_meets_no_unit_says_so(on: Any) -> None:
    def elsewhere() -> None:
        thread = threading.Thread(target=tokens(1))
        thread.start()
        thread.join()

    for block, said in (
        (read, "waited outside of all units"),
        (elsewhere, "met units only in threads and tasks that it does not hold for"),
    ):
        limit = limit_syncs(5, per="token", on=on)
        said = f"cannot see every wait: per='token' {said}: mark each with asyncguard.step"
        if on == "raise":
            with pytest.raises(AsyncguardError, match=said) as caught, limit:
                block()
            assert not isinstance(caught.value, SyncLimitExceeded)
        else:
            with pytest.warns(SyncLimitWarning, match=said), limit:
                block()
    with limit_syncs(5, per="token"):
        pass  # nothing waited


@pytest.mark.parametrize("per", ["token", "step"])
def test_a_warm_up_that_does_not_end_is_told(per: str) -> None:
    def block() -> None:
        for _ in range(3):
            read()
            step() if per == "step" else step(per)

    with pytest.warns(SyncLimitWarning, match=r"after=3 left nothing to limit: 3 began"):
        assert not exceeds(block, limit_syncs(0, per=per, after=3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not exceeds(block, limit_syncs(1, per=per, after=2))


def test_steps_have_a_warm_up_too() -> None:
    def block() -> None:
        for waits in (5, 1, 1):
            reads(waits)
            step()

    assert not exceeds(block, limit_syncs(1, per="step", after=1))
    assert exceeds(block, limit_syncs(0, per="step", after=1))
    assert exceeds(block, limit_syncs(1, per="step"))


def test_each_line_may_wait_once() -> None:
    def set_up() -> None:
        read()
        again()

    for per in (None, "token"):
        limit = limit_syncs(0, per, first_only=True)
        with step("token"):
            assert not exceeds(set_up, limit)
            assert not exceeds(set_up, limit)  # entered again it starts anew
            assert exceeds(lambda: reads(2), limit)
    assert not exceeds(tokens(2, 1, 1), limit_syncs(1, per="token", first_only=True))
    assert exceeds(tokens(2, 2, 1), limit_syncs(1, per="token", first_only=True))
    # What set itself up in the warm-up has done so.
    assert exceeds(tokens(1, 1), limit_syncs(0, per="token", first_only=True, after=1))


def test_kinds_and_allowances_hold_for_units() -> None:
    def block() -> None:
        with step("token"):
            read()
            np.ones(3).asnumpy()
            with allow_syncs("logging"):
                reads(5)

    assert not exceeds(block, limit_syncs(1, per="token", kinds="scalar"))
    assert exceeds(block, limit_syncs(0, per="token", kinds="array"))


def test_a_limit_that_warns_does_so_once_a_line_also_as_a_decorator() -> None:
    @limit_syncs(0, per="token", on="warn")
    def request() -> None:
        tokens(3, 2)()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        request()
        request()
    (warned,) = caught
    assert (warned.category, warned.filename, warned.lineno) == (
        SyncLimitWarning,
        __file__,
        line_of(read),
    )


def test_the_variable_decides_for_budgets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCGUARD_GUARD", "warn")
    with pytest.warns(SyncLimitWarning, match="none allowed a token"):
        assert not exceeds(tokens(1), limit_syncs(0, per="token"))


def test_a_budget_that_the_program_swallows_raises_at_the_end() -> None:
    with pytest.raises(SyncLimitExceeded, match=r"\(caught in the block"):
        with limit_syncs(0, per="token"), step("token"):
            with pytest.raises(SyncLimitExceeded):
                read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"count": -1, "per": "token"}, "count must be a whole number from 0 up, not -1"),
        ({"count": 1, "per": ""}, "per must be None, 'step' or the name of a unit"),
        ({"count": 1, "per": 3}, "per must be None, 'step' or the name of a unit"),
        ({"count": 1, "after": 2}, r"after counts steps or units: say which, as in per='token'"),
        ({"count": 1, "per": "token", "after": -1}, "after must be a whole number from 0 up"),
        ({"count": 1, "per": "token", "after": True}, "after must be a whole number from 0 up"),
        ({"count": 1, "first_only": 1}, "first_only must be True or False, not 1"),
        ({"count": 1, "on": "ignore"}, "on must be 'raise' or 'warn', not 'ignore'"),
        ({"count": 1, "on": ""}, "on must be 'raise' or 'warn', not ''"),
    ],
)
def test_wrong_limits_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        limit_syncs(**arguments)


@pytest.mark.parametrize("name", ["", "  ", 3, b"token", "step"])
def test_wrong_names_are_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="name the unit"):
        step(name)
    with pytest.raises(ValueError, match="name the unit"):
        asyncguard.steps([], name)


def test_a_trace_counts_the_waits_of_each_unit() -> None:
    with asyncguard.trace() as trace:
        for _ in range(3):
            with step("request"):
                tokens(3, 1, 2, then=1)()
        for _ in range(3):
            step("page")
            read()
    assert trace.units == {
        "page": {"count": 2, "waits": 2, "steady_count": 1, "steady_waits": 1, "most": 1},
        "request": {"count": 3, "waits": 21, "steady_count": 2, "steady_waits": 14, "most": 7},
        "token": {"count": 9, "waits": 18, "steady_count": 8, "steady_waits": 15, "most": 3},
    }
    assert trace.total_syncs == 24
    said = "1.88 waits per token (8 complete, the first 1 left out, at most 3 in one)"
    assert said in trace.to_text(200)


def test_a_trace_and_a_limit_count_beside_each_other() -> None:
    with asyncguard.trace(warmup=0) as trace, limit_syncs(2, per="token"):
        marked(2, 1, 2)()
    # A call marks an end, which the trace knows of from the first one on.
    assert trace.units["token"] == {
        "count": 2, "waits": 3, "steady_count": 2, "steady_waits": 3, "most": 2,
    }  # fmt: skip


def test_a_trace_counts_units_of_tasks_and_threads() -> None:
    with asyncguard.trace(warmup=0) as trace:
        asyncio.run(serve(4, limit_syncs(9, per="request"), each=3))
        thread = threading.Thread(target=tokens(1, 2))
        thread.start()
        thread.join()
    assert trace.units["request"]["waits"] == 12
    assert trace.units["token"]["waits"] == 3


def test_a_trace_without_named_units_says_nothing_of_them(tmp_path: Any) -> None:
    with asyncguard.trace() as trace:
        read()
    assert trace.units == {}
    with asyncguard.trace() as trace, step("token"):
        read()
    trace.save(tmp_path / "trace.json")
    assert asyncguard.load_trace(tmp_path / "trace.json").units == trace.units != {}


def test_a_class_is_no_unit() -> None:
    with pytest.raises(TypeError, match=r"step\('request'\) decorates functions: .* of Model"):

        @step("request")
        class Model: ...
