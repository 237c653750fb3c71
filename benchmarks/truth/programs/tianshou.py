"""Algorithms that learn in small environments: rollouts, a buffer, updates and a test."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import torch
from tianshou.algorithm.modelfree import (
    a2c,
    c51,
    ddpg,
    discrete_sac,
    dqn,
    iqn,
    npg,
    ppo,
    qrdqn,
    reinforce,
    sac,
    td3,
    trpo,
)
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, PrioritizedVectorReplayBuffer, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.exploration import GaussianNoise
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net import common, continuous, discrete


def _optimizer() -> Any:
    return AdamOptimizerFactory(lr=1e-3)


def _net(seen: int, **given: Any) -> Any:
    return common.Net(state_shape=(seen,), hidden_sizes=[16], **given)


def _spaces(env: Any) -> dict[str, Any]:
    return {"action_space": env.action_space, "observation_space": env.observation_space}


def _critic() -> Any:
    net = _net(3, action_shape=(1,), concat=True)
    return continuous.ContinuousCritic(preprocess_net=net)


def _steering(env: Any) -> Any:
    actor = continuous.ContinuousActorDeterministic(
        preprocess_net=_net(3), action_shape=(1,), max_action=2.0
    )
    return ddpg.ContinuousDeterministicPolicy(
        actor=actor, exploration_noise=GaussianNoise(sigma=0.1), **_spaces(env)
    )


def _gaussian(env: Any) -> Any:
    actor = continuous.ContinuousActorProbabilistic(
        preprocess_net=_net(3), action_shape=(1,), unbounded=True
    )

    def spread(told: Any) -> Any:
        return torch.distributions.Independent(torch.distributions.Normal(*told), 1)

    return reinforce.ProbabilisticActorPolicy(actor=actor, dist_fn=spread, **_spaces(env))


def _choosing(env: Any) -> Any:
    actor = discrete.DiscreteActor(preprocess_net=_net(4), action_shape=2, softmax_output=False)
    return reinforce.ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda told: torch.distributions.Categorical(logits=told),
        action_scaling=False,
        action_bound_method=None,
        **_spaces(env),
    )


def _value(discretely: bool) -> Any:
    kind: Any = discrete.DiscreteCritic if discretely else continuous.ContinuousCritic
    return kind(preprocess_net=_net(4 if discretely else 3))


def _greedy(env: Any, kind: Any = dqn.DiscreteQLearningPolicy, **net: Any) -> Any:
    return kind(model=_net(4, action_shape=2, **net), eps_training=0.1, **_spaces(env))


def _soft(env: Any) -> Any:
    actor = continuous.ContinuousActorProbabilistic(
        preprocess_net=_net(3), action_shape=(1,), unbounded=True, conditioned_sigma=True
    )
    return sac.SACPolicy(actor=actor, **_spaces(env))


def _on(kind: Any, discretely: bool, **given: Any) -> Any:
    def make(env: Any) -> Any:
        policy = _choosing(env) if discretely else _gaussian(env)
        critic = {} if kind is reinforce.Reinforce else {"critic": _value(discretely)}
        return kind(policy=policy, optim=_optimizer(), **critic, **given)

    return make


def _with_critics(kind: Any, policy: Any, **given: Any) -> Any:
    def make(env: Any) -> Any:
        return kind(
            policy=policy(env), policy_optim=_optimizer(), critic=_critic(),
            critic_optim=_optimizer(),
            **given,
        )  # fmt: skip

    return make


def _discrete_sac(env: Any) -> Any:
    actor = discrete.DiscreteActor(preprocess_net=_net(4), action_shape=2, softmax_output=False)
    critic = discrete.DiscreteCritic(preprocess_net=_net(4), last_size=2)
    policy = discrete_sac.DiscreteSACPolicy(actor=actor, **_spaces(env))
    return discrete_sac.DiscreteSAC(
        policy=policy, policy_optim=_optimizer(), critic=critic, critic_optim=_optimizer()
    )


def _quantiles(env: Any) -> Any:
    net = discrete.ImplicitQuantileNetwork(preprocess_net=_net(4), action_shape=2, num_cosines=8)
    policy = iqn.IQNPolicy(model=net, sample_size=4, eps_training=0.1, **_spaces(env))
    return iqn.IQN(policy=policy, optim=_optimizer(), target_update_freq=4)


def _c51(env: Any) -> Any:
    policy = _greedy(env, c51.C51Policy, softmax=True, num_atoms=51)
    return c51.C51(policy=policy, optim=_optimizer(), target_update_freq=4)


CART, PENDULUM = "CartPole-v1", "Pendulum-v1"
KINDS: dict[str, tuple[str, bool, Any]] = {
    "PPO": (CART, True, _on(ppo.PPO, True, max_grad_norm=0.5, return_scaling=True)),
    "PPO continuous": (PENDULUM, True, _on(ppo.PPO, False, dual_clip=2.0, value_clip=True,
                                           recompute_advantage=True)),
    "A2C": (CART, True, _on(a2c.A2C, True, max_grad_norm=0.5)),
    "A2C continuous": (PENDULUM, True, _on(a2c.A2C, False)),
    "TRPO": (PENDULUM, True, _on(trpo.TRPO, False)),
    "NPG": (CART, True, _on(npg.NPG, True)),
    "Reinforce": (CART, True, _on(reinforce.Reinforce, True, return_standardization=True)),
    "DQN": (CART, False, lambda env: dqn.DQN(
        policy=_greedy(env), optim=_optimizer(), target_update_freq=4, n_step_return_horizon=3)),
    "DQN ranked": (CART, False, lambda env: dqn.DQN(
        policy=_greedy(env, dueling_param=({"hidden_sizes": [8]}, {"hidden_sizes": [8]})),
        optim=_optimizer(), huber_loss_delta=1.0, is_double=False)),
    "QRDQN": (CART, False, lambda env: qrdqn.QRDQN(
        policy=_greedy(env, qrdqn.QRDQNPolicy, num_atoms=8), optim=_optimizer(), num_quantiles=8,
        target_update_freq=4)),
    "C51": (CART, False, _c51), "IQN": (CART, False, _quantiles),
    "DiscreteSAC": (CART, False, _discrete_sac),
    "SAC": (PENDULUM, False, _with_critics(sac.SAC, _soft)),
    "SAC automatic": (PENDULUM, False, lambda env: _with_critics(
        sac.SAC, _soft, alpha=sac.AutoAlpha(-1.0, 0.0, _optimizer()))(env)),
    "TD3": (PENDULUM, False, _with_critics(td3.TD3, _steering)),
    "DDPG": (PENDULUM, False, _with_critics(ddpg.DDPG, _steering)),
}  # fmt: skip


def _learn(name: str, device: str) -> list[Any]:
    world, on_policy, make = KINDS[name]
    torch.manual_seed(0)
    one = gymnasium.make(world)
    one.action_space.seed(1)
    worlds = [DummyVectorEnv([lambda: gymnasium.make(world)] * 2) for _ in range(2)]
    for each in worlds:
        each.seed(1)
    algorithm = make(one).to(device)
    buffer: Any = VectorReplayBuffer(64, 2)
    if name == "DQN ranked":
        buffer = PrioritizedVectorReplayBuffer(64, 2, alpha=0.6, beta=0.4)
    gather = Collector(algorithm, worlds[0], buffer, exploration_noise=True)
    check = Collector(algorithm, worlds[1])
    shared: dict[str, Any] = {
        "training_collector": gather, "test_collector": None, "max_epochs": 1,
        "epoch_num_steps": 32,
        "collection_step_num_env_steps": 16, "batch_size": 8, "verbose": False,
        "show_progress": False,
    }  # fmt: skip
    if on_policy:
        algorithm.run_training(OnPolicyTrainerParams(update_step_num_repetitions=2, **shared))
    else:
        gather.reset()
        gather.collect(n_step=16, random=True)
        told = OffPolicyTrainerParams(update_step_num_gradient_steps_per_sample=0.25, **shared)
        algorithm.run_training(told)
    check.reset()
    found = check.collect(n_step=8)
    return [found.n_collected_steps, *algorithm.policy.parameters()]


CASES = {name: functools.partial(_learn, name) for name in KINDS}
