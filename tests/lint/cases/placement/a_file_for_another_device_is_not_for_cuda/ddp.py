import torch


class Strategy:
    def training_step(self, batch):
        value = torch.tensor(len(batch), device=self.root_device)  # ASG106
        return value * batch.mean().item()  # ASG102
