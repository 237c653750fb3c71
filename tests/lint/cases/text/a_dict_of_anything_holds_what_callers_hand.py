from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter


def log_all(writer: SummaryWriter, values: dict[str, Any], step):
    for key, value in values.items():
        writer.add_scalar(key, value, step)  # ASG107


def train(model, loader, optimizer, writer):
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        log_all(writer, {"loss": loss}, step)
        writer.add_audio("speech", model(batch), step)  # ASG107
