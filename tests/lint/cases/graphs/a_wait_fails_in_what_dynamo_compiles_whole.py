# tests/sim/test_regions.py runs each function: dynamo raises if a line of it is marked.

import torch


@torch.compile(backend="eager", fullgraph=True)
def branch(x: torch.Tensor):
    if x.sum() > 0:  # ASG501
        x = x * 2
    return x


@torch.compile(backend="eager", fullgraph=True)
def loop(x: torch.Tensor):
    while x.sum() > 1:  # ASG501
        x = x / 2
    return x


@torch.compile(backend="eager", fullgraph=True)
def choice(x: torch.Tensor):
    return x if x.min() > 0 else -x  # ASG501


@torch.compile(backend="eager", fullgraph=True)
def close(x: torch.Tensor):
    return x if torch.allclose(x, x.relu()) else x.relu()  # ASG501


@torch.compile(backend="eager", fullgraph=True)
def printed(x: torch.Tensor):
    print(x.sum())  # ASG501
    return x + 1


@torch.compile(backend="eager", fullgraph=True)
def formatted(x: torch.Tensor):
    label = f"{x.sum():.3f}"  # ASG501
    return x + len(label)


def _positive(x):
    return x if x.min() > 0 else x - x.min()  # ASG501


@torch.compile(backend="eager", fullgraph=True)
def helper(x: torch.Tensor):
    return _positive(x * 2)


@torch.compile(backend="eager", fullgraph=True)
def item(x: torch.Tensor):
    return x / x.max().item()  # ASG501


@torch.compile(backend="eager", fullgraph=True)
def mask(x: torch.Tensor):
    return x[x > 0].mean()  # ASG501


@torch.compile(backend="eager", fullgraph=True)
def to_host(x: torch.Tensor):
    return x.cpu() + 1  # ASG103


@torch.compile(backend="eager", fullgraph=True)
def chosen(x: torch.Tensor):
    return torch.where(x.sum() > 0, x, -x)


@torch.compile(backend="eager", fullgraph=True)
def asserted(x: torch.Tensor):
    assert x.sum() > -100, "too small"  # ASG104
    return x + 1


@torch.compile(backend="eager", fullgraph=True)
def by_shape(x: torch.Tensor):
    return x * 2 if x.shape[0] > 2 else x


@torch.compile(backend="eager", fullgraph=True)
def filled(x: torch.Tensor):
    return x.masked_fill(x > 0, 0)


@torch.compile(backend="eager", fullgraph=True)
def update(x: torch.Tensor):
    rate = x.mean()  # dynamo multiplies by it
    x = x.clone().add_(x, alpha=-rate)  # ASG102
    x = x.sub_(x, alpha=rate)  # ASG102
    x = x.addcmul_(x, x, value=rate)  # ASG102
    return x.addcdiv_(x, x, value=rate)  # ASG102
