import torch


class Strategy:
    def training_step(self, batch):
        value = torch.tensor(len(batch), device=self.root_device)
        return value * batch.mean().item()
