import torch


def collect(envs, policy, obs):
    returns = []
    for t in range(128):
        action = policy(obs)
        obs, reward, ended, cut, info = envs.step(action.cpu().numpy())  # ASG103
        returns.append(info["return"].item())  # clean
        score = float(reward.mean())  # clean
        obs = torch.from_numpy(obs).cuda()  # ASG106
    return returns, score


def collect_there(envs, policy, obs):
    for t in range(128):
        action = policy(obs)
        obs, reward, ended, cut, info = envs.step(action)
        print(reward.mean().item())  # ASG102
