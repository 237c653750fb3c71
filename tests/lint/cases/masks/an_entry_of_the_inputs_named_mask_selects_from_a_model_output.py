import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, device):
        self.model, self.device = model.to(device), device

    def train_step(self, inputs):
        data = inputs["data"].to(self.device)  # ASG106
        mask = inputs.get("mask", None)
        y = data.y.squeeze()
        out = self.model(data.x, data.edge_index)
        if mask is not None:
            out = out[mask]  # ASG105
            y = y[mask]  # ASG105
        loss = F.cross_entropy(out, y)
        loss.backward()
        return loss


class Indexed(Trainer):
    def train_step(self, inputs):
        out = self.model(inputs["data"])
        loss = out[inputs["index"]].mean()  # clean
        loss.backward()
        return loss
