"""A Keras 3 callback: a trace of `model.fit`, its figures in the epoch's logs and the history.

    with SyncTraceCallback("trace.json") as callback:
        model.fit(x, y, callbacks=[callback])

Keras does not tell callbacks that the training failed; the `with` does. Without it the trace of a
failed training is saved when the process ends or the next training begins.
"""

from __future__ import annotations

import os
from typing import Any

from keras.callbacks import Callback

from asyncguard.integrations.recording import Recording


class SyncTraceCallback(Recording, Callback):
    """Traces the training; a step is an update of the model's optimizer.

    path and options are those of `Recording`. Sync points and CPU stall a step are added to the
    logs at the end of each epoch. Where `steps_per_execution` runs several batches in one call,
    these are one step.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        super().__init__(path, **options)
        self._batches = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """The training begins."""
        self._batches = 0
        self.begin()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """A batch is over; with accumulated gradients not each one ends a step."""
        self._batches += 1
        optimizer = getattr(self.model, "optimizer", None)
        if self._batches % (getattr(optimizer, "gradient_accumulation_steps", None) or 1) == 0:
            self.end_step()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keras has put the epoch's logs together: add ours."""
        if logs is not None:
            logs.update(self.rates())

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """The training is over."""
        self.finish()
