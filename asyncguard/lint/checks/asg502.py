"""A wait in compiled code splits its graph.

Where Python needs a value, `torch.compile` ends the graph, runs it, waits for the value, and goes
on with another graph: nothing is fused across the break, each part is launched apart, and CUDA
graphs (`mode="reduce-overhead"`) cover less. Such a wait is reported however seldom it runs, and in
place of what it would be reported as elsewhere. `.cpu()`, uploads and `torch.linalg` become part of
the graph and wait in it: they are reported as everywhere.

Before:

    @torch.compile
    def step(x):
        y = model(x)
        if y.abs().max() > 1:                  # two graphs, and a wait between them
            y = y / y.abs().max().item()
        return y

After:

    @torch.compile
    def step(x):
        y = model(x)
        return y / y.abs().max().clamp(min=1)  # one graph

`torch.compiler.disable` keeps a function out, and `if not torch.compiler.is_compiling():` a branch.

Reference: https://docs.pytorch.org/docs/stable/torch.compiler_faq.html#graph-breaks
"""

from __future__ import annotations

CODE = "ASG502"
NAME = "graph-break"
VALID = [
    """\
import torch
@torch.compile
def step(model, x):
    y = model(x)
    if not torch.compiler.is_compiling():
        print(y.sum())
    return torch.where(y > 0, y, 0)
""",
    """\
import torch
@torch.compiler.disable
def show(y):
    print(y.sum().item())
@torch.compile
def step(model, x):
    y = model(x)
    show(y)
    return y
""",
]
INVALID = [
    """\
import torch
@torch.compile
def step(model, x):
    y = model(x)
    return y / y.max().item()
""",
    """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        y = self.layer(x)
        return self.positive(y)
    def positive(self, y):
        return y if y.min() > 0 else y - y.min()
net = torch.compile(Net(), mode="reduce-overhead")
""",
]
