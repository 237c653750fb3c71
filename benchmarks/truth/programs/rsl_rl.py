"""Policies learned and distilled in an environment of points that are steered home."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import DistillationRunner, OnPolicyRunner
from tensordict import TensorDict


class _Points(VecEnv):
    def __init__(self, device: str) -> None:
        self.num_envs, self.num_actions, self.max_episode_length = 4, 2, 6
        self.device, self.cfg, self.step_dt = device, {}, 0.1
        self.episode_length_buf = torch.zeros(4, dtype=torch.long, device=device)
        self.at = torch.rand(4, 2, device="cpu").to(device)

    @property
    def unwrapped(self) -> _Points:
        """The environment itself, which an extension asks for its step."""
        return self

    def get_observations(self) -> TensorDict:
        seen = {"policy": self.at, "full": torch.cat([self.at, self.at.square()], -1)}
        return TensorDict(seen, batch_size=[4], device=self.device)

    def step(self, actions: torch.Tensor) -> Any:
        self.at = self.at + 0.1 * actions.clamp(-1, 1)
        self.episode_length_buf += 1
        late = self.episode_length_buf >= self.max_episode_length
        reward = -self.at.square().sum(-1)
        self.at = torch.where(late.unsqueeze(-1), torch.full_like(self.at, 0.5), self.at)
        self.episode_length_buf[late] = 0
        extras = {"time_outs": late, "log": {"/distance": self.at.norm(dim=-1).mean()}}
        return self.get_observations(), reward, late.long(), extras


def _config(algorithm: dict[str, Any], actor: dict[str, Any], **given: Any) -> dict[str, Any]:
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    plain = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu"}
    return {
        "num_steps_per_env": 6, "save_interval": 1, "logger": "tensorboard", "run_name": "",
        "obs_groups": {"actor": ["policy"], "critic": ["full"], "student": ["policy"],
                       "teacher": ["full"], "rnd_state": ["policy"]},
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 2,
            "num_mini_batches": 2} | algorithm,
        "actor": plain | {"distribution_cfg": gaussian} | actor,
        "critic": plain | {key: value for key, value in actor.items() if key != "distribution_cfg"},
        "student": plain | {"distribution_cfg": gaussian}, "teacher": plain,
        **given,
    }  # fmt: skip


def _mirrored(env: Any, obs: Any, actions: Any) -> Any:
    """Points and actions, and the same mirrored."""
    twice = None if obs is None else torch.cat([obs, obs.apply(lambda each: -each)])
    return twice, None if actions is None else torch.cat([actions, -actions])


KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "fixed rate": ({"schedule": "fixed", "use_clipped_value_loss": False}, {}),
    "normalized": ({"normalize_advantage_per_mini_batch": True}, {"obs_normalization": True}),
    "recurrent": ({}, {"class_name": "RNNModel", "rnn_type": "gru", "rnn_hidden_dim": 8}),
    "lstm": ({}, {"class_name": "RNNModel", "rnn_type": "lstm", "rnn_hidden_dim": 8}),
    "log std": ({}, {"distribution_cfg": {
        "class_name": "GaussianDistribution", "init_std": 0.5, "std_type": "log"}}),
    "own std": ({}, {"distribution_cfg": {
        "class_name": "HeteroscedasticGaussianDistribution", "init_std": 0.5}}),
    "curious": ({"rnd_cfg": {
        "num_outputs": 4, "predictor_hidden_dims": [8], "target_hidden_dims": [8], "weight": 0.1,
        "learning_rate": 1e-3, "state_normalization": True, "reward_normalization": True}}, {}),
    "mirrored": ({"symmetry_cfg": {
        "use_data_augmentation": True, "use_mirror_loss": True, "mirror_loss_coeff": 0.1,
        "data_augmentation_func": _mirrored}}, {}),
}  # fmt: skip


def _learn(name: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        runner = OnPolicyRunner(_Points(device), _config(*KINDS[name]), folder, device)
        runner.learn(2, init_at_random_ep_len=True)
        runner.load(f"{folder}/model_1.pt")
        policy = runner.get_inference_policy(device=device)
        return [policy(runner.env.get_observations()), *runner.alg.actor.parameters()]


CASES = {name: functools.partial(_learn, name) for name in KINDS}


def distilled(device: str) -> list[Any]:
    """A student that imitates a teacher who sees more."""
    torch.manual_seed(0)
    algorithm = {
        "class_name": "Distillation", "num_learning_epochs": 2, "gradient_length": 3,
        "learning_rate": 1e-3,
    }  # fmt: skip
    config = _config({}, {}) | {"algorithm": algorithm}
    runner = DistillationRunner(_Points(device), config, None, device)
    runner.alg.teacher_loaded = True
    runner.learn(2)
    return list(runner.alg.student.parameters())
