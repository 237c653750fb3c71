"""Taking over the calls of an object in place: it stays what it is to everybody, and is watched.

Programs compare the functions of a framework with `is`, key tables by them, pickle them by name,
wrap them and put them back. A hook that is another object than the function it stands for is found
out: tables filled before or after the trace miss it, and what kept it has a dead hook for good. So
nothing is replaced: there is one object before, during and after the trace, whoever holds it since
when. Calls by a name that was bound long ago are seen, and nothing remains afterwards.

- A callable of a C type (`torch.where`, `Tensor.item`, a NumPy dispatcher) is given, while somebody
  listens, a subclass of its own type that differs in `__call__` alone. That is what
  `object.__class__ = subclass` does; CPython refuses it for functions, so the pointer to the type
  is written here, once the layout of objects is verified.
- A function of Python's keeps its type, on which compilers insist, and is given other code.

Tried beside it, with CPython 3.11 and torch 2.13 (what a bare `t.item()` of 210 ns costs more):

- another function in the attribute's place (140 ns): another object, with all that follows;
- one that equals the original, by `__eq__`, `__hash__` and `__reduce__`: `is` still tells them
  apart, C++ passes `__torch_function__` the original, and tables keep the hook after the trace;
- a descriptor that hands out the original where a class is asked (550 ns): no help for functions;
- a subclass for functions of Python's, too: guards of compiled programs fail on it;
- a `TorchFunctionMode`: for one thread, and each operator pays; `sys.monitoring`: from 3.12 on, and
  it does not see what C calls, such as `__repr__` in a `print`;
- this (260 ns by way of the original's own call, 200 ns by way of a copy of a method).

What remains to be seen in a trace: `type(torch.where)` is derived from the type of built-in
functions, no longer that type itself, and the `__code__` of a function is not its own.
"""

from __future__ import annotations

import ctypes
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import (
    FunctionType,
    MethodDescriptorType,
    MethodType,
    WrapperDescriptorType,
)
from typing import Any

from asyncguard.model import AsyncguardError
from asyncguard.runtime.detours import ByCode, Function

Make = Callable[[Function], Function]

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_TYPE = object.__basicsize__ - _POINTER  # in an object, where the pointer to its type is
_FLAGS = object.__basicsize__ + 19 * _POINTER  # in a type, where its flags are
_MAY_BE_DERIVED_FROM = 1 << 10  # Py_TPFLAGS_BASETYPE
_MAKES_NOTHING = 1 << 7  # Py_TPFLAGS_DISALLOW_INSTANTIATION
_BINDS_WITHOUT_GET = 1 << 17  # Py_TPFLAGS_METHOD_DESCRIPTOR
_CALLED_BY_VECTOR = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
_COLLECTED = 1 << 14  # Py_TPFLAGS_HAVE_GC: a header of the collector's precedes the object
_PRECEDED = 0b11100 | _COLLECTED  # and its dictionary, its weak references and its values
_METHOD = object.__basicsize__ + 3 * _POINTER  # in a method descriptor: its definition

_new_method = ctypes.pythonapi.PyDescr_NewMethod
_new_method.restype = ctypes.py_object
_new_method.argtypes = [ctypes.py_object, ctypes.c_void_p]


class Layer:
    """What one framework's hook does with the calls of an object: `make(original)` is the hook."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: tuple[Function, Function] | None = None  # the last original, and its hook

    def over(self, original: Function) -> Function:
        """The hook around `original`: made once, as long as that is the same."""
        if self._made is None or self._made[0] is not original:
            self._made = original, self._make(original)
        return self._made[1]


class Target:
    """A callable object whose calls pass through any number of layers, the newest outermost.

    Raises TypeError for classes and for objects that cannot be taken over in place.
    """

    def __init__(self, thing: Any) -> None:
        if isinstance(thing, type):
            raise TypeError(f"{thing!r} is a class")
        self.thing = thing
        self.way: ByCode | _ByType = (ByCode if is_python(thing) else _ByType)(thing)
        self.layers: list[Layer] = []
        self.batch: Batch | None = None  # that says whether its layer is there, instead of `layers`
        self._last: Layer | None = None  # the one that the way led to alone, the last time

    def add(self, layer: Layer) -> None:
        """Calls pass through this layer first from now on."""
        if self.batch is not None:
            self.batch.share(self)
        self.layers.append(layer)
        if layer is not self._last or len(self.layers) > 1 or not self.way.resume():
            self._compose()

    def remove(self, layer: Layer) -> None:
        """Take one layer out; with the last one the object is again what it was."""
        if self.batch is not None:
            self.batch.share(self)
        self.layers.remove(layer)
        if self.layers:
            self._compose()
        else:
            self.way.give_back()

    def _compose(self) -> None:
        call = self.way.original()
        for layer in self.layers:
            call = layer.over(call)
        self.way.lead_to(call)
        self._last = self.layers[0] if len(self.layers) == 1 else None


class Hold:
    """A layer and its target."""

    def __init__(self, target: Target, layer: Layer) -> None:
        self.target = target
        self.layer = layer


class Batch:
    """Layers that come and go together; limits make them do so often.

    A target that has no other layer is the batch's own: taking it over again is left to its way
    alone, and whether the layer is there is noted once for all of them.
    """

    def __init__(self, holds: Iterable[Hold]) -> None:
        self._is_on = False
        self._own: dict[Target, Hold] = {}
        self._shared = list(holds)
        self._is_new = True

    def put(self) -> None:
        """Add each layer to its target; none where that raises."""
        begun: list[Hold] = []
        try:
            for target in [target for target in self._own if not target.way.resume()]:
                self.share(target)
            for hold in self._shared:
                begun.append(hold)
                hold.target.add(hold.layer)
        except BaseException:
            self._remove(begun)
            raise
        self._is_on = True
        if self._is_new:
            self._claim()

    def take_off(self) -> None:
        """Remove each layer, whatever becomes of the others; the first error is raised."""
        self._is_on = False
        self._remove(self._shared)

    def drop(self, hold: Hold) -> None:
        """Remove this layer for good, if it is one of those, while they are there."""
        if self._own.get(hold.target) is hold:
            self.share(hold.target)
        if hold in self._shared:
            hold.target.remove(hold.layer)
            self._shared.remove(hold)

    def share(self, target: Target) -> None:
        """Let the target note its layers itself from now on."""
        hold = self._own.pop(target)
        self._shared.append(hold)
        target.layers, target.batch = [hold.layer] if self._is_on else [], None

    def _claim(self) -> None:
        self._is_new = False
        own = [each for each in self._shared if each.target.layers == [each.layer]]
        self._own = {each.target: each for each in own}
        self._shared = [each for each in self._shared if each.target not in self._own]
        for target in self._own:
            target.layers, target.batch = [], self

    def _remove(self, shared: list[Hold]) -> None:
        errors: list[BaseException] = []
        for target in self._own:
            try:
                target.way.give_back()
            except BaseException as error:  # noqa: BLE001, PERF203  each step is taken
                errors.append(error)
        for hold in shared:
            try:
                hold.target.remove(hold.layer)
            except BaseException as error:  # noqa: BLE001, PERF203
                errors.append(error)
        if errors:
            raise errors[0]


class _ByType:
    """Takes over a callable of a C type."""

    def __init__(self, thing: Any) -> None:
        verify(thing)
        self._thing = thing
        self._kind: type = type(thing)
        self._double = _double(self._kind)
        self._original = _original(thing)
        self._pointer = ctypes.c_void_p.from_address(id(thing) + _TYPE)  # to the type
        self._taken, self._given = id(self._double), id(self._kind)
        # Neither is ever freed, also where the interpreter ends in a trace.
        for each in (thing, self._double):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))

    def original(self) -> Function:
        return self._original

    def lead_to(self, call: Function) -> None:
        self._double.__call__ = staticmethod(call)  # type: ignore[method-assign]
        self.resume()

    def resume(self) -> bool:
        self._pointer.value = self._taken  # in one store: another thread finds one or the other
        return True

    def give_back(self) -> None:
        self._pointer.value = self._given


_targets: dict[int, Target] = {}  # by the id of the object, which the target keeps alive
_lock = threading.Lock()


def target(thing: Any) -> Target:
    """The one target that an object is; raises TypeError where it cannot be one."""
    known = _targets.get(id(thing))
    if known is None:
        made = Target(thing)
        with _lock:
            known = _targets.setdefault(id(thing), made)
    return known


def check_interpreter() -> None:
    """Raise AsyncguardError on an interpreter whose objects are not to be taken over.

    Without a GIL other threads may be about to use the type that is written here.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise AsyncguardError(
            "asyncguard cannot watch what runs on a free-threaded Python: run it on the build with"
            " a GIL (python3.14 instead of python3.14t)"
        )


def verify(thing: Any) -> None:
    """Raise TypeError unless this interpreter lays out objects and types as CPython does."""
    kind = type(thing)
    for each in (kind, int, type):
        if _flags(each).value != each.__flags__:
            raise TypeError("types are not laid out as CPython lays them out")
    if ctypes.c_void_p.from_address(id(thing) + _TYPE).value != id(kind):
        raise TypeError("objects are not laid out as CPython lays them out")


def is_python(thing: Any) -> bool:
    """Whether a frame of this module stands between the caller and the outermost layer."""
    return type(thing) is FunctionType


def in_slot(thing: Any) -> bool:
    """Whether C code reaches what this describes by a slot of its class, and not by the name."""
    return isinstance(thing, WrapperDescriptorType)


def unwrap(raw: Any) -> Any:
    """The function inside static methods, class methods, properties and what C++ binds."""
    if isinstance(raw, property):
        return raw.fget
    if isinstance(raw, staticmethod | classmethod) or type(raw).__name__ == "instancemethod":
        return raw.__func__
    return raw


def _double(kind: type) -> type:
    """A subclass of the same layout, whose `__call__` is to be set, and which shows nothing else.

    What a class defines of its own hides the attributes that its instances had from `kind`, so
    those are handed on.
    """
    names: dict[str, Any] = {"__slots__": (), "__class__": property(lambda _: kind)}
    for name in ("__doc__", "__module__"):
        names[name] = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _none)
    if hasattr(kind, "__get__"):
        names["__get__"] = _bind
    flags = _flags(kind)
    final = not flags.value & _MAY_BE_DERIVED_FROM
    flags.value |= _MAY_BE_DERIVED_FROM
    try:
        with _derivable(kind):
            double = type(kind)(kind.__name__, (kind,), {**names, "__call__": staticmethod(_unset)})
    finally:
        if final:  # this bit alone: the interpreter keeps others there, of its caches
            flags.value &= ~_MAY_BE_DERIVED_FROM
    if not kind.__flags__ & _COLLECTED:  # every class is, by default
        _flags(double).value &= ~_COLLECTED
    if _memory(double) != _memory(kind) or double.__flags__ & _CALLED_BY_VECTOR:
        raise TypeError(f"{kind.__name__} objects cannot be watched in place")
    del double.__slots__  # type: ignore[attr-defined]
    _flags(double).value |= flags.value & _BINDS_WITHOUT_GET  # calls of methods stay as fast
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(double))
    return double


@contextmanager
def _derivable(kind: type) -> Iterator[None]:
    """For so long `kind` is of the type `type`, if its own metaclass makes no classes.

    That of functions that Cython 3.1 and newer compiles is one: CuPy 14 has them.
    """
    metaclass = type(kind)
    if not _flags(metaclass).value & _MAKES_NOTHING:
        yield
        return
    place = ctypes.c_void_p.from_address(id(kind) + _TYPE)
    place.value = id(type)
    try:
        yield
    finally:
        place.value = id(metaclass)


def _memory(kind: type) -> tuple[int, ...]:
    """What memory an object of this type takes, before and behind its address, and how."""
    return (
        kind.__basicsize__,
        kind.__itemsize__,
        kind.__dictoffset__,
        kind.__weakrefoffset__,
        kind.__flags__ & _PRECEDED,
    )


def _bind(self: Any, instance: Any, owner: Any = None) -> Any:
    """`instance.method` without a call: a C method would hand out what goes past the layers."""
    return self if instance is None else MethodType(self, instance)


class _Missing:
    """An attribute that is not there: its kind has none, though each class has."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        raise AttributeError(f"{type(instance).__name__!r} object has no such attribute")


_none = _Missing()


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("no layer is set")


def _original(thing: Any) -> Function:
    """What calls of `thing` did before: its own type's call, or a copy of a method's descriptor."""
    if type(thing) is MethodDescriptorType:
        place = id(thing) + object.__basicsize__
        owner, name = (ctypes.c_void_p.from_address(place + at * _POINTER).value for at in (0, 1))
        if (owner, name) == (id(thing.__objclass__), id(thing.__name__)):
            method = ctypes.c_void_p.from_address(id(thing) + _METHOD).value
            copy: Function = _new_method(thing.__objclass__, method)
            return copy
    call: Function = type(thing).__call__.__get__(thing)
    return call


def _flags(kind: type) -> ctypes.c_ulong:
    return ctypes.c_ulong.from_address(id(kind) + _FLAGS)
