import torch
from torch import Tensor


class Everyone:
    def summed(self, value):
        if not isinstance(value, Tensor):
            value = torch.tensor(value, device=self.device)  # clean
        return value.sum()


class Anyone:
    def joined(self, value):
        is_tensor = isinstance(value, Tensor)
        if is_tensor:
            value = value.to(self.device)  # clean
        else:
            value = torch.tensor(value, device=self.device)  # ASG106
        return value


class Module(torch.nn.Module):
    def training_step(self, batch, everyone: Everyone, anyone: Anyone):
        loss = self(batch)
        everyone.summed(loss)
        anyone.joined(batch is None)
        return loss
