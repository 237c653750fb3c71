"""A wait in code that is captured, or compiled whole, makes that fail.

A CUDA graph records what a stream is handed and runs nothing, so there is no value to wait for:
`.item()`, `.cpu()`, `print(x)`, `if x:`, a boolean mask, `torch.cuda.synchronize()` and a copy from
pageable memory raise `operation not permitted when stream is capturing`, and the capture is lost.
That goes for the block of `torch.cuda.graph`, for what `make_graphed_callables` is handed, for code
between `capture_begin` and `capture_end`, and for all that these call. `torch.compile` with
`fullgraph=True` and `torch.export` raise where a value decides what is computed. It is reported
however seldom it runs, and in place of what it would be reported as elsewhere.

Before:

    with torch.cuda.graph(graph):
        y = model(x)
        if y.isnan().any():                    # the capture fails
            y = torch.zeros_like(y)

After:

    with torch.cuda.graph(graph):
        y = model(x)
        y = torch.where(y.isnan().any(), 0.0, y)   # stays in the graph

Reference: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""

from __future__ import annotations

CODE = "ASG501"
NAME = "wait-in-captured-graph"
VALID = [
    """\
import torch
def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
        y = torch.where(y > 0, y, 0)
    graph.replay()
    return y.sum().item()
""",
    """\
import torch
@torch.compile(fullgraph=True)
def step(model, x):
    y = model(x)
    return torch.where(y.sum() > 0, y, -y)
""",
]
INVALID = [
    """\
import torch
def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
        if y.sum() > 0:
            y = y * 2
    return graph, y
""",
    """\
import torch
@torch.compile(fullgraph=True)
def step(model, x):
    y = model(x)
    return y if y.sum() > 0 else -y
""",
    """\
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        y = self.layer(x)
        torch.cuda.synchronize()
        return y
def graphed(x):
    return torch.cuda.make_graphed_callables(Net(), (x,))
""",
]
