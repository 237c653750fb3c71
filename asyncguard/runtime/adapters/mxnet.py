"""mxnet: its CPU backend runs asynchronously, so every NDArray is a device value."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import mxnet

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.transit import Copy, Shape, Slotted, grouped, on_host, unpacked

_HAS_GPUS = bool(mxnet.context.num_gpus())


class Adapter(Base):
    """mxnet, `mx.nd` and `mx.np` alike."""

    @classmethod
    def copier(cls) -> Copier:
        """By operations of the engine's."""
        return Copier()

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        # Asking an array for its context is a call into the library; without GPUs it is needless.
        self._only = "" if _HAS_GPUS else "cpu(0)"

    def device_of(self, value: Any) -> str | None:
        """The array's context, such as cpu(0) or gpu(0)."""
        if not _is_array(value):
            return None
        return self._only or str(value.ctx)

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        return indexing.operators(args, _PLACE)

    def default_device(self) -> str:
        """A barrier waits for everything that was enqueued in the current context."""
        return self._only or str(mxnet.context.current_context())


def _is_array(value: Any) -> bool:
    return isinstance(value, mxnet.nd.NDArray)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == bool)


_PLACE = indexing.Place(_is_array, _is_mask)


class Copier:
    """mxnet's arrays: those of one dtype and context are joined by an operation of the engine's.

    Behind it a second one tells that it is done, which mxnet itself does not.
    """

    framework = "mxnet"

    def takes(self, kind: type) -> bool:
        """Whether it is an array, of `mx.nd` or `mx.np`."""
        return issubclass(kind, mxnet.nd.NDArray)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """One transfer for each context, dtype and kind of array."""
        paused = mxnet.autograd.is_recording()
        with mxnet.autograd.pause() if paused else contextlib.nullcontext():
            if len(arrays) == 1:
                slot, array = arrays[0]
                _check(array)
                return [_Flight([slot], _on_host(_enqueued(_COPY, [array])), None)]
            return [_sent(slots, found) for _, slots, found in grouped(map(_keyed, arrays))]


def _keyed(entry: tuple[int, Any]) -> tuple[Any, int, Any]:
    slot, array = entry
    _check(array)
    place = array.ctx if _HAS_GPUS else None  # the host's numbered contexts are one memory
    return (isinstance(array, mxnet.np.ndarray), place, _dtype(array)), slot, array


def _check(array: Any) -> None:
    if type(array) not in _DENSE and array.stype != "default":
        raise TypeError(f"asyncguard.later copies no {array.stype} arrays: use tostype('default')")


def _sent(slots: Sequence[int], arrays: Sequence[Any]) -> _Flight:
    """Enqueue an array of its own with all elements, where the arrays are."""
    first = arrays[0]
    if len(arrays) == 1:
        return _Flight(slots, _on_host(_enqueued(_COPY, arrays)), None)
    shapes: list[Shape] = [() if _is_scalar(array) else array.shape for array in arrays]
    if not isinstance(first, mxnet.np.ndarray):
        flat = [array if array.ndim == 1 else array.reshape((-1,)) for array in arrays]
        joined = mxnet.nd.concat(*flat, dim=0)
    elif any(shapes):
        joined = mxnet.np.concatenate([array.reshape(-1) for array in arrays])
    else:
        joined = _enqueued(_STACK, arrays, (b"num_args", b"axis"), (b"%d" % len(arrays), b"0"))
    return _Flight(slots, _on_host(joined), shapes)


def _on_host(array: Any) -> Any:
    """The array in host memory; from a GPU it goes to page-locked memory of mxnet's pool."""
    if _HAS_GPUS and array.ctx.device_type == "gpu":
        return array.copyto(mxnet.cpu_pinned())
    return array


class _Flight:
    """An array that the engine fills; without shapes it is one whole value."""

    reports = False

    def __init__(self, slots: Sequence[int], flat: Any, shapes: list[Shape] | None) -> None:
        self.slots = slots
        self.source = flat
        self._shapes = shapes
        self._flag = _Flag(flat)

    def done(self) -> bool:
        """Whether the engine has come there."""
        return self._flag.is_up()

    def wait(self) -> None:
        """Wait for the array."""
        self.source.wait_to_read()

    def fetch(self) -> list[Any]:
        """The values."""
        found = self.source.asnumpy()
        if self._shapes is None:
            return [on_host(found)]
        return unpacked(found.reshape(-1), self._shapes)


# mxnet's library, called as mxnet's own Python does, which takes three times as long. An index
# gives a function object of this file's: the types of its arguments are not mxnet's affair.

_LIB = mxnet.base._LIB
_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_DENSE = frozenset({mxnet.nd.NDArray, mxnet.np.ndarray})
_invoke = _LIB["MXImperativeInvokeEx"]
_invoke.argtypes = [_POINTER, _INT, *([_POINTER] * 3), _INT, *([_POINTER] * 3)]
_push = _LIB["MXEnginePushSyncND"]
_push.argtypes = [*([_POINTER] * 5), _INT, _POINTER, _INT, _POINTER, _INT, ctypes.c_char_p]
_axes_of = _LIB["MXNDArrayGetShapeEx"]
_axes_of.argtypes = [_POINTER] * 3
_dtype_of = _LIB["MXNDArrayGetDType"]
_dtype_of.argtypes = [_POINTER] * 2


def _operator(name: str) -> int:
    found = ctypes.c_void_p()
    mxnet.base.check_call(_LIB.NNGetOpHandle(name.encode(), ctypes.byref(found)))
    assert found.value is not None
    return found.value


_COPY, _STACK = _operator("_copy"), _operator("_npi_stack")


def _enqueued(
    operator: int,
    arrays: Sequence[Any],
    names: Sequence[bytes] = (),
    texts: Sequence[bytes] = (),
) -> Any:
    """Enqueue an operator of arrays; return what it fills. Raises MXNetError as mxnet does."""
    count = len(arrays)
    handles = (_POINTER * count)(*[array.handle.value for array in arrays])
    keys = (ctypes.c_char_p * len(names))(*names) if names else None
    values = (ctypes.c_char_p * len(texts))(*texts) if texts else None
    made, filled, kinds = _INT(0), _POINTER(), _POINTER()
    outputs = ctypes.byref(made), ctypes.byref(filled)
    given = len(names), keys, values, ctypes.byref(kinds)
    mxnet.base.check_call(_invoke(operator, count, handles, *outputs, *given))
    assert filled.value is not None
    kind = mxnet.np.ndarray if isinstance(arrays[0], mxnet.np.ndarray) else mxnet.nd.NDArray
    return kind(_POINTER(_POINTER.from_address(filled.value).value))


def _dtype(array: Any) -> int:
    """mxnet's number of its elements' type."""
    number = _INT(-1)
    _dtype_of(array.handle, ctypes.byref(number))
    return number.value


def _is_scalar(array: Any) -> bool:
    """Whether it has no axes; `array.shape` asks for each of them."""
    count, sizes = ctypes.c_int(-1), ctypes.c_void_p()
    _axes_of(array.handle, ctypes.byref(count), ctypes.byref(sizes))
    return count.value == 0


class _Context(ctypes.Structure):
    """mxnet's `Context`: the host, for operations that touch no data."""

    _fields_ = (("device_type", ctypes.c_int), ("device_id", ctypes.c_int))


_locks = ctypes.pythonapi
_allocate, _acquire = _locks.PyThread_allocate_lock, _locks.PyThread_acquire_lock
_allocate.restype = ctypes.c_void_p
_acquire.argtypes = [ctypes.c_void_p, ctypes.c_int]
_RELEASE = ctypes.cast(_locks.PyThread_release_lock, ctypes.c_void_p)
_NOTHING = ctypes.cast(_locks.PyThread_get_thread_ident, ctypes.c_void_p)
_HOST = _Context(1, 0)
_HOST_AT = ctypes.addressof(_HOST)
_asking = threading.Lock()
_taken: deque[int] = deque()  # locks of flags that nobody asks any more, and that may still be down


class _Flag:
    """An operation of the engine's behind what fills an array: it is up when it has run.

    It runs no Python, for which the engine's thread would have to wait: when the engine drops the
    operation it releases a lock that was taken here.
    """

    def __init__(self, array: Any) -> None:
        self._is_up = False
        self._lock = _free_lock()
        code = _push(
            _NOTHING, self._lock, _RELEASE, _HOST_AT,
            ctypes.byref(array.handle), 1, None, 0, None, 0, b"asyncguard_later",
        )  # fmt: skip
        mxnet.base.check_call(code)

    def is_up(self) -> bool:
        """Whether all that the array was to be filled by is done."""
        with _asking:  # the lock can be taken once, by whichever thread asks
            self._is_up = self._is_up or bool(_acquire(self._lock, 0))
        return self._is_up

    def __del__(self) -> None:
        _taken.append(self._lock if not self._is_up else -self._lock)


def _free_lock() -> int:
    """A lock that is taken: one that served before, if any, else a new one."""
    for _ in range(min(2, len(_taken))):
        lock = _taken.popleft()
        if lock < 0 or _acquire(lock, 0):
            return abs(lock)
        _taken.append(lock)
    lock = _allocate()
    _acquire(lock, 0)
    return int(lock)
