import collections
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

Output = collections.namedtuple("Output", ["action", "probs"])
Named = collections.namedtuple("Named", "action, label")


class Chosen(NamedTuple):
    action: Any
    name: str


@dataclass
class Result:
    action: Any
    loss: Any = None


class Agent:
    def choose(self, observation):
        action = None
        if observation.legal:
            action = jnp.argmax(observation.x)
        return Output(action=action, probs=[])

    def name(self, observation):
        return Named(jnp.argmax(observation.x), "x")

    def pick(self, observation):
        return Chosen(jnp.argmax(observation.x), "greedy")

    def result(self, observation):
        return Result(jnp.argmax(observation.x))


def play(agent: Agent, env):
    step = env.reset()
    while not step.last():
        action, _ = agent.choose(step)
        first = np.asarray(action)  # ASG103
        second = np.asarray(agent.name(step).action)  # ASG103
        third, name = agent.pick(step)
        print(name)  # clean
        fourth = agent.result(step)
        fourth.loss = 3.0
        print(float(fourth.loss), np.asarray(fourth.action))  # ASG103
        step = env.step([first, second, np.asarray(third)])  # ASG103
