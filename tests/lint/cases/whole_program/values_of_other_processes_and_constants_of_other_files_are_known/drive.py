import ray
import torch
from train import Worker


def advantages(rewards: torch.Tensor):
    spread = rewards.std()
    if spread > 0:  # clean
        rewards = rewards / spread
    return rewards


def drive(loader, policy):
    worker = Worker.remote()
    for batch in loader:
        results = policy.train(worker, batch)
        print(torch.mean(advantages(results["rewards"])).item())  # clean
        loss = results["loss"].item()  # clean
        if torch.isnan(torch.tensor(loss)):  # clean
            break
