import torch

from move import Batch, batch_to_device


def train(model: torch.nn.Module, loader, optimizer, device: torch.device):
    tokens = 0
    for batch in loader:
        batch_to_device(batch, device)
        tokens += (batch["labels"] != -100).sum()
        loss = model(batch["tokens"]).mean()
        loss.backward()
        optimizer.step()
        print(f"{1.0 / tokens}")  # ASG101


class Trainer:
    def __init__(self, model: torch.nn.Module, device):
        self.model, self.device = model, device

    def loss(self, batch: Batch):
        batch.to_device(self.device)
        labels = torch.as_tensor(batch.labels, dtype=torch.float, device=self.device)  # clean
        return (self.model(batch.users) - labels).pow(2).mean()

    def run(self, loader, optimizer):
        for batch in loader:
            self.loss(batch).backward()
            optimizer.step()
