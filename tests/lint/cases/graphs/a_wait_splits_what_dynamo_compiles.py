# tests/sim/test_regions.py runs each function: dynamo breaks its graph if a line of it is marked.

import math

import torch
import torch.nn.functional as F


@torch.compile(backend="eager")
def item(x: torch.Tensor):  # pytorch: "Graph break from `Tensor.item()`"
    return x / x.max().item()  # ASG502


@torch.compile(backend="eager")
def to_float(x: torch.Tensor):
    return x / float(x.max())  # ASG502


@torch.compile(backend="eager")
def to_int(x: torch.Tensor):
    return x[: int(x.sum())]  # ASG502


@torch.compile(backend="eager")
def to_list(x: torch.Tensor):
    return [row[0] for row in x.tolist()]  # ASG502


@torch.compile(backend="eager")
def branch(x: torch.Tensor):  # "data-dependent control flow"
    if x.sum() > 0:  # ASG502
        x = x * 2
    return x


@torch.compile(backend="eager")
def loop(x: torch.Tensor):
    while x.sum() > 1:  # ASG502
        x = x / 2
    return x


@torch.compile(backend="eager")
def choice(x: torch.Tensor):
    return x if x.min() > 0 else -x  # ASG502


@torch.compile(backend="eager")
def finite(x: torch.Tensor):
    if not torch.isfinite(x).all():  # ASG502
        raise ValueError("not finite")
    return x


@torch.compile(backend="eager")
def equal(x: torch.Tensor):
    return x if torch.equal(x, x.relu()) else x.relu()  # ASG502


@torch.compile(backend="eager")
def close(x: torch.Tensor):
    return x if torch.allclose(x, x.relu()) else x.relu()  # ASG502


@torch.compile(backend="eager")
def nonzero(x: torch.Tensor):
    return x.nonzero() + 1  # ASG502


@torch.compile(backend="eager")
def mask(x: torch.Tensor):
    return x[x > 0].mean()  # ASG502


@torch.compile(backend="eager")
def selected(x: torch.Tensor):
    return torch.masked_select(x, x > 0).mean()  # ASG502


@torch.compile(backend="eager")
def where(x: torch.Tensor):
    return torch.where(x > 0)[0] + 1  # ASG502


@torch.compile(backend="eager")
def unique(x: torch.Tensor):
    return torch.unique(x) + 1  # ASG502


@torch.compile(backend="eager")
def repeated(x: torch.Tensor):
    return torch.repeat_interleave(x, x[:, 0].long(), dim=0) + 1  # ASG502


@torch.compile(backend="eager")
def counted(x: torch.Tensor):
    return torch.bincount(x.long().flatten()) + 1  # ASG502


@torch.compile(backend="eager")
def one_hot(x: torch.Tensor):
    return F.one_hot(x.long()) + 1  # ASG502


@torch.compile(backend="eager")
def printed(x: torch.Tensor):
    print(x.sum())  # ASG502
    return x + 1


@torch.compile(backend="eager")
def formatted(x: torch.Tensor):
    label = f"{x.sum():.3f}"  # ASG502
    return x + len(label)


@torch.compile(backend="eager")
def computed(x: torch.Tensor):
    return x if math.isnan(x.sum()) else x + 1  # ASG502


def _scaled(x):
    return x / x.abs().max().item()  # ASG502


@torch.compile(backend="eager")
def helper(x: torch.Tensor):
    return _scaled(x * 2)


@torch.compile(backend="eager")
def to_host(x: torch.Tensor):
    return x.cpu() + 1  # ASG103


@torch.compile(backend="eager")
def constant(x: torch.Tensor):
    return x + torch.tensor(3.0)


@torch.compile(backend="eager")
def clamped(x: torch.Tensor):
    return x / x.max().clamp(min=1)


@torch.compile(backend="eager")
def chosen(x: torch.Tensor):
    return torch.where(x > 0, x, 0).mean()


@torch.compile(backend="eager")
def filled(x: torch.Tensor):
    x = x.clone()
    x[x > 0] = 0
    return x


@torch.compile(backend="eager")
def asserted(x: torch.Tensor):
    assert x.sum() > -100  # ASG104
    return x + 1


@torch.compile(backend="eager")
def largest(x: torch.Tensor):
    return max(x[0, 0], x[0, 1]) + x  # ASG104


@torch.compile(backend="eager")
def inverted(x: torch.Tensor):
    return torch.linalg.inv(x + 100 * torch.eye(4))  # ASG104


@torch.compile(backend="eager")
def known_size(x: torch.Tensor):
    return F.one_hot(x.long(), num_classes=9) + 1


@torch.compile(backend="eager")
def by_shape(x: torch.Tensor):
    return x * 2 if x.shape[0] > 2 else x


@torch.compile(backend="eager")
def is_given(x: torch.Tensor, other: torch.Tensor | None = None):
    return x + 1 if other is None else x + other


@torch.compiler.disable
def _aside(x):
    return x.sum() + 1


@torch.compile(backend="eager")
def guarded(x: torch.Tensor):
    if not torch.compiler.is_compiling() and x.isnan().any():  # ASG104
        raise ValueError("NaN")
    return x + 1


@torch.compile(backend="eager")
def returned(x: torch.Tensor):
    if torch.compiler.is_compiling():
        return x + 1
    return x / x.max().item()  # ASG102


@torch.compile(backend="eager", disable=True)
def off(x: torch.Tensor):
    return x / x.max().item()  # ASG102
