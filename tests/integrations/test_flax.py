"""Steps of training loops written with Flax, in both of its styles."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

jax = require("jax")
require("flax")

import optax  # noqa: E402
from flax import nnx  # noqa: E402
from flax.training.train_state import TrainState  # noqa: E402

STEPS = 6
X = jax.numpy.ones((4, 3))


def linen(compiled: Callable[[Any], Any]) -> Callable[[], float]:
    def loss_of(params: Any, x: Any) -> Any:
        return (x @ params["w"]).mean()

    def step(state: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(state.params, x)
        return state.apply_gradients(grads=grads), loss

    params = {"w": jax.numpy.ones((3, 1))}
    state = TrainState.create(apply_fn=loss_of, params=params, tx=optax.adam(0.1))
    run = compiled(step)

    def train() -> float:
        nonlocal state
        state, loss = run(state, X)
        return loss.item()

    return train


# Before flax 0.11, which is what Python 3.10 has, an optimizer holds its model.
HOLDS_MODEL = "model" not in inspect.signature(nnx.Optimizer.update).parameters


def of_nnx(compiled: Callable[[Any], Any]) -> Callable[[], float]:
    def step(model: Any, optimizer: Any, x: Any) -> Any:
        loss, grads = nnx.value_and_grad(lambda model: model(x).mean())(model)
        optimizer.update(*(() if HOLDS_MODEL else (model,)), grads)
        return loss

    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    run = compiled(step)
    return lambda: run(model, optimizer, X).item()


def as_written(step: Any) -> Any:
    return step


@pytest.mark.parametrize(
    ("make", "compiled", "steps"),
    [
        (linen, as_written, STEPS),
        (linen, jax.jit, 0),  # called in C++: `asyncguard.steps` or an annotation marks these
        (of_nnx, as_written, STEPS),
        (of_nnx, nnx.jit, STEPS),
    ],
    ids=["linen", "linen under jax.jit", "nnx", "nnx under nnx.jit"],
)
def test_an_update_ends_a_step(make: Any, compiled: Any, steps: int) -> None:
    train = make(compiled)
    with asyncguard.trace() as trace:
        for _ in range(STEPS):
            train()
    assert (trace.total_syncs, trace.step_count) == (STEPS, steps)


def test_a_compiled_function_that_updates_nothing_ends_no_step() -> None:
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    evaluate = nnx.jit(lambda model, x: model(x).mean())
    train = of_nnx(nnx.jit)
    with asyncguard.trace() as trace:
        for _ in range(STEPS):
            train()
            evaluate(model, X)
    assert trace.step_count == STEPS
