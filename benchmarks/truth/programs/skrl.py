"""Agents of each kind that learn in an environment of gymnasium's."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import gymnasium
import torch
from skrl import config
from skrl.agents.torch import a2c, cem, ddpg, ddqn, dqn, ppo, rpo, sac, td3, trpo
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, GaussianMixin, Model
from skrl.resources.noises.torch import GaussianNoise, OrnsteinUhlenbeckNoise
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.resources.schedulers.torch import KLAdaptiveLR
from skrl.trainers.torch import SequentialTrainer


def _layers(inputs: int, outputs: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 16), torch.nn.Tanh(), torch.nn.Linear(16, outputs)
    )


class _Gaussian(GaussianMixin, Model):
    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self, clip_actions=True)
        self.net = _layers(self.num_observations, self.num_actions)
        self.log_std = torch.nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs: Any, role: str = "") -> Any:
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class _Categorical(CategoricalMixin, Model):
    def __init__(self, **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        CategoricalMixin.__init__(self)
        self.net = _layers(self.num_observations, self.num_actions)

    def compute(self, inputs: Any, role: str = "") -> Any:
        return self.net(inputs["observations"]), {}


class _Plain(DeterministicMixin, Model):
    """A value, a value of an action, values of all actions, or an action."""

    def __init__(self, kind: str, **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.kind = kind
        inputs = self.num_observations + (self.num_actions if kind == "critic" else 0)
        self.net = _layers(inputs, self.num_actions if kind in ("actions", "policy") else 1)

    def compute(self, inputs: Any, role: str = "") -> Any:
        seen = inputs["observations"]
        if self.kind == "critic":
            seen = torch.cat([seen, inputs["taken_actions"]], -1)
        found = self.net(seen)
        return found.tanh() if self.kind == "policy" else found, {}


SCALED: dict[str, Any] = {"learning_rate_scheduler": KLAdaptiveLR,
                          "learning_rate_scheduler_kwargs": {"kl_threshold": 0.01}}  # fmt: skip
KINDS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "PPO": (ppo.PPO, "actor", {"rollouts": 8, "learning_epochs": 2}),
    "PPO adaptive": (ppo.PPO, "actor", {"rollouts": 8, "learning_epochs": 2, **SCALED,
                                        "entropy_loss_scale": 0.01, "time_limit_bootstrap": True}),
    "PPO discrete": (ppo.PPO, "discrete actor", {"rollouts": 8, "kl_threshold": 0.1}),
    "PPO scaled": (ppo.PPO, "actor", {"rollouts": 8,
        "observation_preprocessor": RunningStandardScaler,
                                      "value_preprocessor": RunningStandardScaler,
                                      "value_preprocessor_kwargs": {"size": 1}}),
    "RPO": (rpo.RPO, "actor", {"rollouts": 8, "learning_epochs": 2}),
    "A2C": (a2c.A2C, "actor", {"rollouts": 8, "mini_batches": 2, **SCALED}),
    "TRPO": (trpo.TRPO, "actor", {"rollouts": 8, "learning_epochs": 2}),
    "DQN": (dqn.DQN, "values", {"batch_size": 8, "learning_starts": 8}),
    "DDQN": (ddqn.DDQN, "values", {"batch_size": 8, "learning_starts": 8}),
    "CEM": (cem.CEM, "discrete policy", {"rollouts": 8}),
    "SAC": (sac.SAC, "soft critics", {"batch_size": 8, "learning_starts": 8,
        "grad_norm_clip": 0.5}),
    "TD3": (td3.TD3, "critics", {"batch_size": 8, "learning_starts": 8, "policy_delay": 2,
                                 "exploration_noise": GaussianNoise,
                                 "exploration_noise_kwargs": {"mean": 0.0, "std": 0.1}}),
    "DDPG": (ddpg.DDPG, "critic", {"batch_size": 8, "learning_starts": 8,
                                   "exploration_noise": OrnsteinUhlenbeckNoise,
                                   "exploration_noise_kwargs": {
                                       "theta": 0.15, "sigma": 0.1, "base_scale": 1.0}}),
}  # fmt: skip


def _models(shape: str, spaces: dict[str, Any]) -> dict[str, Model]:
    plain = functools.partial(_Plain, **spaces)
    if shape == "actor":
        return {"policy": _Gaussian(**spaces), "value": plain("value")}
    if shape == "discrete actor":
        return {"policy": _Categorical(**spaces), "value": plain("value")}
    if shape == "discrete policy":
        return {"policy": _Categorical(**spaces)}
    if shape == "values":
        return {"q_network": plain("actions"), "target_q_network": plain("actions")}
    made: dict[str, Model] = {}
    for at in ("",) if shape == "critic" else ("_1", "_2"):
        made |= {f"critic{at}": plain("critic"), f"target_critic{at}": plain("critic")}
    made["policy"] = _Gaussian(**spaces) if shape == "soft critics" else plain("policy")
    return made | ({} if shape == "soft critics" else {"target_policy": plain("policy")})


def _learn(name: str, device: str) -> list[Any]:
    kind, shape, given = KINDS[name]
    config.torch.device = device
    discrete = shape in ("values", "discrete actor", "discrete policy")
    world = gymnasium.make_vec("CartPole-v1" if discrete else "Pendulum-v1", num_envs=2,
                               vectorization_mode="sync")  # fmt: skip
    world.reset(seed=1)
    world.single_action_space.seed(1)
    env = wrap_env(world)
    torch.manual_seed(0)
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space,
              "device": device}  # fmt: skip
    models = {key: value.to(device) for key, value in _models(shape, spaces).items()}
    for key in ("observation_preprocessor",):
        if key in given:
            given = given | {f"{key}_kwargs": {"size": env.observation_space}}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        told = {"directory": folder, "write_interval": 8, "checkpoint_interval": 16}
        agent = kind(
            models=models, memory=RandomMemory(memory_size=16, num_envs=2, device=device),
            cfg=given | {"experiment": told}, **spaces,
        )  # fmt: skip
        trainer = SequentialTrainer(
            env=env,
            agents=agent,
            cfg={"timesteps": 24, "headless": True, "disable_progressbar": True},
        )
        trainer.train()
        trainer.timesteps = 4
        trainer.eval()
    return [list(each.parameters()) for each in models.values()]


CASES = {name: functools.partial(_learn, name) for name in KINDS}
