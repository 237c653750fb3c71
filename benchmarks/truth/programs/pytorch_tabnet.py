"""TabNet fitted to tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pytorch_tabnet import augmentations, multitask, pretraining, tab_model


def _data() -> tuple[Any, Any]:
    made = np.random.default_rng(0)
    inputs = made.normal(size=(64, 6)).astype("float32")
    inputs[:, 0] = np.arange(64) % 3
    return inputs, np.arange(64) % 3


SIZES: dict[str, Any] = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0, "seed": 0}
RUN: dict[str, Any] = {
    "max_epochs": 2,
    "batch_size": 32,
    "virtual_batch_size": 16,
    "drop_last": False,
}


def _used(model: Any, inputs: Any, labels: Any, **given: Any) -> list[Any]:
    model.fit(inputs[:48], labels[:48], eval_set=[(inputs[48:], labels[48:])], **RUN, **given)
    explained, masks = model.explain(inputs[:8])
    return [model.predict(inputs), explained, masks, model.feature_importances_]


def classify(device: str) -> list[Any]:
    """Classes, with a column of categories, class weights and a schedule."""
    model = tab_model.TabNetClassifier(
        **SIZES, cat_idxs=[0], cat_dims=[3], cat_emb_dim=2, device_name=device,
        scheduler_fn=torch.optim.lr_scheduler.StepLR, scheduler_params={"step_size": 1,
            "gamma": 0.9},
    )  # fmt: skip
    found = _used(model, *_data(), eval_metric=["accuracy", "logloss"], weights=1)
    return [*found, model.predict_proba(_data()[0])]


def classify_entmax(device: str) -> list[Any]:
    """The other mask, two classes, augmented."""
    model = tab_model.TabNetClassifier(**SIZES, mask_type="entmax", device_name=device)
    inputs, labels = _data()
    made = augmentations.ClassificationSMOTE(device_name=device, p=0.3)
    return _used(model, inputs, labels % 2, eval_metric=["auc"], augmentations=made)


def regress(device: str) -> list[Any]:
    """Numbers."""
    model = tab_model.TabNetRegressor(**SIZES, device_name=device, grouped_features=[[1, 2]])
    inputs, labels = _data()
    values = labels[:, None].astype("float32")
    made = augmentations.RegressionSMOTE(device_name=device, p=0.3)
    return _used(model, inputs, values, eval_metric=["rmse", "mae", "rmsle"], augmentations=made)


def several_tasks(device: str) -> list[Any]:
    """Several labels of a row."""
    model = multitask.TabNetMultiTaskClassifier(**SIZES, device_name=device)
    inputs, labels = _data()
    return _used(model, inputs, np.stack([labels, labels % 2], 1), eval_metric=["accuracy"])


def pretrain(device: str) -> list[Any]:
    """Train without labels, then go on with them."""
    before = pretraining.TabNetPretrainer(**SIZES, device_name=device)
    inputs, labels = _data()
    before.fit(inputs[:48], eval_set=[inputs[48:]], pretraining_ratio=0.5, **RUN)
    model = tab_model.TabNetClassifier(**SIZES, device_name=device)
    return [*before.predict(inputs), *_used(model, inputs, labels, from_unsupervised=before)]
