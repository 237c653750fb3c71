"""A Hugging Face `TrainerCallback`: a trace of `trainer.train`, its figures among the logs.

    with SyncTraceCallback("trace.json").attach(trainer):
        trainer.train()

`Trainer(callbacks=[SyncTraceCallback("trace.json")])` does the same with two limits that are
Trainer's: its reporters (TensorBoard, W&B) see the logs before our figures are in them, and
nobody tells a callback that the training failed, so that the trace is saved when the process ends
or the next training begins.
"""

from __future__ import annotations

from typing import Any

from asyncguard.extras import needs
from asyncguard.integrations.recording import Recording
from asyncguard.runtime.ranks import Seat

with needs("transformers", "transformers"):
    from transformers import TrainerCallback


class SyncTraceCallback(Recording, TrainerCallback):
    """Traces the training; a step is an optimizer update, however many batches it took.

    path and options are those of `Recording`. Whenever the trainer logs (`logging_steps`), sync
    points and CPU stall a step are added to its logs and to `state.log_history`.
    """

    def attach(self, trainer: Any) -> SyncTraceCallback:
        """Put this before the trainer's other callbacks, so that its reporters get the figures."""
        trainer.callback_handler.callbacks.insert(0, self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training begins."""
        self.begin(Seat(args.process_index, args.world_size))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An optimizer update is over."""
        self.end_step()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """The trainer has put its logs together: add ours."""
        figures = self.rates()
        if logs is not None:
            logs.update(figures)
        if state.log_history:
            state.log_history[-1].update(figures)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training is over."""
        self.finish()
