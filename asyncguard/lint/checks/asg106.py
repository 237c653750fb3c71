"""Copying unpinned host data to the device waits in every step.

`torch.tensor(x, device=...)`, `.to(device)` from pageable memory, and indexing a device tensor
with a list or a CPU tensor copy from the host and wait until the copy is done.

Before:

    for x, y in loader:
        x = x.to(device)

After:

    loader = DataLoader(dataset, pin_memory=True)
    for x, y in loader:
        x = x.to(device, non_blocking=True)

Reference: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from asyncguard.lint.report.registry import TORCH_STEP, Example

CODE = "ASG106"
NAME = "blocking-upload"
MESSAGE = "`{site}` copies from unpinned host memory, which blocks {when}"
REMEDY = "pin the memory and pass `non_blocking=True`, or create the value on the device"
VALID = [
    TORCH_STEP + 'x = x.to("cuda", non_blocking=True)',
    TORCH_STEP + 'x = torch.zeros(3, device="cuda")',
]
INVALID = [
    TORCH_STEP + 'x = x.to("cuda")',
    TORCH_STEP + 'w = torch.tensor([1.0, 2.0], device="cuda")',
    TORCH_STEP + "w = x.cuda()",
    Example(
        """\
import torch
def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        zero = torch.tensor(0., device=device)
        one = torch.tensor(1, dtype=torch.float16, device=device)
        count = torch.tensor(0, device=device)
        most = torch.tensor(-2.5, device=device, requires_grad=True)
        weights = torch.tensor([0.0], device=device)
""",
        count=5,
        fixed="""\
import torch
def train(model, loader, optimizer, device):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        zero = torch.zeros((), device=device)
        one = torch.ones((), dtype=torch.float16, device=device)
        count = torch.full((), 0, device=device)
        most = torch.full((), -2.5, device=device, requires_grad=True)
        weights = torch.zeros((1,), device=device)
""",
    ),
]
