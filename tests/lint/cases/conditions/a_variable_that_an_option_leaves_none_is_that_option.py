import torch


class Trainer:
    def __init__(self, policy, noise_options: dict | None = None):
        self.policy = policy
        self.noise = Noise(noise_options) if noise_options else None

    def update(self, loader, optimizer):
        noise_total = 0 if self.noise else None
        total = 0 if optimizer else None
        for batch in loader:
            loss = self.policy(batch).mean()
            loss.backward()
            optimizer.step()
            if noise_total is not None:
                noise_total += loss.item()  # clean
            if total is not None:
                total += loss.item()  # ASG102
