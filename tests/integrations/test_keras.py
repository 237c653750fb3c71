"""The callback in a real Keras training loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

require("tensorflow")
keras = require("keras")

import numpy as np  # noqa: E402

from asyncguard.integrations.keras import SyncTraceCallback  # noqa: E402
from asyncguard.integrations.recording import STALL, SYNCS  # noqa: E402

ROWS, BATCH, EPOCHS = 32, 4, 2


class Fails(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
    """Raises at the end of the batch."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == 4:
            raise RuntimeError("no more data")


def fit(*callbacks: Any, **optimizer: Any) -> Any:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(**optimizer), "mse")
    x, y = np.ones((ROWS, 4)), np.ones((ROWS, 1))
    return model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, callbacks=list(callbacks), verbose=0)


def test_every_optimizer_step_is_a_step() -> None:
    callback = SyncTraceCallback()
    fit(callback)
    assert callback.trace is not None
    assert callback.trace.step_count == EPOCHS * ROWS // BATCH


def test_accumulated_gradients_make_one_step_of_several_batches() -> None:
    callback = SyncTraceCallback()
    fit(callback, gradient_accumulation_steps=4)
    assert callback.trace is not None
    assert callback.trace.step_count == EPOCHS * ROWS // BATCH // 4


def test_the_history_gets_the_figures_a_step() -> None:
    history = fit(SyncTraceCallback()).history
    assert len(history[SYNCS]) == len(history[STALL]) == EPOCHS


def test_a_read_in_each_batch_counts() -> None:
    class Reads(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.model.weights[0].value.numpy()

    callback = SyncTraceCallback()
    history = fit(Reads(), callback).history
    assert callback.trace is not None
    sources = [site.source for site in callback.trace.sites]
    assert "self.model.weights[0].value.numpy()" in sources
    assert min(history[SYNCS]) >= 1


def test_a_training_that_fails_leaves_its_trace(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="no more data"),
        SyncTraceCallback(tmp_path / "trace.json") as callback,
    ):
        fit(callback, Fails())
    assert asyncguard.load_trace(tmp_path / "trace.json").step_count == 5
