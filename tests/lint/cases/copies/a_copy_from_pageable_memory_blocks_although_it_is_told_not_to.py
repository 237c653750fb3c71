# settings: select=ASG106,ASG108
# After vllm#53491, #54292 and others of that kind; OneTrainer, ComfyUI and nanoGPT have the like.
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset


def decode(model, requests, positions, device):
    while requests:
        ids = torch.tensor([r.token for r in requests]).to(device, non_blocking=True)  # ASG108
        table = torch.from_numpy(np.array([r.blocks for r in requests]))
        where = torch.as_tensor([r.where for r in requests], dtype=torch.long)
        requests = model.step(requests, ids, table.cuda(non_blocking=True))  # ASG108
        positions[: len(requests)].copy_(where, non_blocking=True)  # ASG108
        model.forward(ids, where.to(device, torch.int32, non_blocking=True))  # ASG108


def generate(model, requests):
    positions = torch.zeros(4096, dtype=torch.long, device="cuda")
    decode(model.cuda(), requests, positions, torch.device("cuda"))


class Batches:
    def __init__(self, data):
        self.data = np.asarray(data)
        self.noise = torch.zeros(1024, 1024)
        self.pool = [torch.empty(1024, 1024) for _ in range(2)]

    def train(self, model, optimizer, steps):
        for step in range(steps):
            rows = np.random.randint(0, len(self.data), (64,))
            x = torch.stack([torch.from_numpy(self.data[i].astype(np.int64)) for i in rows])
            x = x.to("cuda", non_blocking=True)  # ASG108
            noise = self.noise.normal_().to("cuda", non_blocking=True)  # ASG108
            mask = (self.noise > 0.5).cuda(0, True)  # ASG108
            part = self.pool[step % 2].to("cuda", non_blocking=True)  # ASG108
            loss = model(x + noise * mask + part)
            loss.backward()
            optimizer.step()


def fit(model, images, optimizer):
    loader = DataLoader(TensorDataset(images), batch_size=64, pin_memory=False)
    for (x,) in loader:
        x = x.to("cuda", non_blocking=True)  # ASG108
        model(x).sum().backward()
        optimizer.step()


def unpinned_again(model, images, optimizer):
    loader = DataLoader(TensorDataset(images), batch_size=64, pin_memory=True)
    for (x,) in loader:
        x = (x / 255).to("cuda", non_blocking=True)  # ASG108
        model(x).sum().backward()
        optimizer.step()
