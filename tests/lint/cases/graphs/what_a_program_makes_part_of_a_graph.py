# The ways into a graph; the wait is the same in all of them.

from functools import partial

import torch
from torch.cuda import graph as captured


def handed(x: torch.Tensor):
    return x / x.max().item()  # ASG502 none


fast = torch.compile(handed)


def optimised(x: torch.Tensor):
    return x / x.max().item()  # ASG502 none


faster = torch._dynamo.optimize("inductor")(optimised)


@torch.compile()
def called(x: torch.Tensor):
    return x / x.max().item()  # ASG502


@partial(torch.compile, mode="max-autotune")
def partially(x: torch.Tensor):
    return x / x.max().item()  # ASG502


@partial(torch.compile, fullgraph=True)
def whole(x: torch.Tensor):
    return x if x.max() > 0 else -x  # ASG501


@torch.compile(fullgraph=False, dynamic=True)
def dynamic(x: torch.Tensor):
    return x / x.max().item()  # ASG502


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = self.layer(x)
        return self.scaled(y)

    def scaled(self, y):
        return y / y.abs().max().item()  # ASG502


net = torch.compile(Net())


class Other(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x[x > 0]  # ASG502


def build():
    model = Other()
    model.compile(mode="reduce-overhead")
    return model


class Third(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.project = torch.compile(self.project)

    def project(self, x: torch.Tensor):
        y = self.layer(x)
        return y if y.isfinite().all() else torch.zeros_like(y)  # ASG502 none


class Graphed(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x.repeat_interleave(x[:, 0].long(), dim=0)  # ASG501


class Critic(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x.mean().cpu()  # ASG501


def graphed(x: torch.Tensor):
    return torch.cuda.make_graphed_callables((Graphed(), Critic()), ((x,), (x,)))


def named(x: torch.Tensor):
    with captured(torch.cuda.CUDAGraph(), stream=torch.cuda.Stream()):
        return x * x.max().item()  # ASG501 none


class Runner:
    def __init__(self, x: torch.Tensor):
        self.graph = torch.cuda.CUDAGraph()
        self.x = x

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.graph.capture_begin()
            self.y = self.step(self.x)
            self.graph.capture_end()

    def step(self, x: torch.Tensor):
        y = x * 2
        torch.cuda.synchronize()  # ASG501
        return y


class Exported(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x if x.sum() > 0 else -x  # ASG501


program = torch.export.export(Exported(), (torch.zeros(4),))
