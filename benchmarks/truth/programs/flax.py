"""Layers and models of linen and nnx: trained for some steps and asked."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen, nnx, serialization, struct, traverse_util
from flax.training import common_utils, dynamic_scale, early_stopping, train_state

PICTURE, STEPS, WORDS = (2, 8, 8, 3), (2, 5, 8), (2, 5)


def _input(shape: tuple[int, ...]) -> Any:
    if shape == WORDS:
        return jnp.arange(10).reshape(WORDS) % 7
    return jax.random.normal(jax.random.key(1), shape)


LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "Dense": (lambda: linen.Dense(4), STEPS), "Conv": (lambda: linen.Conv(4, (3, 3)), PICTURE),
    "DenseGeneral": (lambda: linen.DenseGeneral((2, 3), axis=(-1,)), STEPS),
    "ConvTranspose": (lambda: linen.ConvTranspose(4, (3, 3), (2, 2)), PICTURE),
    "ConvLocal": (lambda: linen.ConvLocal(4, (3, 3)), PICTURE), "Embed": (
        lambda: linen.Embed(7, 4), WORDS),
    "LayerNorm": (lambda: linen.LayerNorm(), STEPS), "RMSNorm": (lambda: linen.RMSNorm(), STEPS),
    "GroupNorm": (lambda: linen.GroupNorm(4), STEPS), "InstanceNorm": (
        lambda: linen.InstanceNorm(), PICTURE),
    "WeightNorm": (lambda: linen.WeightNorm(linen.Dense(4)), STEPS),
    "MultiHeadDotProductAttention": (
        lambda: linen.MultiHeadDotProductAttention(2, qkv_features=8), STEPS),
    "SelfAttention": (lambda: linen.SelfAttention(2), STEPS),
    "RNN LSTM": (lambda: linen.RNN(linen.LSTMCell(4)), STEPS),
    "RNN optimized": (lambda: linen.RNN(linen.OptimizedLSTMCell(4), reverse=True), STEPS),
    "RNN GRU": (lambda: linen.RNN(linen.GRUCell(4), return_carry=True), STEPS),
    "RNN simple": (lambda: linen.RNN(linen.SimpleCell(4)), STEPS),
    "RNN MGU": (lambda: linen.RNN(linen.MGUCell(4)), STEPS),
    "Bidirectional": (lambda: linen.Bidirectional(
        linen.RNN(linen.GRUCell(4)), linen.RNN(linen.GRUCell(4))), STEPS),
    "Einsum": (lambda: linen.Einsum((8, 4), "abc,cd->abd"), STEPS),
    "PReLU": (lambda: linen.PReLU(), STEPS),
    "Sequential": (lambda: linen.Sequential([linen.Dense(4), linen.relu, linen.Dense(2)]), STEPS),
    "remat": (lambda: linen.remat(linen.Dense)(4), STEPS),
}  # fmt: skip


def _outputs(output: Any) -> Any:
    return sum(jnp.sum(jnp.square(each)) for each in jax.tree.leaves(output))


def _layer(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    make, shape = LAYERS[name]
    layer, inputs = make(), _input(shape)
    held = layer.init(jax.random.key(0), inputs)
    state = train_state.TrainState.create(
        apply_fn=layer.apply, params=held.get("params", {}), tx=optax.sgd(0.01)
    )
    found = []
    for _ in range(2):
        loss, gradient = jax.value_and_grad(
            lambda values: _outputs(layer.apply({"params": values}, inputs))
        )(state.params)
        state = state.apply_gradients(grads=gradient)
        found.append(loss)
    return [*found, state.params]


CASES: dict[str, Any] = {f"linen {name}": functools.partial(_layer, name) for name in LAYERS}


class _Small(linen.Module):
    @linen.compact
    def __call__(self, inputs: Any, train: bool = True) -> Any:
        hidden = linen.Conv(4, (3, 3))(inputs)
        hidden = linen.BatchNorm(use_running_average=not train)(hidden)
        hidden = linen.max_pool(linen.relu(hidden), (2, 2), (2, 2))
        hidden = linen.Dropout(0.2, deterministic=not train)(hidden.reshape(len(inputs), -1))
        self.sow("intermediates", "hidden", hidden)
        return linen.Dense(3)(linen.avg_pool(hidden[..., None], (2,), (2,))[..., 0])


def classify(device: str) -> list[Any]:
    """A small picture network with running averages, dropout, and values it keeps."""
    jax.clear_caches()
    model, inputs = _Small(), _input(PICTURE)
    held = model.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, inputs)
    values, averages = held["params"], held["batch_stats"]
    rule = optax.adam(0.01)
    state = rule.init(values)

    @jax.jit
    def step(values: Any, averages: Any, state: Any, key: Any) -> Any:
        def loss(values: Any) -> Any:
            logits, changed = model.apply(
                {"params": values, "batch_stats": averages}, inputs, rngs={"dropout": key},
                mutable=["batch_stats", "intermediates"],
            )  # fmt: skip
            wanted = common_utils.onehot(jnp.array([0, 2]), 3)
            return optax.softmax_cross_entropy(logits, wanted).mean(), changed["batch_stats"]

        (value, averages), gradient = jax.value_and_grad(loss, has_aux=True)(values)
        changes, state = rule.update(gradient, state)
        return optax.apply_updates(values, changes), averages, state, value

    found = []
    stops = early_stopping.EarlyStopping(min_delta=0.01, patience=1)
    for at in range(3):
        values, averages, state, value = step(values, averages, state, jax.random.key(at))
        stops = stops.update(float(value))
        found.append(value)
    told = linen.tabulate(model, jax.random.key(0))(inputs, train=False)
    packed = serialization.to_bytes(values)
    again = serialization.from_bytes(values, packed)
    flat = traverse_util.flatten_dict(again, sep="/")
    return [*found, flat, stops.should_stop, len(told) > 0]


class _Network(nnx.Module):
    def __init__(self, keys: nnx.Rngs) -> None:
        self.conv = nnx.Conv(3, 4, (3, 3), rngs=keys)
        self.norm = nnx.BatchNorm(4, rngs=keys)
        self.drop = nnx.Dropout(0.2, rngs=keys)
        self.linear = nnx.Linear(256, 3, rngs=keys)

    def __call__(self, inputs: Any) -> Any:
        hidden = nnx.relu(self.norm(self.conv(inputs)))
        return self.linear(self.drop(hidden.reshape(len(inputs), -1)))


def objects(device: str) -> list[Any]:
    """The same as objects that hold their state, with metrics."""
    jax.clear_caches()
    model, inputs, labels = _Network(nnx.Rngs(0)), _input(PICTURE), jnp.array([0, 2])
    optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)
    kept = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))

    @nnx.jit
    def step(model: Any, optimizer: Any, kept: Any) -> Any:
        def lose(model: Any) -> Any:
            logits = model(inputs)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits

        (loss, logits), gradient = nnx.value_and_grad(lose, has_aux=True)(model)
        kept.update(loss=loss, logits=logits, labels=labels)
        optimizer.update(model, gradient)
        return loss

    found = [step(model, optimizer, kept) for _ in range(2)]
    model.eval()
    parts = nnx.split(model)
    return [
        *found,
        kept.compute(),
        model(inputs),
        nnx.merge(*parts)(inputs),
        nnx.state(model, nnx.Param),
    ]


NNX: dict[str, Any] = {
    "LSTM": lambda keys: nnx.RNN(nnx.LSTMCell(8, 4, rngs=keys)),
    "GRU": lambda keys: nnx.RNN(nnx.GRUCell(8, 4, rngs=keys)),
    "Attention": lambda keys: nnx.MultiHeadAttention(2, 8, 8, decode=False, rngs=keys),
    "LayerNorm": lambda keys: nnx.LayerNorm(8, rngs=keys),
    "RMSNorm": lambda keys: nnx.RMSNorm(8, rngs=keys),
    "GroupNorm": lambda keys: nnx.GroupNorm(8, 4, rngs=keys),
    "LinearGeneral": lambda keys: nnx.LinearGeneral(8, (2, 3), rngs=keys),
    "Einsum": lambda keys: nnx.Einsum("abc,cd->abd", (8, 4), rngs=keys),
    "LoRA": lambda keys: nnx.LoRA(8, 2, 4, rngs=keys),
    "Sequential": lambda keys: nnx.Sequential(nnx.Linear(8, 4, rngs=keys), nnx.relu),
}


def _object(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    made, inputs = NNX[name](nnx.Rngs(0)), _input(STEPS)
    loss, gradient = nnx.value_and_grad(lambda model: _outputs(model(inputs)))(made)
    return [loss, nnx.state(gradient)]


CASES |= {f"nnx {name}": functools.partial(_object, name) for name in NNX}


@struct.dataclass
class _Held:
    a: Any
    b: int = struct.field(pytree_node=False, default=1)


def helpers(device: str) -> list[Any]:
    """Data classes, scales of half precision, and dictionaries."""
    jax.clear_caches()
    held = _Held(jnp.ones(3)).replace(b=2)
    scale = dynamic_scale.DynamicScale(growth_interval=1)
    found = []
    for _ in range(2):
        scale, finite, value, gradient = scale.value_and_grad(lambda x: jnp.sum(x**2))(held.a)
        found += [finite, value, gradient]
    return [
        *found,
        serialization.to_state_dict(held),
        common_utils.stack_forest([{"a": held.a}] * 2),
    ]
