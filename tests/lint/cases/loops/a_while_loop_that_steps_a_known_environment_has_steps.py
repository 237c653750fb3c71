import torch


class Wrapped:
    def __init__(self, venv):
        self.venv = venv


def evaluate(policy, device):
    eval_envs = Wrapped(None)
    rewards = []
    while len(rewards) < 10:
        _, reward, done = eval_envs.step(0)
        rewards += [reward]
        masks = torch.tensor([float(d) for d in done], device=device)  # ASG106
