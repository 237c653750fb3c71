"""Networks fitted as scikit-learn's estimators are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import skorch
import torch
from sklearn.metrics import accuracy_score
from skorch import callbacks, dataset, helper

from benchmarks.truth.programs import network


def _data() -> tuple[Any, Any]:
    made = np.random.default_rng(0)
    return made.normal(size=(24, 8)).astype("float32"), np.arange(24) % 4


CALLBACKS: dict[str, Any] = {
    "plain": list,
    "scoring": lambda: [
        callbacks.EpochScoring("accuracy", lower_is_better=False),
        callbacks.BatchScoring("neg_log_loss"),
    ],
    "stopping": lambda: [callbacks.EarlyStopping(patience=1), callbacks.GradientNormClipping(0.5)],
    "rates": lambda: [callbacks.LRScheduler("StepLR", step_size=1)],
    "cyclic": lambda: [
        callbacks.LRScheduler("CyclicLR", base_lr=0.01, max_lr=0.1, step_every="batch")
    ],
    "plateau": lambda: [callbacks.LRScheduler("ReduceLROnPlateau", monitor="valid_loss")],
    "frozen": lambda: [callbacks.Freezer("0*"), callbacks.Initializer("2*", torch.nn.init.ones_)],
}


def _classify(name: str, device: str) -> list[Any]:
    inputs, labels = _data()
    model = skorch.NeuralNetClassifier(
        functools.partial(network, "cpu"), criterion=torch.nn.CrossEntropyLoss, max_epochs=2,
        batch_size=8, device=device, callbacks=CALLBACKS[name](), verbose=0, lr=0.05,
    )  # fmt: skip
    model.fit(inputs, labels)
    model.partial_fit(inputs, labels)
    predicted = model.predict(inputs)
    return [predicted, model.predict_proba(inputs), accuracy_score(labels, predicted),
            model.score(inputs, labels), model.history[:, "train_loss"]]  # fmt: skip


CASES = {f"classify {name}": functools.partial(_classify, name) for name in CALLBACKS}


def binary(device: str) -> list[Any]:
    """Two classes by one logit."""
    inputs, labels = _data()
    model = skorch.NeuralNetBinaryClassifier(
        functools.partial(network, "cpu", outputs=1), max_epochs=2, batch_size=8, device=device,
        verbose=0,
    )  # fmt: skip
    model.fit(inputs, (labels % 2).astype("float32"))
    return [model.predict(inputs), model.predict_proba(inputs)]


def regress(device: str) -> list[Any]:
    """Numbers, with data of a dataset and validation data of its own."""
    inputs, labels = _data()
    values = labels.astype("float32")[:, None]
    held = dataset.Dataset(inputs[:8], values[:8])
    model = skorch.NeuralNetRegressor(
        functools.partial(network, "cpu", outputs=1), max_epochs=2, device=device, verbose=0,
        optimizer=torch.optim.Adam, train_split=helper.predefined_split(held),
    )  # fmt: skip
    model.fit(dataset.Dataset(inputs, values), None)
    return [model.predict(inputs), list(model.forward_iter(inputs))]


def stored(device: str) -> list[Any]:
    """Parameters and optimizer stored and loaded; parameters set after the first fit."""
    import io

    inputs, labels = _data()
    model = skorch.NeuralNetClassifier(
        functools.partial(network, "cpu"), criterion=torch.nn.CrossEntropyLoss, max_epochs=1,
        device=device, verbose=0, optimizer=torch.optim.Adam,
    ).fit(inputs, labels)  # fmt: skip
    stream, other = io.BytesIO(), io.BytesIO()
    model.save_params(f_params=stream, f_optimizer=other)
    stream.seek(0)
    other.seek(0)
    model.load_params(f_params=stream, f_optimizer=other)
    model.set_params(lr=0.2, batch_size=6)
    model.fit(inputs, labels)
    sliced = helper.SliceDict(a=inputs)
    return [
        model.predict(inputs),
        len(sliced),
        skorch.utils.to_numpy(model.infer(torch.tensor(inputs))),
    ]
