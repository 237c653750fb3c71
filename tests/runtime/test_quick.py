"""The short way of a read, compiled and in Python: both do the same, and hold nothing."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.runtime import compiled, hub, reads
from asyncguard.runtime.callers import TOP
from asyncguard.runtime.hub import Beat, Doing, Front, front

needs_compiled = pytest.mark.skipif(
    compiled.quick is None, reason="the compiled way is not built here, or not wanted"
)
Hook = Callable[..., Any]


class Value:
    """What is read; `told` is what it waits for."""

    def __init__(self, told: object, gives_itself: bool = False) -> None:
        self.told = told
        self.gives_itself = gives_itself


class World:
    """Everything around one short way, and a diary of what it did."""

    def __init__(self) -> None:
        self.diary: list[object] = []
        self.tickets = 0  # that the next look grants
        self.broken: set[str] = set()
        self.by_type = False
        self.known: dict[int, object] = {}
        self._time = itertools.count(1)
        self.doing = Doing()
        self.beat = Beat(self.clock)
        self.beat.doing, self.beat.thread = self.doing, threading.get_ident()

    def clock(self) -> int:
        self._may_fail("clock")
        return next(self._time)

    def judge(self, value: Value) -> object:
        self._may_fail("judge")
        return value.told

    def original(self, value: Value, *rest: object, **named: object) -> object:
        self.diary.append(("original", self.doing.waiting))
        self._may_fail("original")
        return value if value.gives_itself else value.told

    def long_way(self, *args: object, **named: object) -> object:
        self.diary.append(("long", len(args), sorted(named)))
        return self.original(*args, **named)  # type: ignore[arg-type]

    def look(self, value: Value, frame: Any, unused: int) -> reads._Found:
        self.diary.append(("look", unused))
        self._may_fail("look")
        if not self.tickets:
            return reads._Found()
        told = type(value) if self.by_type else value.told
        place: list[object] = [told, frame.f_lasti, frame.f_code]
        for _ in range(3):
            frame = frame.f_back or TOP
            place += [frame.f_lasti, frame.f_code]
        site: Any = f"site {self.tickets}"
        stand_in = self.tickets % 2 == 0
        return reads._Found(tuple(place), site, self.tickets, self.by_type, stand_in)

    def gave_itself(self, value: Value, frame: Any, held: int) -> None:
        self.diary.append(("itself", frame.f_lasti))
        self._may_fail("gave_itself")

    def failed(self, error: Exception) -> None:
        self.diary.append(("failed", str(error)))

    def _may_fail(self, what: str) -> None:
        if what in self.broken:
            raise ValueError(what)

    def way(self, compiled_one: bool) -> Hook:
        rare: Any = self
        if not compiled_one:
            return reads._read_hook(
                self.original, self.judge, rare, self.long_way, self.known, up=1
            )
        assert compiled.quick is not None
        made: Hook = compiled.quick.Read(
            self.original, self.judge, rare, self.long_way, self.known, front, Beat, Doing, above=0
        )
        return made


def at_one_line(read: Hook, *args: object, **named: object) -> object:
    return read(*args, **named)


def at_another(read: Hook, *args: object, **named: object) -> object:
    return read(*args, **named)


def by_a_helper(read: Hook, *args: object, **named: object) -> object:
    return at_one_line(read, *args, **named)


KINDS = object(), object()
VALUES = Value(KINDS[0]), Value(KINDS[1]), Value(KINDS[0], gives_itself=True)
PLACES = at_one_line, at_another, by_a_helper
STEPS = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(range(3)), st.sampled_from(range(3))),
    st.tuples(st.just("arguments"), st.booleans(), st.booleans()),
    st.tuples(st.just("grant"), st.integers(0, 4), st.none()),
    st.tuples(
        st.just("break"),
        st.sampled_from(["clock", "judge", "original", "look", "gave_itself"]),
        st.booleans(),
    ),
    st.tuples(st.just("one device"), st.booleans(), st.none()),
    st.tuples(st.just("known"), st.booleans(), st.none()),
    st.tuples(st.just("thread"), st.booleans(), st.none()),
    st.tuples(st.just("waiting"), st.booleans(), st.none()),
)


def lived(steps: list[tuple[str, Any, Any]], compiled_one: bool) -> tuple[object, ...]:
    """What a short way did in a world in which all of this happens."""
    world = World()
    way = world.way(compiled_one)
    before, front.reads = front.reads, world.beat
    try:
        for what, one, other in steps:
            if what == "read":
                _note(world, lambda: PLACES[one](way, VALUES[other]))  # noqa: B023
            elif what == "arguments":
                rest, named = (1,) * one, {"more": 1} if other else {}
                _note(world, lambda: at_one_line(way, VALUES[0], *rest, **named))  # noqa: B023
            elif what == "grant":
                world.tickets = one
            elif what == "break":
                (world.broken.add if other else world.broken.discard)(one)
            elif what == "one device":
                world.by_type = one
            elif what == "known":
                world.known.update({1: 1}) if one else world.known.clear()
            elif what == "thread":
                world.beat.thread = threading.get_ident() if one else 0
            else:
                world.doing.waiting = one
    finally:
        front.reads = before
    return world.diary, list(world.beat.log), world.doing.waiting


def _note(world: World, call: Callable[[], object]) -> None:
    try:
        result = call()
        world.diary.append(("result", id(result)))
    except ValueError as error:
        world.diary.append(("raised", str(error)))


@needs_compiled
@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=30))
def test_the_compiled_way_does_what_the_one_in_python_does(
    steps: list[tuple[str, Any, Any]],
) -> None:
    assert lived(steps, compiled_one=True) == lived(steps, compiled_one=False)


@pytest.fixture(params=[False, pytest.param(True, marks=needs_compiled)], ids=["python", "c"])
def in_use(request: pytest.FixtureRequest) -> Iterator[tuple[World, Hook]]:
    """A world whose reads take the short way, in Python and compiled."""
    world = World()
    before, front.reads = front.reads, world.beat
    yield world, world.way(request.param)
    front.reads = before


def test_a_read_at_a_known_place_is_timed_and_logged(in_use: tuple[World, Hook]) -> None:
    world, way = in_use
    world.tickets = 2
    for step in (7, 8):
        world.beat.step = step
        for _ in range(1):
            assert at_one_line(way, VALUES[0]) is KINDS[0]
    assert list(world.beat.log) == [("site 2", 1, 2, 7), ("site 2", 3, 4, 8)]
    assert world.diary == [("look", 0), ("original", True), ("original", True)]


def test_an_interrupt_in_the_clock_is_the_programs(in_use: tuple[World, Hook]) -> None:
    world, way = in_use
    world.tickets = 1

    def interrupted() -> int:
        raise KeyboardInterrupt

    world.beat.clock = interrupted
    with pytest.raises(KeyboardInterrupt):
        at_one_line(way, VALUES[0])
    assert not world.doing.waiting


def test_nothing_is_held_by_reads(in_use: tuple[World, Hook]) -> None:
    world, way = in_use
    world.tickets = 3
    value = Value(object())
    kept = value, value.told, world.beat, world.doing, world.known, way, at_one_line.__code__

    def held() -> list[int]:
        gc.collect()
        return [sys.getrefcount(each) for each in kept]

    for _ in range(9):
        at_one_line(way, value)
    before = held()
    for broken in ("", "original", "look", "clock", "judge"):
        world.broken = {broken}
        for _ in range(300):
            _note(world, lambda: at_one_line(way, value))
            _note(world, lambda: at_one_line(way, value, 1))
    world.broken = set()
    for _ in range(9):
        at_one_line(way, value)
    assert held() == before


@needs_compiled
def test_what_is_in_a_ring_of_references_goes() -> None:
    assert compiled.quick is not None
    world = World()
    gone: list[int] = []

    class Long:
        way: object = None

        def __call__(self, *args: object) -> None:
            pass

        def __del__(self) -> None:
            gone.append(1)

    long = Long()
    long.way = compiled.quick.Read(
        world.original, type, world, long, {}, front, Beat, Doing, above=0
    )
    del long
    gc.collect()
    assert gone


@needs_compiled
def test_classes_that_do_not_fit_are_refused() -> None:
    assert compiled.quick is not None
    world = World()

    class Open:
        """Without slots."""

    for beat, doing, named in ((Open, Doing, "clock"), (Beat, Open, "waiting")):
        with pytest.raises((TypeError, AttributeError), match=named):
            compiled.quick.Read(world.original, type, world, len, {}, front, beat, doing, above=0)
        with pytest.raises((TypeError, AttributeError), match=named):
            compiled.quick.Mark(len, front, beat, doing)


@pytest.mark.parametrize("compiled_one", [False, pytest.param(True, marks=needs_compiled)])
def test_the_update_of_who_sets_the_pace_ends_a_step(
    compiled_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, marked = World(), deque[object]()
    if compiled_one:
        assert compiled.quick is not None
        mine = Front(world.beat)
        updated = compiled.quick.Mark(marked.append, mine, Beat, Doing)
    else:
        monkeypatch.setattr(front, "marks", world.beat)
        monkeypatch.setattr(hub.hub, "mark", marked.append)
        updated = hub._updated
    leader, other = Value(1), Value(2)
    world.beat.pacer = id(leader)
    updated(leader, (), {})
    updated(other, (), {})
    updated(leader, (), {})
    assert (world.beat.step, world.beat.last, list(marked)) == (2, 2, [other])
    world.beat.pacer = 0
    updated(leader, (), {})
    assert (world.beat.step, list(marked)) == (2, [other, leader])


@pytest.mark.parametrize("way", ["python", pytest.param("compiled", marks=needs_compiled)])
def test_a_step_that_another_thread_ends_while_the_clock_is_asked_is_not_lost(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clock() -> int:  # of Python: threads take turns in it
        beat.step += 1
        return 7

    beat, optimizer = Beat(clock), Value("sets the pace")
    mine = Front(beat)
    monkeypatch.setattr(hub, "front", mine)
    updated: Hook = hub._updated
    if way == "compiled":
        assert compiled.quick is not None
        updated = compiled.quick.Mark(pytest.fail, mine, Beat, Doing)
    beat.lead(optimizer)
    updated(optimizer, (), {})
    assert (beat.step, beat.last) == (2, 7)


def test_python_alone_is_taken_where_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASYNCGUARD_PURE_PYTHON", "1")
    assert compiled.load() is None


@needs_compiled
def test_what_another_release_built_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASYNCGUARD_PURE_PYTHON", raising=False)
    assert compiled.load() is not None
    monkeypatch.setattr(compiled, "INTERFACE", -1)
    assert compiled.load() is None
