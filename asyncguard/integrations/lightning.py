"""A Lightning callback: a trace of `trainer.fit`, its figures in the trainer's loggers.

    Trainer(callbacks=[SyncTraceCallback("trace.json")])

Works with `lightning` and with `pytorch_lightning`.
"""

from __future__ import annotations

import os
from typing import Any

from asyncguard.extras import needs
from asyncguard.integrations.recording import Recording
from asyncguard.runtime.ranks import Seat

try:
    from lightning.pytorch import Callback
except ImportError:
    with needs("lightning", "pytorch_lightning"):
        from pytorch_lightning import Callback


class SyncTraceCallback(Recording, Callback):
    """Traces the training loop; a step is what moves `trainer.global_step`.

    path and options are those of `Recording`. Every `trainer.log_every_n_steps` steps, and at the
    end, sync points and CPU stall a step go to the trainer's loggers.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        super().__init__(path, **options)
        self._steps = 0  # of the trainer, at the newest boundary
        self._unlogged = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """The sanity check is over and the training begins."""
        self._steps = trainer.global_step
        self._unlogged = 0
        self.begin(Seat(trainer.global_rank, trainer.world_size))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A batch is over; with accumulated gradients not each one ends a step."""
        if trainer.global_step == self._steps:
            return
        self._steps = trainer.global_step
        self.end_step()
        self._unlogged += 1
        if 0 < trainer.log_every_n_steps <= self._unlogged:
            self._log(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The training is over: log what is left and save."""
        self._log(trainer)
        self.finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The training failed or was interrupted: save what there is."""
        self.finish()

    def _log(self, trainer: Any) -> None:
        # Not `self.log`: it would upload each number to the device, a sync point of our own.
        self._unlogged = 0
        figures = self.rates()
        for logger in trainer.loggers if figures else ():
            # Lightning numbers its own rows from 0; loggers want them in order.
            logger.log_metrics(figures, step=max(trainer.global_step - 1, 0))
