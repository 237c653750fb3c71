"""Gradients turned into steps by each rule, and losses, schedules and searches."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
from optax import contrib, losses, projections, tree_utils

START = {"a": jnp.arange(6.0).reshape(2, 3) / 5, "b": jnp.ones(3)}
RULES: dict[str, Any] = {
    **{name: functools.partial(getattr(optax, name), 0.05) for name in (
        "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw",
        "adan",
        "amsgrad", "fromage", "lamb", "lars", "lion", "nadam", "nadamw", "noisy_sgd", "novograd",
        "radam", "rmsprop", "rprop", "sgd", "sign_sgd", "sm3", "yogi",
        "optimistic_gradient_descent",
    )},
    "polyak": lambda: optax.polyak_sgd(0.05),
    "clipped": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adaptive_grad_clip(0.5), optax.sgd(0.05, 0.9, True)),
    "scheduled": lambda: optax.chain(
        optax.scale_by_adam(), optax.scale_by_schedule(optax.cosine_decay_schedule(-0.1, 5))),
    "several steps": lambda: optax.MultiSteps(optax.adam(0.05), every_k_schedule=2),
    "finite": lambda: optax.apply_if_finite(optax.sgd(0.05), 2),
    "masked": lambda: optax.masked(optax.adam(0.05), {"a": True, "b": False}),
    "parts": lambda: optax.partition({"x": optax.adam(0.05), "y": optax.set_to_zero()},
                                     {"a": "x", "b": "y"}),
    "injected": lambda: optax.inject_hyperparams(optax.adam)(
        learning_rate=optax.linear_schedule(0.1, 0.01, 5)),
    "lookahead": lambda: optax.lookahead(optax.sgd(0.05), 2, 0.5),
    "mechanic": lambda: contrib.mechanize(optax.sgd(0.05)),
    "prodigy": lambda: contrib.prodigy(0.5), "dadapt": lambda: contrib.dadapt_adamw(0.5),
    "cocob": contrib.cocob, "sam": lambda: contrib.sam(optax.sgd(0.05), optax.sgd(0.01), 2),
    "schedule free": lambda: contrib.schedule_free_adamw(0.05),
    "muon": lambda: contrib.muon(0.05), "ademamix": lambda: contrib.ademamix(0.05),
    "momo": lambda: contrib.momo(0.05), "sophia": lambda: contrib.simplified_ademamix(0.05),
    "lbfgs": lambda: optax.lbfgs(),
    "search": lambda: optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=3)),
    "zoom": lambda: optax.chain(
        optax.sgd(1.0), optax.scale_by_zoom_linesearch(max_linesearch_steps=3)),
}  # fmt: skip


def _loss(values: Any) -> Any:
    return sum(jnp.sum((each - 0.3) ** 2) for each in jax.tree.leaves(values))


def _steps(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    rule = (
        optax.with_extra_args_support(RULES[name]()) if name != "several steps" else RULES[name]()
    )
    values = START
    state = rule.init(values)
    found = []
    for _ in range(3):
        value, gradient = jax.value_and_grad(_loss)(values)
        more = {} if name == "several steps" else {
            "value": value, "grad": gradient, "value_fn": _loss, "loss": value}  # fmt: skip
        changes, state = rule.update(gradient, state, values, **more)
        values = optax.apply_updates(values, changes)
        found.append(value)
    return [*found, values, optax.global_norm(values)]


CASES: dict[str, Any] = {f"steps {name}": functools.partial(_steps, name) for name in RULES}


def schedules(device: str) -> list[Any]:
    """Rates over time."""
    made = [
        optax.constant_schedule(0.1), optax.linear_schedule(1.0, 0.1, 4, 1),
        optax.polynomial_schedule(1.0, 0.1, 2, 4), optax.exponential_decay(1.0, 2, 0.5,
            staircase=True),
        optax.cosine_onecycle_schedule(5, 1.0), optax.linear_onecycle_schedule(5, 1.0),
        optax.piecewise_constant_schedule(1.0, {2: 0.5}),
        optax.piecewise_interpolate_schedule("cosine", 1.0, {2: 0.5}),
        optax.warmup_cosine_decay_schedule(0.0, 1.0, 2, 5), optax.sgdr_schedule([
            {"init_value": 0.0, "peak_value": 1.0, "decay_steps": 4, "warmup_steps": 1}]),
        optax.warmup_exponential_decay_schedule(0.0, 1.0, 2, 2, 0.5),
    ]  # fmt: skip
    return [float(each(at)) for each in made for at in range(3)]


def measured(device: str) -> list[Any]:
    """Losses of numbers, classes, sequences and pairs."""
    jax.clear_caches()
    key = jax.random.key(0)
    logits, wanted = jax.random.normal(key, (4, 5)), jax.nn.one_hot(jnp.arange(4), 5)
    pads = jnp.zeros((2, 6))
    return [
        losses.softmax_cross_entropy(logits, wanted), losses.l2_loss(logits, wanted),
        losses.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(4)),
        losses.sigmoid_binary_cross_entropy(logits, wanted), losses.huber_loss(logits, wanted),
        losses.cosine_similarity(logits, wanted + 0.1), losses.log_cosh(logits), losses.hinge_loss(
            logits, 2 * wanted - 1), losses.kl_divergence(logits, wanted),
        losses.poly_loss_cross_entropy(logits, wanted), losses.sigmoid_focal_loss(logits, wanted),
        losses.ntxent(logits, jnp.array([0, 0, 1, 1])), losses.triplet_margin_loss(
            logits, logits + 0.1, logits - 1), losses.smooth_labels(wanted, 0.1),
        losses.ranking_softmax_loss(logits, wanted), losses.convex_kl_divergence(logits, wanted),
        losses.multiclass_sparsemax_loss(logits, jnp.arange(4)),
        optax.ctc_loss(jnp.zeros((2, 6, 4)), pads, jnp.ones((2, 3), jnp.int32), jnp.zeros((2, 3))),
    ]  # fmt: skip


def projected(device: str) -> list[Any]:
    """The nearest points of sets, and work on trees."""
    jax.clear_caches()
    return [
        projections.projection_simplex(START), projections.projection_l1_ball(START),
        projections.projection_l2_ball(START, 0.5), projections.projection_box(START, 0.0, 0.5),
        projections.projection_linf_ball(START), projections.projection_non_negative(START),
        projections.projection_hyperplane(START, START, 1.0), tree_utils.tree_norm(START),
        tree_utils.tree_add_scale(START, 0.5, START), tree_utils.tree_vdot(START, START),
        tree_utils.tree_random_like(jax.random.key(1), START), optax.incremental_update(
            START, START, 0.1), optax.periodic_update(START, START, 2, 2),
    ]  # fmt: skip


def in_public(device: str) -> list[Any]:
    """Gradients with noise, of single examples."""
    jax.clear_caches()
    rule = contrib.differentially_private_aggregate(1.0, 0.1, jax.random.key(0))
    each = jax.tree.map(lambda value: jnp.stack([value, value * 2]), START)
    changes, _ = rule.update(each, rule.init(START))
    return [changes]
