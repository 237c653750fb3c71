"""What synchronises with CUDA and what does not, one case each, with how often.

From torch's own test (test_cuda.py, test_cuda_sync_debug) and NVIDIA's guide to sync-free code.
`given` has, on the device: x (4 x 4), y (4), mask (4 x 4), ind (1), flag, start and stop (0-dim),
repeats (4); on the host: host (4 x 4), cpu_ind, cpu_mask, pinned.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Given
from typing import Any

from asyncguard.model import SyncKind
from tests.frameworks import require

torch = require("torch")
F = torch.nn.functional

Case = Callable[[Given], Any]


def given(device: str) -> Given:
    x = torch.arange(16.0, device=device).reshape(4, 4)
    return Given(
        device=device,
        x=x,
        y=torch.ones(4, device=device),
        mask=x > 3,
        ind=torch.ones(1, dtype=torch.long, device=device),
        flag=torch.ones((), dtype=torch.bool, device=device),
        start=torch.tensor(1, device=device),
        stop=torch.tensor(3, device=device),
        repeats=torch.ones(4, dtype=torch.long, device=device),
        labels=torch.zeros(4, dtype=torch.long, device=device),
        host=torch.ones(4, 4),
        cpu_ind=torch.tensor([0, 1]),
        cpu_mask=torch.ones(4, 4, dtype=torch.bool),
        pinned=torch.ones(4, 4).pin_memory(),
    )


def assign(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def masked_backward(g: Given) -> None:
    leaf = g.x.clone().requires_grad_()
    leaf[g.ind].sum().backward()


# name -> the call, how often it waits, and as what
WAITS: dict[str, tuple[Case, int, SyncKind]] = {
    "item": (lambda g: g.x[0, 0].item(), 1, SyncKind.SCALAR),
    "tolist": (lambda g: g.x.tolist(), 1, SyncKind.SCALAR),
    "bool": (lambda g: bool(g.flag), 1, SyncKind.TRUTH),
    "if": (lambda g: 1 if g.flag else 0, 1, SyncKind.TRUTH),
    "float": (lambda g: float(g.x[0, 0]), 1, SyncKind.SCALAR),
    "int": (lambda g: int(g.x[0, 0]), 1, SyncKind.SCALAR),
    "complex": (lambda g: complex(g.x[0, 0]), 1, SyncKind.SCALAR),
    "format": (lambda g: f"{g.x[0, 0]:.2f}", 1, SyncKind.TEXT),
    "repr": (lambda g: repr(g.x), 1, SyncKind.TEXT),
    "is_nonzero": (lambda g: torch.is_nonzero(g.flag), 1, SyncKind.TRUTH),
    "python max": (lambda g: max(g.x[0, 0], g.x[0, 1]), 1, SyncKind.TRUTH),
    "in": (lambda g: 1.0 in g.x, 1, SyncKind.TRUTH),
    "to host": (lambda g: g.x.to("cpu"), 1, SyncKind.ARRAY),
    "cpu": (lambda g: g.x.cpu(), 1, SyncKind.ARRAY),
    "to device": (lambda g: g.host.to(g.device), 1, SyncKind.UPLOAD),
    "cuda": (lambda g: g.host.cuda(), 1, SyncKind.UPLOAD),
    "to another's device": (lambda g: g.host.to(g.x), 1, SyncKind.UPLOAD),
    "type_as": (lambda g: g.host.type_as(g.x), 1, SyncKind.UPLOAD),
    "much from pageable memory": (lambda g: torch.ones(1 << 20).to(g.device, non_blocking=True), 1,
                                  SyncKind.UPLOAD),
    "a table on the host": (lambda g: g.host[g.start], 1, SyncKind.SCALAR),
    "a table on the host, by two": (lambda g: g.host[g.start, g.stop], 2, SyncKind.SCALAR),
    "a table on the host, by one of two": (lambda g: g.host[g.start, torch.tensor(2)], 1,
                                           SyncKind.SCALAR),
    "written to a table on the host": (lambda g: assign(g.host, g.start, 1.0), 1, SyncKind.SCALAR),
    "pinned, blocking": (lambda g: g.pinned.to(g.device), 1, SyncKind.UPLOAD),
    "type of the host": (lambda g: g.x.type(torch.LongTensor), 1, SyncKind.ARRAY),
    "tensor": (lambda g: torch.tensor([1.0], device=g.device), 1, SyncKind.UPLOAD),
    "as_tensor": (lambda g: torch.as_tensor(g.host.numpy(), device=g.device), 1, SyncKind.UPLOAD),
    "new_tensor": (lambda g: g.x.new_tensor([1.0]), 1, SyncKind.UPLOAD),
    "copy_ to host": (lambda g: g.host.copy_(g.x), 1, SyncKind.ARRAY),
    "copy_ to device": (lambda g: g.x.copy_(g.host), 1, SyncKind.UPLOAD),
    "nonzero": (lambda g: g.mask.nonzero(), 1, SyncKind.SHAPE),
    "argwhere": (lambda g: torch.argwhere(g.mask), 1, SyncKind.SHAPE),
    "where": (lambda g: torch.where(g.mask), 1, SyncKind.SHAPE),
    "masked_select": (lambda g: g.x.masked_select(g.mask), 1, SyncKind.SHAPE),
    "unique": (lambda g: torch.unique(g.x), 1, SyncKind.SHAPE),
    "unique_consecutive": (lambda g: torch.unique_consecutive(g.y), 1, SyncKind.SHAPE),
    "bincount": (lambda g: torch.bincount(g.labels), 2, SyncKind.SHAPE),
    "mask read": (lambda g: g.x[g.mask], 1, SyncKind.SHAPE),
    "mask write": (lambda g: assign(g.x, g.mask, g.x[0, :1].expand(12)), 1, SyncKind.SHAPE),
    "mask read and its backward": (lambda g: masked(g), 2, SyncKind.SHAPE),
    "list index": (lambda g: g.x[[0, 1]], 1, SyncKind.UPLOAD),
    "list write": (lambda g: assign(g.x, [0, 1], g.y), 1, SyncKind.UPLOAD),
    "host index": (lambda g: g.x[g.cpu_ind], 1, SyncKind.UPLOAD),
    "host index write": (lambda g: assign(g.x, g.cpu_ind, g.y), 1, SyncKind.UPLOAD),
    "two host indices": (lambda g: g.x[g.cpu_ind, g.cpu_ind], 2, SyncKind.UPLOAD),
    "two host indices write": (lambda g: assign(g.x, (g.cpu_ind, g.cpu_ind), g.y[:2]), 2,
                               SyncKind.UPLOAD),
    "two lists": (lambda g: g.x[[0, 1], [2, 3]], 2, SyncKind.UPLOAD),
    "a list beside an index": (lambda g: g.x[[0], g.ind], 1, SyncKind.UPLOAD),
    "index write of a number": (lambda g: assign(g.x, g.ind, 0), 1, SyncKind.UPLOAD),
    "host value write": (lambda g: assign(g.x, slice(None), g.host), 1, SyncKind.UPLOAD),
    "slice of two bounds": (lambda g: g.x[g.start : g.stop], 2, SyncKind.SCALAR),
    "slice of one bound": (lambda g: g.x[g.start :], 1, SyncKind.SCALAR),
    "scalar index": (lambda g: g.x[g.start], 1, SyncKind.SCALAR),
    "two scalar indices": (lambda g: g.x[g.start, g.start], 2, SyncKind.SCALAR),
    "scalar index and bound": (lambda g: g.x[g.start, : g.stop], 2, SyncKind.SCALAR),
    "scalar index write": (lambda g: assign(g.x, (g.start, g.start), 1.0), 3, SyncKind.SCALAR),
    "number write": (lambda g: assign(g.y, 0, 1.0), 1, SyncKind.UPLOAD),
    "one_hot": (lambda g: F.one_hot(g.labels), 1, SyncKind.SHAPE),
    "arange": (lambda g: torch.arange(g.stop, device=g.device), 1, SyncKind.SCALAR),
    "range": (lambda g: range(g.stop), 1, SyncKind.SCALAR),
    "equal": (lambda g: torch.equal(g.x, g.x.clone()), 1, SyncKind.TRUTH),
    "allclose": (lambda g: torch.allclose(g.x, g.x), 1, SyncKind.TRUTH),
    "linalg.inv": (lambda g: torch.linalg.inv(torch.eye(4, device=g.device)), 1, SyncKind.TRUTH),
    "linalg.svd": (lambda g: torch.linalg.svd(g.x), 2, SyncKind.TRUTH),
    "to_sparse": (lambda g: g.x.to_sparse(), 1, SyncKind.SHAPE),
    "repeat_interleave": (lambda g: torch.repeat_interleave(g.y, g.repeats), 2, SyncKind.SHAPE),
    "repeat_interleave of a tensor": (lambda g: g.y.repeat_interleave(g.repeats), 2,
                                      SyncKind.SHAPE),
    "repeat_interleave by one number": (lambda g: g.y.repeat_interleave(g.stop), 2, SyncKind.SHAPE),
    "a distribution": (lambda g: torch.distributions.Normal(g.y, g.y), 2, SyncKind.TRUTH),
    "a distribution of one": (lambda g: torch.distributions.Poisson(g.y), 1, SyncKind.TRUTH),
    "ctc_loss": (lambda g: ctc_loss(g), 5, SyncKind.SHAPE),
    "ctc_loss and its backward": (lambda g: ctc_loss(g).backward(), 8, SyncKind.SHAPE),
    "combinations": (lambda g: torch.combinations(g.y), 2, SyncKind.SHAPE),
    "histc": (lambda g: torch.histc(g.y), 2, SyncKind.SHAPE),
    "masked_fill": (lambda g: g.x.masked_fill(g.mask, g.y[0]), 1, SyncKind.SCALAR),
    "mask write of a device scalar": (lambda g: assign(g.x, g.mask, g.y[0]), 1, SyncKind.SHAPE),
    "zeros of a device size": (
        lambda g: torch.zeros(g.stop, device=g.device),
        1,
        SyncKind.SCALAR,
    ),
    "view of a device size": (lambda g: g.x.expand(g.stop, 4, 4), 1, SyncKind.SCALAR),
    "anomalies": (lambda g: backward_with_anomalies(g.y), 3, SyncKind.SCALAR),
    "synchronize": (lambda g: torch.cuda.synchronize(), 1, SyncKind.BARRIER),
    "accelerator": (lambda g: torch.accelerator.synchronize(), 1, SyncKind.BARRIER),
    "stream": (lambda g: torch.cuda.current_stream().synchronize(), 1, SyncKind.BARRIER),
    "event": (lambda g: torch.cuda.current_stream().record_event().synchronize(), 1,
              SyncKind.BARRIER),
    "empty_cache": (lambda g: torch.cuda.empty_cache(), 1, SyncKind.BARRIER),
}  # fmt: skip

# What torch's trace tells of them on a device is not what is counted: as often as the data has it,
# which counts once, and nothing, since it is the driver that holds the host.
LEAST, HIDDEN = frozenset({"repr"}), frozenset({"empty_cache", "much from pageable memory"})

WAITS_NOT: dict[str, Case] = {
    "host mask": lambda g: g.x[g.cpu_mask],
    "host mask write": lambda g: assign(g.x, g.cpu_mask, g.x[0, 0].expand(16)),
    "any": lambda g: torch.any(g.y),
    "isnan": lambda g: torch.isnan(g.y),
    "max": lambda g: torch.max(g.x),
    "little from pageable memory": lambda g: g.host.to(g.device, non_blocking=True),
    "pinned": lambda g: g.pinned.to(g.device, non_blocking=True),
    "a table on the host by the host's": lambda g: g.host[torch.tensor(1)],
    "pinned cuda": lambda g: g.pinned.cuda(non_blocking=True),
    "to where it is": lambda g: g.x.to(g.device),
    "dtype": lambda g: g.x.type(torch.long),
    "zeros": lambda g: torch.zeros(4, device=g.device),
    "randn": lambda g: torch.randn(4, device=g.device),
    "full": lambda g: torch.full((4,), 1.0, device=g.device),
    "randperm": lambda g: torch.randperm(20_000, device=g.device),
    "where of three": lambda g: torch.where(g.mask, g.x, 0.0),
    "masked_fill_": lambda g: g.x.masked_fill_(g.mask, 1.0),
    "mask write of a number": lambda g: assign(g.x, g.mask, 1.0),
    "a number of the host by mask": lambda g: g.x.index_put((g.mask,), torch.ones(1)),
    "added by index": lambda g: g.y.index_put_((g.ind,), g.x[0, :1], accumulate=True),
    "nothing there": lambda g: torch.tensor([], device=g.device),
    "nothing to the device": lambda g: g.host[:0].to(g.device),
    "nothing to the host": lambda g: g.x[:0].to("cpu"),
    "index by each of many": lambda g: each_of_many(g.x, g.labels),
    "index": lambda g: g.x[g.ind],
    "index write": lambda g: assign(g.x, g.ind, g.y),
    "number index": lambda g: g.x[0],
    "number write to a row": lambda g: assign(g.x, 0, 1.0),
    "slice": lambda g: g.x[1:3],
    "slice write": lambda g: assign(g.x, slice(1, 3), 0.0),
    "index of a column": lambda g: g.x[:, g.ind],
    "one_hot of n": lambda g: F.one_hot(g.labels, num_classes=4),
    "repeat_interleave of n": lambda g: torch.repeat_interleave(g.y, g.repeats, output_size=4),
    "backward of an index": masked_backward,
    "clip_grad_norm_": lambda g: torch.nn.utils.clip_grad_norm_([g.x.requires_grad_()], 1.0),
    "event.wait": lambda g: torch.cuda.current_stream().record_event().wait(),
    "wait_stream": lambda g: torch.cuda.Stream().wait_stream(torch.cuda.current_stream()),
    "event.query": lambda g: torch.cuda.current_stream().record_event().query(),
    "inv_ex": lambda g: torch.linalg.inv_ex(torch.eye(4, device=g.device)),
    "det": lambda g: torch.linalg.det(g.x),
    "slogdet": lambda g: torch.linalg.slogdet(g.x),
    "histc of a range": lambda g: torch.histc(g.y, 4, 0, 1),
    "masked_scatter": lambda g: g.x.masked_scatter(g.mask, g.x),
    "searchsorted": lambda g: torch.searchsorted(g.y, g.y),
    "deepcopy": lambda g: g.x.clone(),
    "isclose": lambda g: torch.isclose(g.x, g.x),
    "host read": lambda g: g.host.sum().item(),
    "sdpa": lambda g: F.scaled_dot_product_attention(*[g.x[None, None]] * 3),
    "dropout": lambda g: F.dropout(g.x),
    "cross_entropy": lambda g: F.cross_entropy(g.x, g.labels),
    "a distribution without checks": lambda g: torch.distributions.Normal(
        g.y, g.y, validate_args=False
    ),
    "adam": lambda g: torch.optim.AdamW([with_grad(g.x)]).step(),
}


def backward_with_anomalies(y: Any) -> None:
    """Each of three nodes is asked for NaN."""
    leaf = y.clone().requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        leaf.sin().exp().sum().backward()


def ctc_loss(g: Given) -> Any:
    scores = g.x[:, None].clone().requires_grad_()
    return F.ctc_loss(scores, g.labels[None, :1] + 1, (4,), (1,))


def each_of_many(x: Any, rows: Any) -> Any:
    """As transformers makes masks: within a vmap, what has no dimensions is no number."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    with TransformGetItemToIndex():
        return torch.vmap(lambda row: x[row, row])(rows)


def with_grad(value: Any) -> Any:
    leaf = value.clone().requires_grad_()
    leaf.sum().backward()
    return leaf


def masked(g: Given) -> None:
    leaf = g.x.clone().requires_grad_()
    leaf[g.mask].sum().backward()
