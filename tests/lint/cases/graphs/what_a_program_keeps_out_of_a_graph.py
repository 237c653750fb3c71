# Waits beside graphs: they are those of any other code.

import torch
from transformers.utils import is_torchdynamo_compiling


@torch.compiler.disable
def statistics(x: torch.Tensor):
    return x.max().item()  # ASG102


@torch._dynamo.disable(recursive=True)
def recursive(x: torch.Tensor):
    return below(x)


def below(x: torch.Tensor):
    return x.min().item()  # ASG102


def handed(x: torch.Tensor):
    return x.mean().item()


handed = torch.compiler.disable(handed)


@torch.compile
def compiled(x: torch.Tensor):
    statistics(x)
    recursive(x)
    handed(x)
    if not is_torchdynamo_compiling() and not torch.all(x == 1):  # ASG104
        return x
    return x + 1


@torch.compile
def asked_before(x: torch.Tensor):
    is_tracing = torch.jit.is_tracing() or torch.compiler.is_compiling()
    if not is_tracing and x.sum() > 0:  # ASG104
        return x
    if torch.compiler.is_exporting():
        return x + 1
    return x + 2


@torch.compile
def unless_compiling(x: torch.Tensor):
    if torch.compiler.is_compiling():
        return torch.where(x > 0, x, 0)
    else:
        return x[x > 0]  # ASG105


@torch.compile(disable=True)
def switched_off(x: torch.Tensor):
    return x / x.max().item()  # ASG102


@torch.jit.script
def scripted(x: torch.Tensor):
    return x / x.max().item()  # ASG102


def replay(graph: torch.cuda.CUDAGraph, x: torch.Tensor, y: torch.Tensor, loader):
    for batch in loader:
        x.copy_(batch, non_blocking=True)
        graph.replay()
        print(y.sum().item())  # ASG102


def warm_up_then_capture(model: torch.nn.Module, x: torch.Tensor):
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            y = model(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = model(x)
    torch.cuda.synchronize()
    return y.sum().item()


def in_memory(path: str):
    with torch.cuda.stream(torch.cuda.Stream()):
        return torch.load(path).max().item()


class Cache:
    def __init__(self):
        self.table = None

    def get(self, x: torch.Tensor):
        if self.table is None:
            self.table = x.max().item()
        return self.table


cache = Cache()


@torch.compile
def with_cache(x: torch.Tensor):
    return x / cache.get(x)


def compile(text: str):
    return text.strip()


def no_torch(x: torch.Tensor):
    compile("x.max().item()")
    return x.max().item()
