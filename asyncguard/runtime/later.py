"""Values that are read late: `asyncguard.later` starts a copy, whose handle gives the values.

    handle = asyncguard.later({"loss": loss, "norm": norm})
    ...                                         # the next step is enqueued
    log(handle.result())                        # {"loss": 0.25, "norm": 1.5}, mostly without a wait

The copy takes the values as they are when `later` is called, in the order of the device's work.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from asyncguard import catalogue
from asyncguard.model import AsyncguardError
from asyncguard.runtime import registry
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.frames import nearest
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.nesting import Build, take_apart
from asyncguard.runtime.sites import Blocker, ranks
from asyncguard.runtime.transit import RESULT, Arrived, Copier, Copy, Quiet, Slotted, on_host

_NONE: Any = object()
_MOST_KINDS = 1_024  # of which it is remembered who copies them
_fetching = threading.RLock()


class Handle:
    """Values on their way to the host. Any thread may ask for them."""

    __slots__ = ("__weakref__", "_build", "_copies", "_error", "_result", "_values")

    def __init__(self, build: Build, values: list[Any], copies: Sequence[Copy]) -> None:
        self._build = build
        self._values = values
        self._copies = copies
        self._result: Any = _NONE
        self._error: Exception | None = None

    def done(self) -> bool:
        """Whether `result` gives the values without a wait; never waits itself."""
        if self._result is not _NONE:
            return True
        with Quiet():
            return all(copy.done() for copy in self._copies)

    def result(self, default: Any = _NONE) -> Any:
        """Return the values: the nesting that was given, with host values in the arrays' places.

        default: what is returned where they are not there yet; without it they are waited for,
                 which counts as one wait.

        Arrays without axes are Python numbers, others NumPy arrays of their own; dtypes that NumPy
        lacks (bfloat16, float8) become float32. Raises what computing the values raised, and
        SyncLimitExceeded where a limit forbids the wait.
        """
        if self._result is _NONE:
            if default is not _NONE and not self.done():
                return default
            self._settle()
        if self._error is not None:
            raise self._error
        return self._result

    def _settle(self) -> None:
        """Wait if it must, and fetch the values, or keep what computing them raised."""
        try:
            late = () if self.done() else [copy for copy in self._copies if not copy.done()]
            for at, copy in enumerate(late):
                _wait(copy, counts=at == 0)
            with _fetching, Quiet():
                self._fetch()
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  who asks for the result gets it
            with _fetching:
                if self._result is _NONE:  # no other thread has the values
                    self._result, self._error = None, error

    def _fetch(self) -> None:
        if self._result is not _NONE:  # another thread was faster
            return
        for copy in self._copies:
            for slot, value in zip(copy.slots, copy.fetch(), strict=True):
                self._values[slot] = value
        self._result = self._build(self._values)
        self._copies, self._values = (), []

    def __repr__(self) -> str:
        return f"<asyncguard.Handle: {'done' if self.done() else 'under way'}>"


def later(value: Any) -> Handle:
    """Start to copy device values to the host, and return at once a handle that gives them.

        handle = asyncguard.later({"loss": loss, "norm": norm})
        handle.done()                 # are they there?
        handle.result(default=None)   # the values, or None: never a wait
        handle.result()               # the values; waits if it must

    value: an array of torch, JAX, TensorFlow, MXNet, CuPy, NumPy or `asyncguard.engine`, or any
           nesting of them in dictionaries, lists, tuples, named tuples and dataclasses. Anything
           else, such as a number, is given back as it is.

    The values are those of the moment of the call, also where an array is changed in place
    afterwards. Arrays of one dtype on one device travel in one transfer.

    Raises TypeError for arrays without values: in traced or compiled functions, sparse or meta.
    """
    found: dict[Copier, list[tuple[int, Any]]] = {}
    count = 0

    def replace(leaf: Any) -> int | None:
        nonlocal count
        copier = _copier(type(leaf))
        if copier is None:
            return None
        found.setdefault(copier, []).append((count, leaf))
        count += 1
        return count - 1

    with Quiet():
        build = take_apart(value, replace)
        copies = [copy for copier, arrays in found.items() for copy in copier.start(arrays)]
    return Handle(build, [None] * count, copies)


class Later:
    """A queue of copies for a loop: what a step puts into it comes out a step or more later.

        queue = asyncguard.Later(every=10)
        for step, batch in enumerate(loader):
            loss = train(batch)
            queue.put(step, {"loss": loss})
            for at, values in queue.ready():
                log(at, values)
        for at, values in queue.drain():
            log(at, values)

    every: the steps that are divisible by this number are copied, others are passed over.
    limit: at most so many copies are under way: `put` waits for the oldest where it must, as one
           wait. No more than that may be done and not taken out when `put` is called.

    Raises AsyncguardError where one of them is no whole number from 1 up. One thread puts in and
    takes out.
    """

    def __init__(self, every: int = 1, *, limit: int = 256) -> None:
        for name, number in (("every", every), ("limit", limit)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise AsyncguardError(f"{name} must be a whole number from 1 up, not {number!r}")
        self._every = every
        self._limit = limit
        self._under_way: deque[tuple[int, Handle]] = deque()
        self._done: deque[tuple[int, Handle]] = deque()

    def put(self, step: int, metrics: Any) -> None:
        """Start the copy of a step's values, as `later` does; does nothing between two `every`.

        Raises AsyncguardError where more than `limit` values are done and nobody takes them out.
        """
        if step % self._every:
            return
        self._sort()
        if len(self._done) > self._limit:
            raise AsyncguardError(
                f"{len(self._done)} values wait in asyncguard.Later and nobody takes them out: go"
                " through `ready()` in the loop, or give a larger `limit`"
            )
        if len(self._under_way) >= self._limit:
            self._under_way[0][1]._settle()
            self._sort()
        self._under_way.append((step, later(metrics)))

    def ready(self) -> Iterator[tuple[int, Any]]:
        """Take out (step, values) of those that are done, the oldest first; never waits."""
        self._sort()
        while self._done:
            step, handle = self._done.popleft()
            yield step, handle.result()
            self._sort()

    def drain(self) -> Iterator[tuple[int, Any]]:
        """Take out (step, values) of all that are left, the oldest first; waits for each."""
        while self._done or self._under_way:
            step, handle = (self._done or self._under_way).popleft()
            yield step, handle.result()

    def __len__(self) -> int:
        """How many values are in it, done or under way."""
        return len(self._done) + len(self._under_way)

    def _sort(self) -> None:
        """Fetch those that are done, so that their buffers on the way serve again."""
        while self._under_way and self._under_way[0][1].done():
            entry = self._under_way.popleft()
            self._done.append(entry)
            entry[1]._settle()


def _wait(copy: Copy, counts: bool) -> None:
    """Wait for a copy: one of the user's waits, at the line outside asyncguard, where it counts."""
    doing = state.doing
    if copy.reports and counts:
        copy.wait()
        return
    blocker = _blocker(copy) if counts and hub.generation and not doing.waiting else None
    site = blocker.site(nearest(sys._getframe(1), ranks)) if blocker is not None else None
    if site is None:
        with Quiet():
            copy.wait()
        return
    site = hub.allow(site, 1)
    sink = hub.sink
    began = sink.begin()
    try:
        with Quiet():
            copy.wait()
    except BaseException:
        sink.cancel(began)
        raise
    sink.end(site, began)


def _blocker(copy: Copy) -> Blocker | None:
    """What a wait for a copy is charged to; None where its framework is not hooked."""
    for adapter in registry.registry.adapters():
        device = adapter.device_of(copy.source)
        if device is not None:
            return _blocker_of(adapter, device)
    return None


_blockers: dict[tuple[str, str], Blocker] = {}


def _blocker_of(adapter: Adapter, device: str) -> Blocker:
    key = adapter.framework.name, device
    if key not in _blockers:
        point = catalogue.load()[RESULT]._replace(framework=adapter.framework.name)
        _blockers[key] = adapter.blocker(point, device)
    return _blockers[key]


class _HostArrays:
    """NumPy's arrays, which are copied at once."""

    framework = "numpy"

    def takes(self, kind: type) -> bool:
        """Whether it is NumPy's own array, or derives from it."""
        numpy = sys.modules.get("numpy")
        return numpy is not None and issubclass(kind, numpy.ndarray)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """Copy them."""
        values = [on_host(array) for _, array in arrays]
        return [Arrived([slot for slot, _ in arrays], values)]


_copiers: dict[str, Copier] = {"numpy": _HostArrays()}
_known: dict[type, Copier | None] = {}  # by the types of leaves


def _copier(kind: type) -> Copier | None:
    """Who copies values of this type; None: they are no arrays."""
    try:
        return _known[kind]
    except KeyError:
        found = next((copier for copier in _present() if copier.takes(kind)), None)
        if len(_known) < _MOST_KINDS:
            _known[kind] = found
        return found


def _present() -> Iterator[Copier]:
    """The copiers of the frameworks that the program has imported."""
    yield _copiers["numpy"]
    homes = registry.homes()
    for name in sorted(registry.Registry.imported()):
        if name not in _copiers:
            made = homes[name].load().copier()
            if made is None:
                continue
            _copiers[name] = made
        yield _copiers[name]
