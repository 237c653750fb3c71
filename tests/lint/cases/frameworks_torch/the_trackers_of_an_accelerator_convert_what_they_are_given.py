import torch
from accelerate import Accelerator


def train(model, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"step": step}, step=step)  # clean
        means = accelerator.reduce({"loss": loss}, reduction="mean")
        accelerator.log(means, step=step)  # ASG107
