"""What holds of `later` and `Later` whatever is put in, and whenever the device gets on."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import asyncguard
from asyncguard.runtime import later as late
from asyncguard.runtime.transit import Slotted, unpacked
from tests.frameworks import require

numpy = require("numpy")
Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Record:
    one: Any
    other: Any = dataclasses.field(default=None, init=False)


def record(one: Any, other: Any) -> Record:
    made = Record(one)
    made.other = other
    return made


class Remote:
    """An array of a device that is played."""

    def __init__(self, value: int) -> None:
        self.value = value


class Transfer:
    """A copy that is done when it is told so, or waited for."""

    reports = False
    source = None

    def __init__(self, slots: Sequence[int], values: list[int]) -> None:
        self.slots, self.values = slots, values
        self.is_done = False
        self.waits = self.fetches = 0

    def done(self) -> bool:
        return self.is_done

    def wait(self) -> None:
        self.waits += 1
        self.is_done = True

    def fetch(self) -> list[Any]:
        assert self.is_done
        self.fetches += 1
        return self.values


class Played:
    """Copies remote arrays."""

    framework = "played"

    def __init__(self) -> None:
        self.started: list[Transfer] = []

    def takes(self, kind: type) -> bool:
        return kind is Remote

    def start(self, arrays: Slotted) -> list[Transfer]:
        slots = [slot for slot, _ in arrays]
        self.started.append(Transfer(slots, [each.value for _, each in arrays]))
        return self.started[-1:]


def _played(copier: Played) -> Played:
    late._known[Remote] = copier
    return copier


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    yield
    late._known.pop(Remote, None)


LEAVES = st.integers(0, 99).map(Remote) | st.integers() | st.text(max_size=2) | st.none()
MAKERS: list[Callable[[Any, Any], Any]] = [
    Pair,
    record,
    lambda a, b: (a, b),
    lambda a, b: [a, [], b],
    lambda a, b: {"a": a, 1: b},
    lambda a, b: OrderedDict(z=a, y=b),
    lambda a, b: defaultdict(list, a=a, b=b),
]
NESTINGS = st.recursive(
    LEAVES,
    lambda inner: st.builds(lambda make, *of: make(*of), st.sampled_from(MAKERS), inner, inner),
)


def plain(value: Any) -> Any:
    """The nesting with each remote array's value in its place, worked out in another way."""
    if isinstance(value, Remote):
        return value.value
    if isinstance(value, Pair):
        return Pair(*map(plain, value))
    if isinstance(value, Record):
        return record(plain(value.one), plain(value.other))
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        made = value.copy()
        made.update((key, plain(each)) for key, each in value.items())
        return made
    return value


@given(NESTINGS)
def test_the_result_is_the_nesting_that_was_given(value: Any) -> None:
    copier, wanted = _played(Played()), plain(value)
    handle = asyncguard.later(value)
    _spoil(value)
    found = handle.result()
    assert found == wanted
    assert _types(found) == _types(wanted)
    assert len(copier.started) <= 1  # one transfer for all


def _spoil(value: Any) -> None:
    if isinstance(value, list | dict):
        value.clear()


def _types(value: Any) -> Any:
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, Record):
        parts = (value.one, value.other)
    return type(value), [_types(part) for part in parts]


def test_a_factory_of_defaults_keeps_making_them() -> None:
    found = asyncguard.later(defaultdict(list, a=numpy.ones(()))).result()
    assert (found["a"], found["new"]) == (1, [])


ACTIONS = st.lists(
    st.sampled_from(["put", "put", "put", "done", "ready", "one"]) | st.integers(0, 5), max_size=60
)


@given(ACTIONS, st.integers(1, 4), st.integers(1, 3))
def test_all_that_is_put_comes_out_once_and_in_order(
    actions: list[Any], limit: int, every: int
) -> None:
    copier, queue = _played(Played()), asyncguard.Later(every, limit=limit)
    put: list[int] = []
    seen: list[tuple[int, Any]] = []
    for step, action in enumerate(actions):
        if action == "put":
            try:
                queue.put(step, {"step": Remote(step)})
            except asyncguard.AsyncguardError:
                seen += queue.ready()
                queue.put(step, {"step": Remote(step)})
            put += [step] if step % every == 0 else []
        elif action == "ready":
            seen += queue.ready()
        elif action == "one":
            seen += list(islice(queue.ready(), 1))
        elif action == "done" or action >= len(copier.started):
            for each in copier.started:
                each.is_done = True
        else:
            copier.started[action].is_done = True
        under_way = sum(not each.fetches for each in copier.started)
        assert under_way <= limit
        assert len(queue) <= 2 * limit + 1
    seen += queue.drain()
    assert [step for step, _ in seen] == put
    assert all(values == {"step": step} for step, values in seen)
    assert all(each.fetches == 1 for each in copier.started)
    assert len(queue) == 0


@given(ACTIONS, st.integers(60, 70))
def test_a_loop_that_takes_out_what_is_ready_never_waits(actions: list[Any], limit: int) -> None:
    copier, queue = _played(Played()), asyncguard.Later(limit=limit)
    for step, action in enumerate(actions):
        if action == "put":
            queue.put(step, Remote(step))
        elif isinstance(action, int) and action < len(copier.started):
            copier.started[action].is_done = True
        list(queue.ready())
    assert not any(each.waits for each in copier.started)


def test_what_nobody_takes_out_is_an_error_that_says_what_to_do() -> None:
    queue = asyncguard.Later(limit=2)
    for step in range(3):
        queue.put(step, 1.0)
    with pytest.raises(asyncguard.AsyncguardError, match=r"go through `ready\(\)`"):
        queue.put(3, 1.0)
    assert list(queue.ready()) == [(0, 1.0), (1, 1.0), (2, 1.0)]
    queue.put(3, 1.0)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"])
@pytest.mark.parametrize("name", ["every", "limit"])
def test_numbers_that_make_no_sense(name: str, wrong: Any) -> None:
    with pytest.raises(asyncguard.AsyncguardError, match=f"{name} must be a whole number"):
        asyncguard.Later(**{name: wrong})


def test_what_fails_to_be_computed_is_raised_where_it_is_asked_for() -> None:
    """And by nothing else: a queue goes on."""
    from asyncguard import engine

    queue = asyncguard.Later()
    bad = engine.np.ones(())
    engine.current().push(lambda: 1 / 0, writes=[bad.variable])
    queue.put(0, bad)
    queue.put(1, engine.np.ones(()))
    handle = asyncguard.later(bad)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            handle.result()
    assert handle.done()
    rest = queue.drain()
    with pytest.raises(ZeroDivisionError):
        next(rest)
    assert list(queue.drain()) == [(1, 1.0)]


def test_a_thread_that_fails_takes_nothing_from_one_that_has_the_values() -> None:
    copier = _played(Played())
    handle = asyncguard.later(Remote(3))
    (copy,) = copier.started

    def wait() -> None:  # meanwhile another thread gets the values
        copy.is_done = True
        assert handle.result() == 3
        raise OSError("interrupted")

    copy.wait = wait  # type: ignore[method-assign]
    assert handle.result() == 3


def test_numpys_arrays_are_copied_at_once() -> None:
    array = numpy.arange(3)
    handle = asyncguard.later([array, numpy.array(2.5), numpy.float32(1)])
    array[:] = 0
    found, number, scalar = handle.result()
    assert (found.tolist(), number, scalar) == ([0, 1, 2], 2.5, 1)
    assert type(number) is float


@given(st.lists(st.sampled_from([(), (0,), (3,), (2, 2), (1, 0, 2)]), min_size=1))
def test_joined_arrays_come_apart(shapes: list[tuple[int, ...]]) -> None:
    count = sum(int(numpy.prod(shape)) for shape in shapes)
    flat = numpy.arange(count)
    values = [numpy.asarray(each) for each in unpacked(flat, shapes)]
    assert [each.shape for each in values] == shapes
    assert numpy.concatenate([each.ravel() for each in values]).tolist() == flat.tolist()
