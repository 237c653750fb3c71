"""The algorithms of stable-baselines3: rollouts and updates in a small environment of its kind."""

from __future__ import annotations

import functools
from typing import Any

import stable_baselines3 as sb3
from stable_baselines3.common import env_util, evaluation, noise

ON = {"A2C": {"n_steps": 8}, "PPO": {"n_steps": 16, "batch_size": 8, "n_epochs": 2}}
OFF: dict[str, Any] = {"learning_starts": 16, "batch_size": 8, "buffer_size": 200, "train_freq": 4}


def cases() -> dict[str, Any]:
    """Each algorithm, with the options that lead other ways."""
    found: dict[str, Any] = {}
    for name, given in ON.items():
        for environment in ("CartPole-v1", "Pendulum-v1"):
            found[f"{name} {environment}"] = functools.partial(learn, name, environment, given)
        for option in ({"use_sde": True}, {"normalize_advantage": False}, {"gamma": 0.9}):
            found[f"{name} {option}"] = functools.partial(
                learn, name, "Pendulum-v1", given | option
            )
    found["PPO target_kl"] = functools.partial(
        learn, "PPO", "CartPole-v1", ON["PPO"] | {"target_kl": 0.01, "clip_range_vf": 0.2}
    )
    found["DQN"] = functools.partial(learn, "DQN", "CartPole-v1", OFF)
    for name in ("SAC", "TD3", "DDPG"):
        found[name] = functools.partial(learn, name, "Pendulum-v1", OFF)
        found[f"{name} noise"] = functools.partial(
            learn, name, "Pendulum-v1", OFF | {"action_noise": noise.NormalActionNoise([0], [0.1])}
        )
    found["SAC fixed entropy"] = functools.partial(
        learn, "SAC", "Pendulum-v1", OFF | {"ent_coef": 0.1}
    )
    found["SAC sde"] = functools.partial(learn, "SAC", "Pendulum-v1", OFF | {"use_sde": True})
    return found


def learn(name: str, environment: str, given: dict[str, Any], device: str) -> list[Any]:
    """Learn for some steps, evaluate, predict."""
    made = env_util.make_vec_env(environment, n_envs=1 if name not in ON else 2, seed=0)
    model: Any = getattr(sb3, name)("MlpPolicy", made, device=device, seed=0, **given)
    model.learn(total_timesteps=96)
    again = env_util.make_vec_env(environment, n_envs=1, seed=1)
    reward, _ = evaluation.evaluate_policy(model, again, n_eval_episodes=1, warn=False)
    return [reward, list(model.policy.state_dict().values())]
