"""What is taken over stays the object that it is, on plain objects of every kind."""

from __future__ import annotations

import array
import collections
import copy
import ctypes
import gc
import importlib
import inspect
import itertools
import math
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.model import AsyncguardError
from asyncguard.runtime import takeover
from asyncguard.runtime.detours import ByCode
from asyncguard.runtime.takeover import Batch, Hold, Layer, Target, target, unwrap
from tests.runtime.helpers import is_watched


class Thing:
    """A thing."""

    def __getitem__(self, index: int) -> int:
        return index

    def method(self, a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    @property
    def prop(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "thing"

    def __bool__(self) -> bool:
        return True

    @staticmethod
    def static(x: int) -> int:
        return x

    @classmethod
    def klass(cls) -> type:
        return cls


def function(a: int, b: int = 1) -> int:
    return a + b


BY_NAME = (
    Thing.method, Thing.__getitem__, Thing.__repr__, function, math.sqrt, math.hypot,
    array.array.tolist, collections.deque.copy, str.encode,
)  # fmt: skip
THINGS = (
    *BY_NAME, Thing.__bool__,
    *(unwrap(vars(Thing)[name]) for name in ("prop", "static", "klass")),
)  # fmt: skip
FACTS = (
    "__name__ __qualname__ __doc__ __module__ __class__ __self__ __objclass__ __text_signature__"
)


def use(times: int) -> None:
    """Call each of them, often enough for the interpreter to specialise its instructions."""
    thing, items, numbers = Thing(), collections.deque([1]), array.array("i", [1])
    for _ in range(times):
        thing[1], thing.method(1), thing.method(a=1, b=3), thing.prop, f"{thing}"
        assert thing
        thing.static(1), Thing.static(2), thing.klass(), function(1), function(1, b=2)
        math.sqrt(4.0), math.hypot(3, 4), numbers.tolist(), array.array.tolist(numbers)
        items.copy(), "x".encode("ascii")
        bound = items.copy
        bound()


CALLS = 18  # in each turn


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def make(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def hook(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return original(*args, **kwargs)

        return hook


@pytest.fixture
def counter() -> Iterator[Counter]:
    """Counts the calls of all things."""
    counter = Counter()
    layers = [(target(thing), Layer(counter.make)) for thing in THINGS]
    for at, layer in layers:
        at.add(layer)
    yield counter
    for at, layer in layers:
        at.remove(layer)


def test_every_call_is_seen_also_where_the_interpreter_has_specialised_it(counter: Counter) -> None:
    counter.calls = 0
    use(300)
    assert counter.calls == 300 * CALLS


def test_calls_are_not_seen_any_more_when_the_last_layer_is_gone() -> None:
    counter = Counter()
    layer = Layer(counter.make)
    for _ in range(3):
        target(function).add(layer)
        use(200)
        target(function).remove(layer)
        use(200)
    assert counter.calls == 3 * 200 * 2
    assert type(function) is type(use)


def facts(thing: Any) -> list[Any]:
    """What can be asked of a callable."""
    try:
        signature: object = inspect.signature(thing)
    except ValueError:
        signature = None
    known = [getattr(thing, name, "none") for name in FACTS]
    kinds = (inspect.isfunction, inspect.isbuiltin, inspect.ismethoddescriptor, inspect.isroutine)
    return [id(thing), hash(thing), repr(thing), signature, *known, *(ask(thing) for ask in kinds)]


def test_it_shows_what_it_showed_before() -> None:
    before = [facts(thing) for thing in THINGS]
    counter = Counter()
    layers = [(target(thing), Layer(counter.make)) for thing in THINGS]
    table = dict.fromkeys(THINGS, "before")
    for at, layer in layers:
        at.add(layer)
    try:
        assert [facts(thing) for thing in THINGS] == before
        assert all(table[thing] == "before" for thing in THINGS)
        assert all(isinstance(thing, thing.__class__) for thing in THINGS)
    finally:
        for at, layer in layers:
            at.remove(layer)
    assert [facts(thing) for thing in THINGS] == before


def test_it_is_pickled_by_name_and_copied_as_itself() -> None:
    before = [pickle.dumps(thing) for thing in BY_NAME]
    layers = [(target(thing), Layer(Counter().make)) for thing in BY_NAME]
    for at, layer in layers:
        at.add(layer)
    try:
        assert [pickle.dumps(thing) for thing in BY_NAME] == before
        assert [pickle._dumps(thing) for thing in BY_NAME]  # type: ignore[attr-defined]
        assert all(copy.deepcopy(thing) is thing for thing in BY_NAME)
        assert all(pickle.loads(data) is t for data, t in zip(before, BY_NAME, strict=True))
    finally:
        for at, layer in layers:
            at.remove(layer)


def test_layers_nest_and_leave_in_any_order() -> None:
    calls: list[str] = []

    def layer(name: str) -> Layer:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def hook(*args: Any, **kwargs: Any) -> Any:
                calls.append(name)
                return original(*args, **kwargs)

            return hook

        return Layer(make)

    at, inner, outer = target(math.hypot), layer("inner"), layer("outer")
    at.add(inner)
    at.add(outer)
    assert math.hypot(3, 4) == 5
    at.remove(inner)
    assert math.hypot(3, 4) == 5
    at.remove(outer)
    assert math.hypot(3, 4) == 5
    assert calls == ["outer", "inner", "outer"]


def test_a_hook_is_made_once_for_as_long_as_what_it_calls_is_the_same() -> None:
    made: list[object] = []

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        made.append(original)
        return original

    layer = Layer(make)
    for _ in range(3):
        target(math.hypot).add(layer)
        target(math.hypot).remove(layer)
    assert len(made) == 1


def test_exceptions_pass_and_arguments_are_checked_as_before() -> None:
    layer = Layer(Counter().make)
    target(math.sqrt).add(layer)
    try:
        with pytest.raises(ValueError, match="math domain error"):
            math.sqrt(-1)
        with pytest.raises(TypeError, match="exactly one argument"):
            math.sqrt()  # type: ignore[call-arg]
    finally:
        target(math.sqrt).remove(layer)


def test_memory_holds_what_is_referred_to(counter: Counter) -> None:
    for _ in range(3):
        gc.collect()
        counter.calls = 0
        use(10)
        assert counter.calls == 10 * CALLS


def test_a_class_is_refused() -> None:
    with pytest.raises(TypeError, match="is a class"):
        Target(int)


def test_another_layout_is_refused_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    pointer = ctypes.sizeof(ctypes.c_void_p)
    monkeypatch.setattr(takeover, "_TYPE", object.__basicsize__)
    with pytest.raises(TypeError, match="objects are not laid out"):
        Target(math.floor)
    monkeypatch.setattr(takeover, "_FLAGS", takeover._FLAGS - pointer)
    with pytest.raises(TypeError, match="types are not laid out"):
        Target(math.floor)
    assert type(math.floor) is type(len)


def test_an_interpreter_that_ends_meanwhile_ends_well() -> None:
    program = (
        "import collections, math\n"
        "from asyncguard.runtime.takeover import Layer, target\n"
        "def f(): pass\n"
        "for thing in (f, math.sqrt, collections.deque.copy, str.__getitem__):\n"
        "    target(thing).add(Layer(lambda original: lambda *a: original(*a)))\n"
        "f(), math.sqrt(4), collections.deque().copy()\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="noted elsewhere from 3.13 on")
def test_what_the_interpreter_notes_of_a_type_meanwhile_is_kept() -> None:
    has_version = 1 << 19  # Py_TPFLAGS_VALID_VERSION_TAG: without it, caches are not emptied

    class Noting(type):
        def __new__(cls, name: str, bases: Any, names: Any) -> Any:
            made = super().__new__(cls, name, bases, names)
            if bases:
                assert bases[0].__name__ == made.__mro__[1]().read()  # a look-up of the base's
            return made

    class Kind(metaclass=Noting):
        def read(self) -> str:
            return "Kind"

        def __call__(self) -> None: ...

    Kind.read = Kind.read  # type: ignore[method-assign]  # the type has no version from here on
    assert not Kind.__flags__ & has_version
    takeover._double(Kind)
    assert Kind.__flags__ & has_version


def functions_whose_metaclass_makes_no_classes() -> list[Any]:
    """One of each of these modules: Cython 3.1 and newer compiled it, as it did CuPy 14."""
    found = []
    for name in ("numpy.random.mtrand", "fastrlock.rlock", "charset_normalizer.md"):
        try:
            things = vars(importlib.import_module(name)).values()
        except ImportError:
            continue
        made = (t for t in things if type(type(t)).__flags__ & takeover._MAKES_NOTHING)
        found.extend(itertools.islice(filter(callable, made), 1))
    return found


def test_functions_whose_metaclass_makes_no_classes_are_watched_in_place() -> None:
    functions = functions_whose_metaclass_makes_no_classes()
    if not functions:
        pytest.skip("no module here is compiled by Cython 3.1 or newer")
    for function in functions:
        kind, metaclass = type(function), type(type(function))
        calls: list[tuple[Any, ...]] = []
        layer = takeover.Layer(lambda _, calls=calls: lambda *args: calls.append(args))
        target = takeover.target(function)
        target.add(layer)
        function("a", 1)
        assert calls == [("a", 1)]
        target.remove(layer)
        assert (type(function), type(kind)) == (kind, metaclass)


def test_what_is_taken_over_again_needs_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit in each step of a loop takes hundreds of functions over, each time."""

    def watched(x: int, *, y: int = 1) -> int:
        return x + y

    seen: list[int] = []

    def make(original: takeover.Function) -> takeover.Function:
        def hook(*args: Any, **kwargs: Any) -> Any:
            seen.append(args[0])
            return original(*args, **kwargs)

        return hook

    target, layer, other = takeover.target(watched), takeover.Layer(make), takeover.Layer(make)
    target.add(layer)
    code = watched.__code__
    target.remove(layer)
    monkeypatch.setattr("builtins.compile", lambda *_, **__: pytest.fail("compiled"))
    target.add(layer)
    assert watched.__code__ is code
    assert watched(1) == 2
    target.add(other)  # by the same template
    assert watched(2, y=0) == 2
    target.remove(other)
    target.remove(layer)
    assert watched(3) == 4
    assert seen == [1, 2, 2]


def test_what_has_changed_meanwhile_is_taken_over_as_it_is_now() -> None:
    def watched() -> int:
        return 1

    target = takeover.target(watched)
    layer = takeover.Layer(lambda original: lambda: -original())
    for change in (
        lambda: None,
        lambda: setattr(watched, "__code__", (lambda: 2).__code__),
        lambda: None,
    ):
        change()
        bare = watched()
        target.add(layer)
        assert watched() == -bare
        target.remove(layer)
        assert watched() == bare
    assert bare == 2


def test_a_free_threaded_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    takeover.check_interpreter()
    monkeypatch.setattr("sysconfig.get_config_var", {"Py_GIL_DISABLED": 1}.get)
    with pytest.raises(AsyncguardError, match="free-threaded Python: run it on the build with"):
        takeover.check_interpreter()


def python_function(items: collections.deque[int]) -> int:
    return len(items)


PLACES = (python_function, math.fsum, collections.deque.copy)


class Player:
    """Puts layers on and takes them off, and says which ones a call has to pass through."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.on: dict[Any, list[str]] = {place: [] for place in PLACES}
        self.single = {place: self.hold(place, "single") for place in PLACES}
        self.batches = {
            name: {place: self.hold(place, name) for place in places}
            for name, places in (("all", PLACES), ("some", PLACES[:2]), ("last", PLACES[2:]))
        }
        self.made = {name: Batch(holds.values()) for name, holds in self.batches.items()}

    def hold(self, place: Any, name: str) -> Hold:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def hook(*args: Any) -> Any:
                self.passed.append(name)
                return original(*args)

            return hook

        return Hold(target(place), Layer(make))

    def turn(self, name: str, place: Any) -> None:
        """Put on what is off, and take off what is on; "drop", "code": of the batch "all" only."""
        if name == "single":
            hold, on = self.single[place], self.on[place]
            (hold.target.remove if name in on else hold.target.add)(hold.layer)
            on.remove(name) if name in on else on.append(name)
        elif name == "code":
            if not any(self.on[python_function]):
                python_function.__code__ = python_function.__code__.replace()
        elif name == "drop":
            if place in self.batches["all"] and "all" in self.on[place]:
                self.made["all"].drop(self.batches["all"].pop(place))
                self.on[place].remove("all")
        else:
            holds = self.batches[name]
            is_on = any(name in self.on[place] for place in holds)
            self.made[name].take_off() if is_on else self.made[name].put()
            for place in holds:
                self.on[place].remove(name) if is_on else self.on[place].append(name)

    def check(self) -> None:
        for place, on in self.on.items():
            self.passed.clear()
            assert place(collections.deque()) in (0, collections.deque())
            assert self.passed == on[::-1]
            assert is_watched(place) == bool(on)


TURNS = st.tuples(
    st.sampled_from(["single", "all", "all", "some", "last", "drop", "code"]),
    st.sampled_from(PLACES),
)


@given(st.lists(TURNS, max_size=12))
def test_layers_come_and_go_alone_and_together(turns: list[tuple[str, Any]]) -> None:
    player = Player()
    for turn in turns:
        player.turn(*turn)
        player.check()
    for place in PLACES:
        for name in list(player.on[place]):
            player.turn(name, place)
    player.check()
    assert not any(map(is_watched, PLACES))


@pytest.mark.parametrize("again", [False, True], ids=["the first time", "again"])
def test_each_layer_of_a_batch_is_taken_off_whatever_becomes_of_the_others(
    again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = Batch(Hold(target(place), Layer(Counter().make)) for place in PLACES)
    if again:
        batch.put()
        batch.take_off()
    batch.put()
    give_back = ByCode.give_back
    monkeypatch.setattr(ByCode, "give_back", lambda way: give_back(way) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        batch.take_off()
    assert not any(map(is_watched, PLACES))


@pytest.mark.parametrize("again", [False, True], ids=["the first time", "again"])
def test_a_batch_that_cannot_be_put_on_leaves_nothing(
    again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = Batch(Hold(target(place), Layer(Counter().make)) for place in PLACES[::-1])
    if again:
        batch.put()
        batch.take_off()
    monkeypatch.setattr(ByCode, "_take", lambda way: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            batch.put()
        assert not any(map(is_watched, PLACES))
    monkeypatch.undo()
    batch.put()
    assert all(map(is_watched, PLACES))
    batch.take_off()
    assert not any(map(is_watched, PLACES))
