import torch
from base import Trainer


class Own(Trainer):
    def compute(self, batch):
        loss = torch.nn.functional.mse_loss(*batch)
        print(loss.item())  # ASG102
        return loss
