"""Copies on the host, where the CPU stands in for a device.

There `x.cpu()` gives `x` itself; on a device it would give a copy, and reading the copy waits for
nothing. So it is noted which tensors are such copies:

* A value that nothing but the call held (`p.detach().cpu()`) is a copy from then on, and so is
  every view of it where nothing else shared its memory.
* Of a value that has a name, the copy is what the same function goes on to read on that line, and
  by the name that it gave the copy (`x = x.cpu()`, `y = x.cpu()`).

What else holds such a value cannot be told apart from the original, and counts.
"""

from __future__ import annotations

import dis
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from asyncguard.runtime.compiled import quick as compiled

MAX_CODE = 1 << 13  # bytes of line numbers of a function that is looked at for names
_SKIPPED = frozenset({"CACHE", "PRECALL", "EXTENDED_ARG", "NOP", "KW_NAMES", "PUSH_NULL", "RESUME"})
_BETWEEN = _SKIPPED | {"LOAD_CONST", "LOAD_METHOD", "LOAD_ATTR"}  # the receiver, its use


@dataclass(frozen=True)
class Memory:
    """The memory of a value: an object that lives as long as it does, and whether it is shared.

    held: how often the value itself is held where its count of references does not tell.
    """

    address: int
    owner: Any
    shared: bool
    held: int = 0


MemoryOf = Callable[[Any], "Memory | None"]


@dataclass(frozen=True)
class _Copy:
    """A fetched value (or its memory), and where it is one: None means everywhere."""

    alive: weakref.ref[Any]
    code: CodeType | None = None
    line: int | None = None
    instruction: int = -1
    name: str | None = None

    def is_read_by(self, frame: FrameType | None) -> bool:
        """Whether the read that `frame` does now is of the copy, not of the original."""
        if self.code is None:
            return True
        if frame is None or frame.f_code is not self.code:
            return False
        if frame.f_lineno == self.line and frame.f_lasti != self.instruction:
            return True
        return self.name is not None and name_read(self.code, frame.f_lasti) == self.name


class Copies:
    """The copies on the host that are alive. `known` is empty where there are none."""

    def __init__(self, memory_of: MemoryOf) -> None:
        self._memory_of = memory_of
        self.known: dict[int, _Copy] = {}  # by the address of the memory, or the id of the value
        self._passing: int | None = None  # the key of the one that only its own line may read

    def add(self, value: Any, frame: FrameType | None, held: int) -> None:
        """`value` has been fetched from `frame`; `held` more references than the call's are known.

        A name that is given to the copy itself no longer holds the original.
        """
        memory = self._memory_of(value)
        if memory is None or frame is None:
            return
        code, at = frame.f_code, frame.f_lasti
        held += memory.held + is_borrowed(code, at)
        name = name_given(code, at) if held > 0 else None
        if held <= 0 or (held == 1 and name is not None and name == name_read(code, at)):
            whole = not memory.shared
            owner, key = (memory.owner, memory.address) if whole else (value, id(value))
            self.known[key] = _Copy(self._watch(owner, key))
        else:
            self._let_pass()
            alive = self._watch(memory.owner, memory.address)
            self.known[memory.address] = _Copy(alive, code, frame.f_lineno, at, name)
            self._passing = memory.address if name is None else None

    def holds(self, value: Any, frame: FrameType | None) -> bool:
        """Whether a read of `value` by `frame` is one of a copy, for which nobody waits."""
        copy = self.known.get(id(value))
        if copy is not None and copy.alive() is value:
            return True
        memory = self._memory_of(value)
        copy = self.known.get(memory.address) if memory is not None else None
        found = copy is not None and copy.alive() is not None and copy.is_read_by(frame)
        if not found:
            self._let_pass()
        return found

    def _let_pass(self) -> None:
        """Another line is at work: forget the copy that had no name."""
        key, self._passing = self._passing, None
        copy = self.known.get(key) if key is not None else None
        if key is not None and copy is not None and copy.code is not None and copy.name is None:
            del self.known[key]

    def _watch(self, owner: Any, key: int) -> weakref.ref[Any]:
        """A reference that takes its entry along when the owner goes."""

        def gone(reference: weakref.ref[Any]) -> None:
            copy = self.known.get(key)
            if copy is not None and copy.alive is reference:
                del self.known[key]

        return weakref.ref(owner, gone)


@dataclass(frozen=True)
class Fresh:
    """How many references hooks see to a value that nothing but their call holds."""

    hook: int
    read: int  # in the hook that stands in front of the other for plain reads
    through: int  # in the other one behind it


def _hook(*args: Any, **kwargs: Any) -> int:
    result = args[0]
    return sys.getrefcount(result)


def _read(self: Any, /, *rest: Any, **named: Any) -> int:
    result = self
    return sys.getrefcount(result)


def _through(self: Any, /, *rest: Any, **named: Any) -> int:
    return _hook(self, *rest, **named)


def _by_type(call: Callable[..., int]) -> Callable[..., int]:
    """Calls as those of a callable of a C type that is watched."""
    way: Callable[..., int] = type("Way", (), {"__call__": staticmethod(call)})()
    return way


def _by_code(call: Callable[..., int]) -> Callable[..., int]:
    """Calls as those of a function of Python's that is watched."""

    def detour(*args: Any, **kwargs: Any) -> int:
        return call(*args, **kwargs)

    return detour


def _measured(way: Callable[[Callable[..., int]], Callable[..., int]]) -> Fresh:
    short = compiled.references if compiled is not None else _read
    hook, read, through = (way(each)(object()) for each in (_hook, short, _through))
    return Fresh(hook, read, through)


# By how many frames the caller is above the hook: one, or two where a detour is in between.
FRESH = {1: _measured(_by_type), 2: _measured(_by_code)}


def name_read(code: CodeType, at: int) -> str | None:
    """The name of the value that the instruction at an offset uses: `x` in `x.item()`, `float(x)`.

    An offset within an instruction's cache is the instruction's, as in a frame's `f_lasti`.
    """
    return _name(_load(code, at), "LOAD_", -1)


def is_borrowed(code: CodeType, at: int) -> bool:
    """Whether that instruction is given a variable's value without a reference to it being made.

    From Python 3.14 on it is, where the variable outlives the use: then what holds the value is not
    all counted.
    """
    load = _load(code, at)
    return load is not None and load.opname.startswith("LOAD_FAST_BORROW")


def _load(code: CodeType, at: int) -> dis.Instruction | None:
    """What has loaded the value that the instruction at an offset uses."""
    before = [i for i in _instructions(code) if i.offset <= at][:-1]
    return next((i for i in reversed(before) if i.opname not in _BETWEEN), None)


def name_given(code: CodeType, at: int) -> str | None:
    """The name that the result of a call at an offset is given: `y` in `y = x.cpu()`."""
    after = (i for i in _instructions(code) if i.offset > at)
    return _name(next((i for i in after if i.opname not in _SKIPPED), None), "STORE_", 0)


def _name(instruction: dis.Instruction | None, prefix: str, which: int) -> str | None:
    """What a load or store of a variable names; of several at once, the first or the last."""
    if instruction is None or not instruction.opname.startswith(prefix):
        return None
    named = instruction.argval
    named = named[which] if isinstance(named, tuple) and named else named
    return named if isinstance(named, str) else None


_known_instructions: dict[int, tuple[weakref.ref[CodeType], list[dis.Instruction]]] = {}


def _instructions(code: CodeType) -> list[dis.Instruction]:
    """The function's instructions; none of one that is too long."""
    if len(code.co_linetable) > MAX_CODE:
        return []
    found = _known_instructions.get(id(code))
    if found is None or found[0]() is not code:
        key = id(code)
        reference = weakref.ref(code, lambda _: _known_instructions.pop(key, None))
        found = _known_instructions[key] = reference, list(dis.get_instructions(code))
    return found[1]
