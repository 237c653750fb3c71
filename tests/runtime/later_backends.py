"""What the tests of `asyncguard.later` need of each framework: arrays, a change, and a held queue.

A backend's `held()` is a block in which the device gets no further, so that no copy can be done
that is started in it; `finish` lets it go on.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest

import asyncguard
from asyncguard.engine import hooks
from asyncguard.runtime import later as late
from asyncguard.runtime.transit import Quiet
from tests.frameworks import require
from tests.runtime.played_cupy import Array, Device


class Backend:
    """One framework. `waits`: whether a copy can be under way at all."""

    name = ""
    framework = ""  # as a trace names it
    waits = True
    bfloat16: Any = "bfloat16"

    def __init__(self) -> None:
        self.patch = pytest.MonkeyPatch()

    def opened_by(self, handle: asyncguard.Handle) -> None:
        """Let the device go on when the handle's copy is waited for, and not before."""

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        raise NotImplementedError

    def change(self, array: Any) -> None:
        """Set all elements to 99, in place, or give up the array's memory."""
        array[...] = 99

    def finish(self) -> None:
        """Let the device finish all that it has, without a wait that counts."""
        with Quiet():
            self._finish()

    def _finish(self) -> None:
        """See `finish`."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """What has to be in place around a program."""
        yield

    @contextlib.contextmanager
    def held(self, *arrays: Any) -> Iterator[Sequence[Any]]:
        """Let the device get no further than to where it fills these arrays."""
        yield arrays


class Gate(Backend):
    """A backend whose queue is held by an operation that waits for an event of Python's."""

    def __init__(self) -> None:
        super().__init__()
        self._open = threading.Event()
        self._open.set()

    @contextlib.contextmanager
    def held(self, *arrays: Any) -> Iterator[Sequence[Any]]:
        self._open.clear()
        try:
            yield [self._hold(array) for array in arrays]
        finally:
            self._open.set()

    def _hold(self, array: Any) -> Any:
        return array

    def opened_by(self, handle: asyncguard.Handle) -> None:
        for kind in {type(copy) for copy in handle._copies}:
            wait = kind.wait

            def opened(copy: Any, wait: Callable[[Any], None] = wait) -> None:
                self._open.set()
                wait(copy)

            self.patch.setattr(kind, "wait", opened)

    def _finish(self) -> None:
        self._open.set()


class Engine(Gate):
    name = framework = "engine"

    def __init__(self) -> None:
        super().__init__()
        from asyncguard import engine

        self.engine = engine

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        return self.engine.np.array(numpy.array(data, dtype))

    def _hold(self, array: Any) -> Any:
        self.engine.current().push(self._open.wait, writes=[array.variable])
        return array

    def opened_by(self, handle: asyncguard.Handle) -> None:
        kind = type(self.engine.current())
        wait = kind.wait_for_var

        def opened(engine: Any, variable: Any) -> None:
            self._open.set()
            wait(engine, variable)

        self.patch.setattr(kind, "wait_for_var", opened)

    def _finish(self) -> None:
        super()._finish()
        hooks._inside.sync = True  # as within a sync point, of which only the outermost counts
        self.engine.current().wait_for_all()
        hooks._inside.sync = False


class MXNet(Gate):
    name = framework = "mxnet"

    def __init__(self) -> None:
        super().__init__()
        self.mx = require("mxnet")
        self.wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(self._wait)

    def _wait(self, context: Any, parameter: Any) -> None:
        self._open.wait()

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        return self.mx.np.array(numpy.array(data), dtype=dtype)

    def _hold(self, array: Any) -> Any:
        from asyncguard.runtime.adapters import mxnet as adapter

        given = self.wait, None, None, ctypes.byref(adapter._HOST), None, 0
        arrays = ctypes.byref(array.handle), 1
        assert adapter._push(*given, *arrays, None, 0, b"held") == 0
        return array

    def change(self, array: Any) -> None:
        array[() if array.shape == () else slice(None)] = 99

    def _finish(self) -> None:
        super()._finish()
        self.mx.nd.waitall()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        self.mx.npx.set_np()
        yield
        self.mx.npx.reset_np()


class JAX(Gate):
    """Nothing that Python could end holds a computation of jax's: it is told to be under way."""

    name = framework = "jax"

    def __init__(self) -> None:
        super().__init__()
        self.jax = require("jax")
        self._known: list[Any] = []
        self._donated = self.jax.jit(lambda x: x + 99, donate_argnums=0)

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        self._known.append(self.jax.numpy.array(data, dtype=dtype))
        return self._known[-1]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        from asyncguard.runtime.adapters import jax as adapter

        done = adapter._Flight.done
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adapter._Flight, "done", lambda copy: self._open.is_set() and done(copy))
            yield

    def change(self, array: Any) -> None:
        self._known = [each for each in self._known if each is not array]
        self._donated(array)
        assert array.is_deleted()

    def _finish(self) -> None:
        super()._finish()
        self.jax.block_until_ready(self._known)


class TensorFlow(Gate):
    """Variables, so that they can change; a computation of tensorflow's own cannot be held."""

    name = framework = "tensorflow"

    def __init__(self) -> None:
        super().__init__()
        self.tf = require("tensorflow")

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        return self.tf.Variable(self.tf.cast(self.tf.constant(data), dtype))

    def change(self, array: Any) -> None:
        array.assign(self.tf.fill(array.shape, self.tf.cast(99, array.dtype)))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        from asyncguard.runtime.adapters import tensorflow as adapter

        values = adapter._values

        def held(tensors: Any) -> Any:
            self._open.wait()
            return values(tensors)

        config = self.tf.config.experimental
        config.set_synchronous_execution(False)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adapter, "_values", held)
            yield
        config.set_synchronous_execution(True)

    def _finish(self) -> None:
        super()._finish()
        from asyncguard.runtime.adapters import tensorflow as adapter

        adapter._copying().submit(int).result()


class TorchOnCPU(Backend):
    name, framework, waits = "torch on the CPU", "torch", False

    def __init__(self) -> None:
        super().__init__()
        self.torch = require("torch")
        self.bfloat16 = self.torch.bfloat16

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        kind = getattr(self.torch, dtype) if isinstance(dtype, str) else dtype
        return self.torch.tensor(data, dtype=kind)


class SimulatedTorch(TorchOnCPU):
    """torch on the simulated device: virtual time passes where something waits."""

    name, framework, waits = "torch on a simulated device", "torch", True

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        return super().array(data, dtype).to("cuda")

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with asyncguard.simulate_cuda(devices=2) as self.simulation:
            yield

    @contextlib.contextmanager
    def held(self, *arrays: Any) -> Iterator[Sequence[Any]]:
        self.simulation.machine.enqueue(10**9, "held")
        yield arrays

    def _finish(self) -> None:
        machine = self.simulation.machine
        with machine.lock:
            machine.timeline.advance_host(10**10)


class CuPy(Backend):
    name = framework = "cupy"

    def array(self, data: Any, dtype: Any = "float32") -> Any:
        return self.device.array(data, dtype)

    def change(self, array: Any) -> None:
        array.fill(99)

    def _finish(self) -> None:
        self.device.run()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        require("cupy")
        from asyncguard.runtime.adapters import cupy as adapter

        self.device = Device()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adapter, "cupy", self.device.cupy)
            patch.setattr(adapter, "cupyx", self.device.cupyx)
            patch.setattr(adapter.Adapter, "device_of", _device_of)
            patch.setitem(late._known, Array, adapter.Copier())
            yield


def _device_of(self: Any, value: Any) -> str | None:
    return "cuda:0" if isinstance(value, Array) else None


BACKENDS: dict[str, type[Backend]] = {
    kind.name: kind for kind in (Engine, TorchOnCPU, SimulatedTorch, MXNet, JAX, TensorFlow, CuPy)
}
