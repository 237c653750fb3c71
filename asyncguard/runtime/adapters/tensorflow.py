"""tensorflow: eager tensors are device values; symbolic ones, inside `tf.function`, are not.

The CPU runs behind Python's back only with `set_synchronous_execution(False)`. Without it a read
waits for nothing, and is counted with the time that it took.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops

from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    """tensorflow in eager mode, and keras on top of it."""

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
