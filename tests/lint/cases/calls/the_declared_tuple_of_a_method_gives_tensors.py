from typing import Tuple
import torch


class Environment:
    def step(self, action) -> Tuple[torch.Tensor, torch.Tensor]:
        return self.inner.step(action)


def run(model):
    env = Environment()
    for t in range(100):
        observation, done = env.step(model(t))
        if done:  # ASG104
            return
