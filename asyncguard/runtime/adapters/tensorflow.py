"""tensorflow: eager tensors are device values; symbolic ones, inside `tf.function`, are not.

The CPU runs behind Python's back only with `set_synchronous_execution(False)`. Without it a read
waits for nothing, and is counted with the time that it took.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.hub import state
from asyncguard.runtime.transit import Arrived, Copy, Slotted, on_host


class Adapter(Base):
    """tensorflow in eager mode, and keras on top of it."""

    @classmethod
    def copier(cls) -> Copier:
        """At once where nothing runs behind Python's back, else in a thread that waits."""
        return Copier()

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._labels: dict[str, str] = {}

    def device_of(self, value: Any) -> str | None:
        """The tensor's or variable's device, such as CPU:0."""
        if not _is_tensor(value):
            return None
        name = value.device
        label = self._labels.get(name)
        if label is None:
            label = self._labels[name] = name.rpartition("/device:")[2] or "CPU:0"
        return label

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` wait: a mask, whose length decides the shape."""
        return indexing.operators(args[:2], _PLACE)  # a third is the variable; nothing is written

    def is_tracing(self) -> bool:
        """Whether a `tf.function` is being traced, or Keras compiles for another backend."""
        return bool(tf.inside_function()) or _keras_runs_elsewhere()

    def version(self) -> str:
        """The framework's version."""
        return str(tf.__version__)


def _keras_runs_elsewhere() -> bool:
    keras = sys.modules.get("keras")
    config = getattr(keras, "config", None)  # Keras 2 has TensorFlow alone
    return config is not None and config.backend() != "tensorflow"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, ops.EagerTensor | tf.Variable)


def _is_mask(value: Any) -> bool:
    return bool(value.dtype == tf.bool)


_PLACE = indexing.Place(_is_tensor, _is_mask)


class Copier:
    """tensorflow's tensors, and its variables as they are now.

    There is no way to ask whether a tensor is computed, or to copy it without a wait. So a thread
    of ours waits and copies, except on the CPU where tensorflow computes before it returns.
    """

    framework = "tensorflow"

    def takes(self, kind: type) -> bool:
        """Whether it is a tensor, symbolic ones included, or a variable."""
        return issubclass(kind, tf.Tensor | tf.Variable)

    def start(self, arrays: Slotted) -> Sequence[Copy]:
        """One copy of all."""
        if tf.inside_function() or not all(_is_tensor(each) for _, each in arrays):
            raise TypeError(
                "asyncguard.later is called in traced code, where tensors have no values"
            )
        slots = [slot for slot, _ in arrays]
        tensors = [each.value() if isinstance(each, tf.Variable) else each for _, each in arrays]
        is_computed = tf.config.experimental.get_synchronous_execution()
        if is_computed and all("device:CPU" in tensor.device for tensor in tensors):
            return [Arrived(slots, _values(tensors))]
        return [_Flight(slots, tensors)]


def _values(tensors: Sequence[Any]) -> list[Any]:
    return [on_host(tensor.numpy()) for tensor in tensors]


@functools.cache
def _copying() -> ThreadPoolExecutor:
    """The thread that waits for tensors; no wait of its is the user's."""

    def begin() -> None:
        state.doing.waiting = True

    return ThreadPoolExecutor(1, "asyncguard.later", begin)


class _Flight:
    """Tensors that a thread reads."""

    reports = False

    def __init__(self, slots: Sequence[int], tensors: Sequence[Any]) -> None:
        self.slots = slots
        self.source = tensors[0]
        self._read: Future[list[Any]] = _copying().submit(_values, tensors)

    def done(self) -> bool:
        """Whether it has read them."""
        return self._read.done()

    def wait(self) -> None:
        """Wait for the thread."""
        self._read.result()

    def fetch(self) -> list[Any]:
        """The values; raises what computing them raised."""
        return self._read.result()
