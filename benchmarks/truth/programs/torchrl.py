"""Losses, environments, collectors and buffers of reinforcement learning."""

from __future__ import annotations

import functools
from typing import Any

import torch
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule, TensorDictSequential
from torch import nn
from torchrl import collectors, data, envs, modules, objectives
from torchrl.envs.libs.gym import GymEnv
from torchrl.objectives import value

ROWS, SEEN, ACTS = 8, 4, 2


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


def _actor(device: str, drawn: type = modules.TanhNormal) -> Any:
    net = nn.Sequential(_layers(SEEN, 2 * ACTS), NormalParamExtractor())
    return modules.ProbabilisticActor(
        TensorDictModule(net, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
        distribution_class=drawn, return_log_prob=True,
        spec=data.Bounded(-1, 1, (ACTS,)) if drawn is modules.TanhNormal else None,
    ).to(device)  # fmt: skip


def _policy(device: str) -> Any:
    return modules.Actor(_layers(SEEN, ACTS), spec=data.Bounded(-1, 1, (ACTS,))).to(device)


class _Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = _layers(SEEN + ACTS, 1)

    def forward(self, seen: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return self.net(torch.cat([seen, action], -1))


def _critic(device: str) -> Any:
    return modules.ValueOperator(_Critic(), in_keys=["observation", "action"]).to(device)


def _value(device: str) -> Any:
    return modules.ValueOperator(_layers(SEEN, 1), in_keys=["observation"]).to(device)


def _chooser(device: str, outputs: int = 3) -> Any:
    return modules.QValueActor(
        _layers(SEEN, outputs), spec=data.OneHot(3), in_keys=["observation"]
    ).to(device)


def _rows(device: str, choices: bool = False) -> TensorDict:
    torch.manual_seed(1)
    action = (
        torch.eye(3)[torch.arange(ROWS) % 3].long() if choices else torch.rand(ROWS, ACTS) - 0.5
    )
    done = (torch.arange(ROWS) % 4 == 3).unsqueeze(-1)
    after = {"observation": torch.randn(ROWS, SEEN), "reward": torch.rand(ROWS, 1), "done": done,
             "terminated": done.clone()}  # fmt: skip
    held = {"observation": torch.randn(ROWS, SEEN), "action": action, "next": after,
            "action_log_prob": torch.rand(ROWS) - 1}  # fmt: skip
    return TensorDict(held, [ROWS]).to(device)


LOSSES: dict[str, Any] = {
    "DQN": lambda d: objectives.DQNLoss(_chooser(d), action_space="one-hot", delay_value=True),
    "DDPG": lambda d: objectives.DDPGLoss(_policy(d), _critic(d), delay_actor=True,
        delay_value=True),
    "TD3": lambda d: objectives.TD3Loss(_policy(d), _critic(d), bounds=(-1, 1)),
    "TD3BC": lambda d: objectives.TD3BCLoss(_policy(d), _critic(d), bounds=(-1, 1)),
    "SAC": lambda d: objectives.SACLoss(_actor(d), _critic(d)),
    "SAC value": lambda d: objectives.SACLoss(_actor(d), _critic(d), _value(d)),
    "CQL": lambda d: objectives.CQLLoss(_actor(d), _critic(d), with_lagrange=True),
    "IQL": lambda d: objectives.IQLLoss(_actor(d), _critic(d), _value(d)),
    "REDQ": lambda d: objectives.REDQLoss(_actor(d), _critic(d), num_qvalue_nets=3),
    "CrossQ": lambda d: objectives.CrossQLoss(_actor(d), _critic(d)),
    "PPO": lambda d: objectives.PPOLoss(_actor(d), _value(d)),
    "ClipPPO": lambda d: objectives.ClipPPOLoss(_actor(d), _value(d), normalize_advantage=True),
    "KLPENPPO": lambda d: objectives.KLPENPPOLoss(
        _actor(d, modules.IndependentNormal), _value(d), samples_mc_kl=1),
    "A2C": lambda d: objectives.A2CLoss(_actor(d), _value(d)),
    "Reinforce": lambda d: objectives.ReinforceLoss(_actor(d), _value(d)),
    "CQL discrete": lambda d: objectives.DiscreteCQLLoss(_chooser(d), action_space="one-hot"),
}  # fmt: skip
CHOICES = ("DQN", "CQL discrete")


def _lose(name: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    made = LOSSES[name](device).to(device)
    rows = _rows(device, choices=name in CHOICES)
    if name == "KLPENPPO":
        rows.update({"loc": torch.zeros(ROWS, ACTS), "scale": torch.ones(ROWS, ACTS)})
    if name in ("PPO", "ClipPPO", "KLPENPPO", "A2C", "Reinforce"):
        made.make_value_estimator(objectives.ValueEstimators.GAE, gamma=0.9, lmbda=0.9)
    optimizer = torch.optim.Adam(made.parameters(), lr=0.01)
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        losses = made(rows.clone())
        sum(part for key, part in losses.items() if key.startswith("loss")).backward()
        optimizer.step()
        found.append(dict(losses.items()))
    if name in ("DQN", "DDPG", "SAC"):
        objectives.SoftUpdate(made, eps=0.9).step()
    return found


CASES: dict[str, Any] = {f"loss {name}": functools.partial(_lose, name) for name in LOSSES}
ESTIMATORS = {"TD0": value.TD0Estimator, "TD1": value.TD1Estimator,
              "TDLambda": functools.partial(value.TDLambdaEstimator, lmbda=0.9),
              "GAE": functools.partial(value.GAE, lmbda=0.9)}  # fmt: skip


def _estimate(name: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    made = ESTIMATORS[name](gamma=0.9, value_network=_value(device))
    rows = _rows(device).reshape(2, 4)
    found = made(rows)
    return [found["advantage"], found["value_target"]]


CASES |= {f"estimate {name}": functools.partial(_estimate, name) for name in ESTIMATORS}


def environment(device: str) -> list[Any]:
    """Rollouts of a batched environment through transforms."""
    base = envs.SerialEnv(2, lambda: GymEnv("Pendulum-v1", device=device))
    made = envs.TransformedEnv(base, envs.Compose(
        envs.ObservationNorm(0.0, 2.0, ["observation"]), envs.RewardScaling(0.0, 0.1),
        envs.StepCounter(6), envs.RewardSum(), envs.DoubleToFloat(), envs.CatFrames(2, -1,
            ["observation"]),
        envs.RewardClipping(-1, 1), envs.InitTracker(), envs.VecNorm(["reward"]),
    ))  # fmt: skip
    made.set_seed(0)
    torch.manual_seed(0)
    found = made.rollout(8, break_when_any_done=False)
    return [found["observation"], found["next", "reward"], found["next", "step_count"]]


def collect(device: str) -> list[Any]:
    """A collector that fills a buffer with what a policy does."""
    torch.manual_seed(0)
    env = envs.TransformedEnv(GymEnv("Pendulum-v1", device=device), envs.StepCounter(10))
    env.set_seed(0)
    policy = modules.Actor(_layers(3, 1), spec=env.action_spec).to(device)
    noisy = modules.AdditiveGaussianModule(env.action_spec, device=torch.device(device))
    made = collectors.Collector(
        env,
        TensorDictSequential(policy, noisy),
        frames_per_batch=16,
        total_frames=32,
        device=device,
    )
    buffer = data.TensorDictReplayBuffer(
        storage=data.LazyTensorStorage(40, device=device), batch_size=8
    )
    found = []
    for rows in made:
        buffer.extend(rows)
        noisy.step(16)
        found.append(buffer.sample()["observation"])
    made.shutdown()
    return found


def recurrent(device: str) -> list[Any]:
    """Memory cells over a sequence that begins anew in its midst, and a noisy network."""
    torch.manual_seed(0)
    rows = _rows(device).reshape(2, 4)
    rows["is_init"] = torch.zeros(2, 4, 1, dtype=torch.bool, device=device)
    rows["is_init"][0, 2] = True
    found = []
    for kind in (modules.LSTMModule, modules.GRUModule):
        cell = kind(SEEN, 6, in_key="observation", out_key="out", device=device)
        with modules.set_recurrent_mode(True):
            found.append(cell(rows.clone())["out"])
    noisy = modules.NoisyLinear(SEEN, 3, device=device)
    noisy.reset_noise()
    return [
        *found,
        noisy(rows["observation"]),
        modules.MLP(SEEN, 2, num_cells=[8], device=device)(rows["observation"]),
    ]


DRAWN = {"TanhNormal": modules.TanhNormal, "TruncatedNormal": modules.TruncatedNormal,
         "IndependentNormal": modules.IndependentNormal}  # fmt: skip


def distributions(device: str) -> list[Any]:
    """What each family draws, and how likely that is."""
    torch.manual_seed(0)
    at, wide = torch.rand(4, 2).to(device) - 0.5, torch.rand(4, 2).to(device) + 0.1
    found: list[Any] = []
    for kind in DRAWN.values():
        made = kind(at, wide)
        drawn = made.rsample()
        found += [drawn, made.log_prob(drawn)]
    masked = modules.MaskedCategorical(logits=at, mask=at > -0.4)
    chosen = modules.OneHotCategorical(logits=at)
    return [*found, masked.sample(), chosen.sample(), chosen.log_prob(chosen.sample())]
