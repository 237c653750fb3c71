import torch


def explore(env, policy, x):
    for t in range(100):
        action = torch.tanh(x.cuda())  # ASG106
        env.step(action.cpu().numpy())  # ASG103
