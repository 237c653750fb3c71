"""A progress bar or metric writer converts a device value in every step.

`set_postfix`, `add_scalar`, `wandb.log` and their like call `float()` or `str()` on what they
are given.

Before:

    for x, y in loader:
        writer.add_scalar("loss", loss, step)      # waits in every step

After:

    for step, (x, y) in enumerate(loader):
        if step % 100 == 0:
            writer.add_scalar("loss", loss, step)

Reference: https://docs.pytorch.org/docs/stable/tensorboard.html
"""

from __future__ import annotations

from asyncguard.lint.report.registry import TORCH_STEP, Example

CODE = "ASG107"
NAME = "device-value-to-sink"
MESSAGE = "`{site}` converts a device value, so it waits for the device {when}"
REMEDY = "log every N steps, or collect on the device and log together"
VALID = [
    TORCH_STEP + 'if step % 100 == 0:\n            writer.add_scalar("loss", loss, step)\n',
    TORCH_STEP + 'writer.add_scalar("lr", 0.1, step)',
]
WRITER_STEP = """\
import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        """
INVALID = [
    Example(
        WRITER_STEP + 'writer.add_scalar("loss", loss, step)\n',
        fixed=WRITER_STEP
        + 'if step % 100 == 0:\n            writer.add_scalar("loss", loss, step)\n',
        safe=False,
    ),
    """\
import torch
import torch.nn.functional as F
import wandb
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        wandb.log({"loss": loss})
""",
]
