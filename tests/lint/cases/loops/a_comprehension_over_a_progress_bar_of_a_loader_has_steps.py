import torch
from torch.utils.data import DataLoader
from tqdm import tqdm


def rollout(net, dataset):
    def evaluate(batch):
        return net(batch).data.cpu()  # ASG103

    return torch.cat([evaluate(b) for b in tqdm(DataLoader(dataset), disable=True)], 0)
