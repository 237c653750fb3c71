"""Keras on TensorFlow: models that are fitted, evaluated and asked, layers, metrics, callbacks."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import callbacks, layers, losses, metrics, optimizers, regularizers

ROWS = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
CLASSES = (np.arange(32) % 4).astype("int32")
IMAGES = np.random.default_rng(1).normal(size=(8, 16, 16, 3)).astype("float32")
TOKENS = np.random.default_rng(2).integers(0, 20, size=(8, 6)).astype("int32")


def _begin() -> None:
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)


def _network() -> Any:
    _begin()
    return keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16, activation="relu", kernel_regularizer=regularizers.L2(1e-3)),
            layers.BatchNormalization(),
            layers.Dropout(0.1),
            layers.Dense(4),
        ]
    )


LOSS = functools.partial(losses.SparseCategoricalCrossentropy, from_logits=True)


def _compiled(optimizer: Any = "adam", **options: Any) -> Any:
    model = _network()
    model.compile(optimizer, LOSS(), metrics=["accuracy"], **options)
    return model


def _fitted(options: dict[str, Any], device: str) -> list[Any]:
    model = _compiled(**options)
    found = model.fit(ROWS, CLASSES, batch_size=8, epochs=2, validation_split=0.25, verbose=2)
    return [
        found.history,
        model.evaluate(ROWS, CLASSES, verbose=0),
        model.predict(ROWS, verbose=0),
        model.get_weights(),
    ]


CASES: dict[str, Any] = {
    f"fit {name}": functools.partial(_fitted, options)
    for name, options in {
        "plain": {},
        "eagerly": {"run_eagerly": True},
        "several steps": {"steps_per_execution": 2},
        "weighted": {"weighted_metrics": ["accuracy"], "loss_weights": None},
        "scaled": {"auto_scale_loss": True},
    }.items()
}
OPTIMIZERS = (
    "SGD", "RMSprop", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "Adafactor", "Nadam",
    "Ftrl", "Lion", "Lamb", "Muon",
)  # fmt: skip


def _optimized(name: str, device: str) -> list[Any]:
    model = _compiled(getattr(optimizers, name)(0.01, clipnorm=1.0, use_ema=True))
    return [model.fit(ROWS, CLASSES, epochs=1, verbose=0).history, model.get_weights()]


CASES |= {f"optimizer {name}": functools.partial(_optimized, name) for name in OPTIMIZERS}


def by_steps(device: str) -> list[Any]:
    """A loop of the user's: batches trained, tested and predicted one at a time."""
    model = _compiled()
    found = []
    for at in range(0, 32, 8):
        x, y = ROWS[at : at + 8], CLASSES[at : at + 8]
        found.append(model.train_on_batch(x, y, return_dict=True))
        found.append(model.test_on_batch(x, y))
        found.append(model.predict_on_batch(x))
    return found


def called_back(device: str) -> list[Any]:
    """Fit with the callbacks that watch a training."""
    model = _compiled()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        watching = [
            callbacks.EarlyStopping(patience=1, restore_best_weights=True),
            callbacks.ModelCheckpoint(str(path / "best.keras"), save_best_only=True),
            callbacks.ReduceLROnPlateau(patience=1),
            callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9),
            callbacks.CSVLogger(str(path / "log.csv")),
            callbacks.TerminateOnNaN(),
            callbacks.BackupAndRestore(str(path / "backup")),
            callbacks.LambdaCallback(on_batch_end=lambda batch, logs: logs["loss"]),
            callbacks.ProgbarLogger(),
        ]
        found = model.fit(
            ROWS, CLASSES, epochs=3, validation_split=0.25, callbacks=watching, verbose=1
        )
        model.save(path / "all.keras")
        again = keras.saving.load_model(path / "all.keras")
        model.save_weights(path / "some.weights.h5")
        again.load_weights(path / "some.weights.h5")
    return [found.history, again.predict(ROWS, verbose=0)]


def own_steps(device: str) -> list[Any]:
    """A model with a train_step of its own, and metrics it keeps itself."""
    import tensorflow as tf

    class Own(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = _network()
            self.mean = metrics.Mean(name="mean")

        def call(self, x: Any, training: bool = False) -> Any:
            return self.inner(x, training=training)

        def train_step(self, data: Any) -> dict[str, Any]:
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            variables = self.trainable_variables
            self.optimizer.apply(tape.gradient(loss, variables), variables)
            self.mean.update_state(loss)
            return {"loss": self.mean.result()}

    found = []
    for eagerly in (False, True):
        model = Own()
        model.compile("sgd", LOSS(), run_eagerly=eagerly)
        found.append(model.fit(ROWS, CLASSES, batch_size=16, epochs=2, verbose=0).history)
    return found


METRICS: dict[str, Any] = {
    "Accuracy": (), "BinaryAccuracy": (), "CategoricalAccuracy": (), "AUC": (), "Precision": (),
    "Recall": (), "TruePositives": (), "FalseNegatives": (), "PrecisionAtRecall": (0.5,),
    "SensitivityAtSpecificity": (0.5,), "MeanSquaredError": (), "RootMeanSquaredError": (),
    "MeanAbsoluteError": (), "CosineSimilarity": (), "KLDivergence": (), "Poisson": (),
    "LogCoshError": (), "Hinge": (), "CategoricalHinge": (), "BinaryIoU": (), "R2Score": (),
    "F1Score": (), "FBetaScore": (), "TopKCategoricalAccuracy": (2,), "Mean": (), "Sum": (),
    "MeanIoU": (2,), "ConcordanceCorrelation": (), "PearsonCorrelation": (),
}  # fmt: skip


def _measured(name: str, device: str) -> list[Any]:
    _begin()
    metric = getattr(metrics, name)(*METRICS[name])
    truth = keras.utils.to_categorical(CLASSES, 4)
    found = []
    for seed in range(3):
        guess = np.random.default_rng(seed).uniform(size=(32, 4)).astype("float32")
        if name in ("Mean", "Sum"):
            metric.update_state(guess)
        elif name == "MeanIoU":
            metric.update_state(truth, guess.round())
        else:
            metric.update_state(truth, guess)
        found.append(metric.result())
    metric.reset_state()
    return found


CASES |= {f"metric {name}": functools.partial(_measured, name) for name in METRICS}
LOSSES = (
    "BinaryCrossentropy", "BinaryFocalCrossentropy", "CategoricalCrossentropy",
    "CategoricalFocalCrossentropy", "CosineSimilarity", "Dice", "Hinge", "Huber", "KLDivergence",
    "LogCosh", "MeanAbsoluteError", "MeanSquaredError", "Poisson", "SquaredHinge", "Tversky",
    "CategoricalHinge",
)  # fmt: skip


def losing(device: str) -> list[Any]:
    """Each loss, with weights."""
    _begin()
    truth = keras.utils.to_categorical(CLASSES, 4)
    guess = np.random.default_rng(0).uniform(0.1, 0.9, size=(32, 4)).astype("float32")
    weights = {name: np.ones(32, "float32") for name in LOSSES} | {"Dice": None, "Tversky": None}
    return [getattr(losses, name)()(truth, guess, weights[name]) for name in LOSSES]


def _layers() -> dict[str, tuple[Any, Any]]:
    """Each layer and what it is given."""
    sequence = np.random.default_rng(3).normal(size=(4, 6, 8)).astype("float32")
    plain: dict[str, tuple[Any, Any]] = {
        "LSTM": (layers.LSTM(5, return_sequences=True, use_cudnn=False), sequence),
        "GRU": (layers.GRU(5, return_state=True, use_cudnn=False), sequence),
        "SimpleRNN": (layers.SimpleRNN(5), sequence),
        "Bidirectional": (layers.Bidirectional(layers.LSTM(3)), sequence),
        "TimeDistributed": (layers.TimeDistributed(layers.Dense(3)), sequence),
        "Attention": (layers.Attention(), [sequence, sequence]),
        "Embedding": (layers.Embedding(20, 4, mask_zero=True), TOKENS),
        "Normalization": (layers.Normalization(), ROWS),
        "Discretization": (layers.Discretization(num_bins=4), ROWS),
        "CategoryEncoding": (layers.CategoryEncoding(20), TOKENS),
        "Hashing": (layers.Hashing(5), TOKENS),
        "SpectralNormalization": (layers.SpectralNormalization(layers.Dense(3)), ROWS),
    }
    heads = layers.MultiHeadAttention(2, 4)
    plain["MultiHeadAttention"] = (lambda x: heads(x, x, use_causal_mask=True), sequence)
    for name in (
        "Conv2D", "DepthwiseConv2D", "SeparableConv2D", "Conv2DTranspose", "MaxPooling2D",
        "AveragePooling2D", "GlobalAveragePooling2D", "UpSampling2D", "ZeroPadding2D",
        "RandomFlip", "RandomRotation", "RandomZoom", "RandomContrast", "RandomBrightness",
        "RandomCrop", "RandomTranslation", "Resizing", "CenterCrop", "Rescaling",
        "LayerNormalization", "GroupNormalization", "UnitNormalization", "GaussianNoise",
        "SpatialDropout2D", "RandAugment", "MixUp", "CutMix", "RandomErasing", "RandomGrayscale",
        "AutoContrast", "Solarization", "RandomColorJitter", "RandomHue", "RandomSaturation",
        "RandomShear", "RandomPerspective", "RandomGaussianBlur", "Equalization", "AugMix",
    ):  # fmt: skip
        plain[name] = (functools.partial(_made, name), IMAGES)
    return plain


GIVEN: dict[str, tuple[Any, ...]] = {
    "Conv2D": (4, 3), "DepthwiseConv2D": (3,), "SeparableConv2D": (4, 3),
    "Conv2DTranspose": (4, 3), "RandomRotation": (0.1,), "RandomZoom": (0.1,),
    "RandomContrast": (0.2,), "RandomBrightness": (0.2,), "RandomCrop": (8, 8),
    "RandomTranslation": (0.1, 0.1), "Resizing": (8, 8), "CenterCrop": (8, 8),
    "AveragePooling2D": (2,), "Rescaling": (0.5,), "GroupNormalization": (3,),
    "GaussianNoise": (0.1,),
    "SpatialDropout2D": (0.2,), "RandomHue": (0.2,), "RandomSaturation": (0.2,),
}  # fmt: skip


def _made(name: str, value: Any) -> Any:
    return getattr(layers, name)(*GIVEN.get(name, ()))(value, training=True)


def _layered(name: str, device: str) -> Any:
    _begin()
    layer, value = _layers()[name]
    if hasattr(layer, "adapt"):
        layer.adapt(value)
    return [layer(value), layer(value)]


CASES |= {f"layer {name}": functools.partial(_layered, name) for name in _layers()}


def functional(device: str) -> list[Any]:
    """A model with two inputs and outputs, fitted from a generator, class weights and a summary."""
    _begin()
    one, two = keras.Input((8,)), keras.Input((6,), dtype="int32")
    words = layers.GlobalAveragePooling1D()(layers.Embedding(20, 4)(two))
    both = layers.Concatenate()([layers.Dense(4)(one), words])
    model = keras.Model([one, two], {"a": layers.Dense(4)(both), "b": layers.Dense(1)(both)})
    model.compile("adam", {"a": LOSS(), "b": "mse"}, metrics={"a": ["accuracy"], "b": ["mae"]})

    class Batches(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, at: int) -> Any:
            part = slice(4 * at, 4 * at + 4)
            wanted = {"a": CLASSES[part], "b": ROWS[part, :1]}
            return (ROWS[part], TOKENS[part]), wanted

    lines: list[str] = []
    model.summary(print_fn=lines.append)
    found = model.fit(Batches(), epochs=2, verbose=0).history
    copy = keras.models.clone_model(model)
    return [found, copy.count_params(), model.predict((ROWS[:8], TOKENS), verbose=0)["a"]]


def text_and_numbers(device: str) -> list[Any]:
    """What is computed without a model: operators, randomness, preprocessing."""
    _begin()
    x = keras.ops.convert_to_tensor(ROWS)
    scores = keras.ops.softmax(x)
    best = keras.ops.top_k(scores, 2)
    chosen = keras.ops.where(x > 0, x, 0.0)
    many = keras.ops.scan(lambda carry, at: (carry + at, carry), keras.ops.zeros(8), x)
    drawn = keras.random.normal((3,)), keras.random.shuffle(x), keras.random.categorical(x, 2)
    padded = keras.utils.pad_sequences([[1, 2], [3]], maxlen=4)
    image = keras.utils.img_to_array(keras.utils.array_to_img(IMAGES[0]))
    normal = keras.utils.normalize(ROWS)
    top = keras.metrics.sparse_top_k_categorical_accuracy(CLASSES, ROWS[:, :4], k=2)
    return [scores, list(best), chosen, many[0], list(drawn), padded, image, normal, top]
