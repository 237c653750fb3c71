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
class Result:  # whose fields anybody may set
    action: Any


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

    def note(self, result):
        result.action = 3


def play(agent: Agent, env):
    step = env.reset()
    while not step.last():
        action, _ = agent.choose(step)
        first = np.asarray(action)  # ASG103
        second = np.asarray(agent.name(step).action)  # ASG103
        third, name = agent.pick(step)
        print(name)  # clean
        fourth = agent.result(step)
        agent.note(fourth)
        print(np.asarray(fourth.action))  # clean
        step = env.step([first, second, np.asarray(third)])  # ASG103
