"""From a catalogue entry to the question "is this call a sync point?".

Each entry becomes a `Probe`: it checks the entry's conditions on the arguments of a call, finds
the value whose device decides, and answers with the `Blocker` (the API on that device) or None.
"""

from __future__ import annotations

import fnmatch
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from asyncguard.catalogue import Condition, SyncPoint
from asyncguard.model import STAND_IN
from asyncguard.runtime.adapter import HOST, Adapter, Judge
from asyncguard.runtime.sites import Blocker
from asyncguard.runtime.sizes import NUMBERS

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Applies = Callable[[Args, Kwargs], bool]
Pick = Callable[[Args, Kwargs], Any]

_EACH = frozenset({"number", "elements"})  # entries whose values are read one by one
_LOOK_AT = 8  # elements of a list that are looked at for a device value
_CONTAINERS = frozenset({list, tuple, dict})


class Probe:
    """Judges the calls of one patched attribute, that at `path`, by one catalogue entry."""

    def __init__(self, point: SyncPoint, adapter: Adapter, path: str, method: bool) -> None:
        assert point.runtime is not None
        runtime = point.runtime
        self._point = point
        self._adapter = adapter
        self._value = runtime.value
        self._moves = runtime.moves
        self._times = adapter.times_of(point, path)
        self._path = path
        self._pick = _picker(point, method)
        thorough = runtime.value in ("contents", "number")
        self._look_within = self._device_of_all if thorough else self._device_within
        parts = _conditions(point, adapter, method, path)
        self.applies: Applies = _all(parts)  # whether the arguments meet the entry's conditions
        self._blockers: dict[str, Blocker] = {}
        unless = point.unless
        self._flag = unless.flag if unless is not None and unless.staged else ()
        # What a framework writes from the host itself goes into fresh arrays: nobody to wait for.
        operators = _operators(point)
        self._writes_from_host = "host-write" in operators
        self._indexes = "index-upload" in operators
        self._reads_index = "scalar-index" in operators
        self.late = bool(runtime.moves) or runtime.value == "result"
        # From which argument on all that are plain numbers mean no wait; None: they tell nothing.
        self.numbers_from: int | None = None
        if runtime.value == "number":
            self.numbers_from = _first_listed(point, method)
        self.quick: Judge | None = None  # by the value alone; None: take the long way
        if method and runtime.value == "self" and not parts and self._times is None:
            self.quick = adapter.quick_judge(self._blockers)

    def after(self, args: Args, kwargs: Kwargs, result: Any) -> Blocker | None:
        """What a call that `applies` has waited for, judged by where its result is."""
        # What returns None works in place (`x[list] = y`).
        target = self._device_within(args[0] if result is None and args else result)
        if self._moves:
            blocker = self._after_move(args, kwargs, target)
            return None if blocker is None or self._adapter.is_empty(result) else blocker
        return None if target is None else self._blocker(target)

    def foresee(self, args: Args, kwargs: Kwargs) -> Blocker | None:
        """What a call that `applies` will wait for, if its arguments tell where data goes."""
        target = self._adapter.destination_of(self._path, args, kwargs) if self._moves else None
        if target is None or self._adapter.is_empty(self._pick(args, kwargs)):
            return None
        return self._after_move(args, kwargs, target)

    def _after_move(self, args: Args, kwargs: Kwargs, target: str | None) -> Blocker | None:
        if self._indexes:  # as `applies` has found; on a device, a list would have to be sent
            return None if target is None else self._blocker(target)
        if target == STAND_IN and self._moves == "upload":
            return None  # nobody can tell here what would be an upload
        source = self._device_within(self._pick(args, kwargs))
        start, end = (source, target) if self._moves == "download" else (target, source)
        if start is None or start == STAND_IN or (end is not None and end != STAND_IN):
            return None
        return self._blocker_of_copy(start, args, kwargs)

    def _blocker_of_copy(self, device: str, args: Args, kwargs: Kwargs) -> Blocker:
        """The blocker of a copy; of one that was told not to block, with the reason."""
        told = self._flag and _is_set(self._flag, args, kwargs)
        why = self._adapter.held(self._moves, self._path, args, kwargs) if told else None
        return self._blocker(device, why)

    def before(self, args: Args, kwargs: Kwargs) -> Blocker | None:
        """What the call will wait for; None where it does not block."""
        if not self.applies(args, kwargs):
            return None
        if self._value == "none":
            default = self._adapter.default_device()
            # The other processes take as long, whatever stands in for their devices.
            own = default == STAND_IN and self._point.waits_for == "ranks"
            return self._blocker(HOST if own else default)
        if self._value == "call":
            called_for = self._adapter.device_of_call(self._point.id, args, kwargs)
            return None if called_for is None else self._blocker(called_for)
        picked = self._pick(args, kwargs)
        if self._value == "elements" and not isinstance(picked, list | tuple):
            return None
        device = self._look_within(picked)
        if self._reads_index and device == STAND_IN:
            device = self._device_of_index(args) or device
        if self._value == "cpu_argument":
            device = HOST if device == STAND_IN else None
        return None if device is None else self._blocker(device)

    def _device_of_index(self, args: Args) -> str | None:
        """The accelerator of an index: a table on the host waits for it, too."""
        index = args[1] if len(args) > 1 else None
        for part in index if isinstance(index, tuple) else (index,):
            device = None if type(part) in NUMBERS else self._adapter.device_of(part)
            if device is not None and device != STAND_IN:
                return device
        return None

    def _device_within(self, value: Any) -> str | None:
        """The device of a value, or of the first device value in a list, tuple or dict."""
        kind = type(value)
        if kind in NUMBERS:
            return None
        if kind not in _CONTAINERS:
            device = self._adapter.device_of(value)
            if device is not None or not isinstance(value, list | tuple | dict):
                return device
        parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for part in islice(parts, _LOOK_AT):
            if type(part) not in NUMBERS and (device := self._device_within(part)):
                return device
        return None

    def _device_of_all(self, value: Any) -> str | None:
        """The device of anything in there, however deep; an accelerator's before the stand-in."""
        found = None
        pending, seen = [value], set[int]()
        while pending:
            part = pending.pop()
            if type(part) in NUMBERS or id(part) in seen:
                continue
            seen.add(id(part))
            device = self._adapter.device_of(part)
            if device is not None and device != STAND_IN:
                return device
            found = device or found
            if isinstance(part, dict):
                pending += part.values()
            elif isinstance(part, list | tuple | set):
                pending += part
        return found

    def _blocker(self, device: str, why: str | None = None) -> Blocker:
        key = device if why is None else f"{device}: {why}"
        blocker = self._blockers.get(key)
        if blocker is None:
            each = self._value in _EACH
            made = self._adapter.blocker(
                self._point,
                device,
                users_only=self._writes_from_host,
                times=functools.partial(self._read_of, device) if each else self._times,
                why=why,
            )
            blocker = self._blockers.setdefault(key, made)
        return blocker

    def _read_of(self, device: str, args: Args, kwargs: Kwargs) -> int:
        """How many values of a device a call is given where numbers are expected."""
        found, pending = 0, [self._pick(args, kwargs)]
        while pending:
            part = pending.pop()
            if isinstance(part, list | tuple):
                pending += part
            elif type(part) not in NUMBERS:
                found += self._adapter.device_of(part) == device
        return max(1, found)


def _picker(point: SyncPoint, method: bool) -> Pick:
    """Whose device decides: self, the arguments that the entry lists, or the first one."""
    assert point.runtime is not None
    if point.runtime.value == "self" and (method or not _listed(point, method)):
        return lambda args, kwargs: args[0] if args else next(iter(kwargs.values()), None)
    if _listed(point, method):
        return _pick_listed(point, method)
    skip = (1 if method else 0) + (point.runtime.value == "second_argument")
    return lambda args, kwargs: (
        args[skip] if len(args) > skip else next(iter(kwargs.values()), None)
    )


def _listed(point: SyncPoint, method: bool) -> tuple[int | str, ...]:
    """The arguments that must hold a device value; the source half of the entry names them."""
    if point.source is None or (method and point.source.functions):
        return ()  # of an entry for both forms, they describe the function's
    return point.source.arguments


def _first_listed(point: SyncPoint, method: bool) -> int:
    """The first argument by position that is listed, self counted; past all where none is."""
    positions = [at for at in _listed(point, method) if isinstance(at, int)]
    return max(min(positions), 0) + (1 if method else 0) if positions else sys.maxsize


def _pick_listed(point: SyncPoint, method: bool) -> Pick:
    """The values of the listed arguments: positions after self, keywords, or all for -1."""
    listed = _listed(point, method)
    skip = 1 if method else 0
    positions = tuple(where + skip for where in listed if isinstance(where, int))
    keywords = tuple(where for where in listed if isinstance(where, str))
    if -1 in listed:
        return lambda args, kwargs: [
            *args[skip:],
            *(value for name, value in kwargs.items() if name != "out"),  # that is written
        ]
    if len(positions) == 1:
        (only,) = positions
        return lambda args, kwargs: (
            args[only]
            if len(args) > only
            else [kwargs[name] for name in keywords if name in kwargs]
        )
    return lambda args, kwargs: [
        *(args[at] for at in positions if at < len(args)),
        *(kwargs[name] for name in keywords if name in kwargs),
    ]


def _conditions(point: SyncPoint, adapter: Adapter, method: bool, path: str) -> tuple[Applies, ...]:
    """All of the entry's conditions; none where it always blocks, or the adapter decides."""
    assert point.runtime is not None
    if point.runtime.value == "call":
        return ()
    skip = 1 if method else 0
    devices = not point.runtime.moves  # where data moved is seen, and beats what arguments say
    parts: list[Applies] = []
    if operators := _operators(point):
        parts.append(lambda args, kwargs: not operators.isdisjoint(adapter.index_operators(args)))
    if point.when is not None:
        parts.append(condition(point.when, skip, devices, adapter.is_device_set))
    if point.unless is not None:
        met = _all((condition(point.unless, skip, devices), *_memory_tests(point, adapter, path)))
        parts.append(lambda args, kwargs: not met(args, kwargs))
    if point.runtime.value == "second_argument":
        parts.append(lambda args, kwargs: bool(getattr(args[skip + 1], "ndim", 0)))
        if point.runtime.moves == "upload":  # but for what a mask fills in
            parts.append(lambda args, kwargs: "host-write" in adapter.index_operators(args))
    if point.runtime.value == "self" and method and _listed(point, method):
        parts.append(_argument_on_device(point, adapter))
    return tuple(parts)


def _memory_tests(point: SyncPoint, adapter: Adapter, path: str) -> Iterator[Applies]:
    """What an entry's `unless` asks of memory on the host."""
    assert point.runtime is not None
    if point.unless is not None and point.unless.staged:
        moves = point.runtime.moves
        yield lambda args, kwargs: adapter.held(moves, path, args, kwargs) is None


def _operators(point: SyncPoint) -> frozenset[str]:
    """The sorts of index that the entry is about, where the hook sees the index.

    None of one that hangs on where the value is that is written: that is looked at itself.
    """
    assert point.runtime is not None
    indexing = any(path.endswith(("__getitem__", "__setitem__")) for path in point.runtime.patch)
    if not indexing or point.runtime.value == "second_argument":
        return frozenset()
    source = point.source.operators if point.source is not None else ()
    return frozenset(point.runtime.operators or source)


def _argument_on_device(point: SyncPoint, adapter: Adapter) -> Applies:
    pick = _pick_listed(point, method=True)

    def on_device(args: Args, kwargs: Kwargs) -> bool:
        picked = pick(args, kwargs)
        values = picked if isinstance(picked, list | tuple) else (picked,)
        return any(adapter.device_of(value) is not None for value in values)

    return on_device


def condition(
    wanted: Condition,
    skip: int = 0,
    devices: bool = True,
    placed: Callable[[], bool] = lambda: False,
) -> Applies:
    """A catalogue condition as a test of a call's arguments, `skip` leading ones left out.

    `devices` is False where what the arguments are called (`argument_in`) is not to be believed.
    `placed` tells whether a device is given that the call does not name, as `device=` would.
    """
    return _all(tuple(_tests(wanted, skip, devices, placed)))


def _all(tests: tuple[Applies, ...]) -> Applies:
    """Whether all tests pass. Runs at calls that wait for nothing, too: no more than need be."""
    if not tests:
        return lambda args, kwargs: True
    if len(tests) == 1:
        return tests[0]

    def passed(args: Args, kwargs: Kwargs) -> bool:
        for test in tests:  # noqa: SIM110  `all` would make a generator
            if not test(args, kwargs):
                return False
        return True

    return passed


def _tests(
    wanted: Condition, skip: int, devices: bool, placed: Callable[[], bool]
) -> Iterator[Applies]:
    """The parts of a condition that it has, the cheap ones first."""
    yield from _keyword_tests(wanted, placed)
    yield from _positional_tests(wanted, skip)
    if devices:
        yield from _device_tests(wanted, skip)


def _keyword_tests(wanted: Condition, placed: Callable[[], bool]) -> Iterator[Applies]:
    if wanted.keyword_true:
        true = wanted.keyword_true
        yield lambda args, kwargs: bool(kwargs) and any(kwargs.get(k) for k in true)
    if wanted.keyword_false:
        false = wanted.keyword_false
        yield lambda args, kwargs: any(kwargs.get(k, True) in (False, 0) for k in false)
    if wanted.keyword_present:
        yield _present(wanted.keyword_present, placed)
    if wanted.flag:
        flag = wanted.flag
        yield lambda args, kwargs: _is_set(flag, args, kwargs)
    if wanted.keyword_absent:
        absent = wanted.keyword_absent
        yield lambda args, kwargs: not kwargs or not any(k in kwargs for k in absent)


def _positional_tests(wanted: Condition, skip: int) -> Iterator[Applies]:
    if wanted.positional:
        counts = wanted.positional
        yield lambda args, kwargs: len(args) - skip in counts
    if wanted.positional_at_least is not None:
        least = wanted.positional_at_least + skip
        yield lambda args, kwargs: len(args) >= least


def _device_tests(wanted: Condition, skip: int) -> Iterator[Applies]:
    if wanted.argument_in:
        named = wanted.argument_in
        yield lambda args, kwargs: _matches(_names(args[skip:], kwargs), named)
    if wanted.argument_not_in:
        other = wanted.argument_not_in
        yield lambda args, kwargs: not _matches(_names(args[skip:], kwargs), other)


def _present(keywords: tuple[str, ...], placed: Callable[[], bool]) -> Applies:
    """Whether one of the keywords is given, or a device that the call does not name."""
    may_be_placed = "device" in keywords
    return lambda args, kwargs: (
        (bool(kwargs) and any(kwargs.get(k) is not None for k in keywords))
        or (may_be_placed and placed())
    )


def _is_set(flag: tuple[str, ...], args: Args, kwargs: Kwargs) -> bool:
    """Whether a flag is given and true: by keyword, or as the first of all flags by position."""
    if bool in map(type, args) and next(arg for arg in args if isinstance(arg, bool)):
        return True
    return bool(kwargs) and any(bool(kwargs.get(keyword)) for keyword in flag)


def _names(args: Args, kwargs: Kwargs) -> tuple[str, ...]:
    """What the arguments are called: strings and devices as they print, classes in full."""
    values = (*args, *kwargs.values())
    return tuple(
        f"{v.__module__}.{v.__qualname__}" if isinstance(v, type) else str(v)
        for v in values
        if isinstance(v, str | type) or type(v).__name__ in ("device", "dtype")
    )


def _matches(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)
