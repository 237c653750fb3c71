# settings: min_confidence=low
import logging

import torch
import wandb

logger = logging.getLogger(__name__)


def log(name, value):
    logger.info("%s: %.4f", name, value)  # ASG101


def send(value, step):
    wandb.log({"loss": value, "step": step})  # ASG107


def fit(model, loader, optimizer):
    model.cuda()
    best = 0
    for step, x in enumerate(loader):
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
        log("loss", loss)
        send(loss, step)
        best = min(best, loss)  # ASG104
