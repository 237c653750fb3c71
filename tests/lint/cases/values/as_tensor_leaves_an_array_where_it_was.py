import numpy as np
import torch


def average(value):
    if np.isscalar(value):
        return torch.as_tensor(value)
    return torch.as_tensor(value, dtype=torch.float32) / 2


def move(value, device):
    return torch.as_tensor(value).to(device)  # ASG106


class Trainer:
    def training_step(self, batch):
        loss = self.model(batch).sum()
        loss.backward()
        self.optimizer.step()
        torch.as_tensor(loss).item()  # ASG102
        average(loss).item()  # ASG102
        average(np.ones(3)).item()  # clean
        torch.as_tensor(np.ones(3)).item()  # clean
        move(np.ones(3), "cuda")
