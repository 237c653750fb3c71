"""Brax: bodies on each pipeline, and agents that learn for a few steps."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from brax import envs
from brax.io import html
from brax.training.acme import running_statistics
from brax.training.agents.apg import train as apg
from brax.training.agents.ars import train as ars
from brax.training.agents.es import train as es
from brax.training.agents.ppo import train as ppo
from brax.training.agents.sac import train as sac

TRAINED: dict[str, tuple[Any, dict[str, Any]]] = {
    "ppo": (ppo.train, {"num_timesteps": 256, "num_envs": 4, "batch_size": 4, "unroll_length": 4,
                        "num_minibatches": 2, "num_evals": 2, "num_eval_envs": 2,
                        "normalize_observations": True, "log_training_metrics": True}),
    "sac": (sac.train, {"num_timesteps": 64, "num_envs": 4, "batch_size": 8, "num_evals": 2,
                        "min_replay_size": 8, "max_replay_size": 64, "num_eval_envs": 2}),
    "ars": (ars.train, {"num_timesteps": 256, "number_of_directions": 2, "num_evals": 2,
                        "top_directions": 2, "num_eval_envs": 2}),
    "es": (es.train, {"num_timesteps": 256, "population_size": 2, "num_evals": 2,
                      "num_eval_envs": 2}),
    "apg": (apg.train, {"num_evals": 2, "policy_updates": 2, "num_envs": 2, "num_eval_envs": 2,
                        "horizon_length": 4}),
}  # fmt: skip


def _learned(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    train, options = TRAINED[name]
    found: list[Any] = []

    def progress(step: int, figures: Any) -> None:
        found.append([step, sorted(figures), figures.get("eval/episode_reward")])

    environment = envs.get_environment("fast")
    made, parameters, _ = train(
        environment, episode_length=8, seed=0, progress_fn=progress, **options
    )
    policy = made(parameters)
    state = environment.reset(jax.random.key(0))
    action, _ = policy(state.obs, jax.random.key(1))
    return [*found, action]


CASES: dict[str, Any] = {f"learn {name}": functools.partial(_learned, name) for name in TRAINED}


def _moved(name: str, pipeline: str, device: str) -> list[Any]:
    jax.clear_caches()
    body = envs.get_environment(name, backend=pipeline)
    reset, step = jax.jit(body.reset), jax.jit(body.step)
    state = reset(jax.random.PRNGKey(0))
    found, seen = [], [state.pipeline_state]
    for _ in range(3):
        state = step(state, jnp.ones(body.action_size) * 0.1)
        found.append([state.reward, state.done])
        seen.append(state.pipeline_state)
    text = html.render(body.sys, seen)
    return [*found, len(text) > 0]


CASES |= {
    f"{name} {pipeline}": functools.partial(_moved, name, pipeline)
    for name, pipeline in (
        ("inverted_pendulum", "generalized"), ("inverted_pendulum", "spring"),
        ("reacher", "positional"), ("swimmer", "generalized"),
    )
}  # fmt: skip


def wrapped(device: str) -> list[Any]:
    """Environments in batches, with episodes that end and gym's interface."""
    jax.clear_caches()
    body = envs.create("fast", batch_size=3, episode_length=4, auto_reset=True)
    state = body.reset(jax.random.key(0))
    for _ in range(5):
        state = body.step(state, jnp.zeros((3, body.action_size)))
    statistics = running_statistics.init_state(jnp.zeros(4))
    statistics = running_statistics.update(statistics, jnp.arange(12.0).reshape(3, 4))
    normal = running_statistics.normalize(jnp.ones((3, 4)), statistics)
    return [state.reward, state.done, normal]
