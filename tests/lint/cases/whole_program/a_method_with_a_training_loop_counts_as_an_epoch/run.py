import torch


def run(env, agent, x: torch.Tensor):
    for step in range(1000):
        x = torch.tanh(x)
        env.step(x)
        agent.learn_from_rollout(env.batches)
