"""Whether a copy between the host and a device holds the host although it is told not to block.

From CUDA's "API synchronization behavior" and what torch's copy kernel does before it calls CUDA:

* Only page-locked (pinned) memory is copied asynchronously. Pageable memory is staged: of up to
  64 KiB the driver takes a copy and returns, for more it may wait for the stream first.
* Into pageable memory a copy returns when it is done, of any size.
* One call of CUDA's copies one block of memory. Where the two sides are not laid out alike, torch
  makes the host's side contiguous first, and that is pageable memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private

__all__ = [
    "GAPPED", "PAGEABLE", "STAGED_BYTES", "UNPINNED", "are_alike", "download_held", "is_dense",
    "upload_held",
]  # fmt: skip

# CUDA's programming guide lists uploads of at most so many bytes among what does not hold the host;
# of more, the documentation says that the driver "may" wait. (An H200 with CUDA 13.0 was not held
# by 1 MiB and was by 4 MiB; none in between was tried, and no program can rely on that.)
STAGED_BYTES = 64 << 10
PAGEABLE = "pageable"
GAPPED = "gapped"
UNPINNED = "unpinned destination"


def upload_held(
    source: Tensor,
    target: Tensor | None = None,
    dtype: torch.dtype | None = None,
    layout: torch.memory_format | None = None,
) -> str | None:
    """Why `source.to(device, non_blocking=True)`, or `target.copy_(source, True)`, holds the host.

    target: what is written into; None: a fresh tensor, which has `dtype` and `layout`, or else
            those of the source.

    None: it does not.
    """
    for sent in _parts(source):
        shape = sent.shape if target is None else target.shape
        if prod(shape) * sent.element_size() <= STAGED_BYTES:
            continue
        if not sent.is_pinned():
            return PAGEABLE
        is_block = sent.shape == shape and sent.is_contiguous()
        if not (is_block or _goes_as_it_is(sent, target, dtype, layout)):
            return GAPPED
    return None


def download_held(
    source: Tensor,
    target: Tensor | None = None,
    dtype: torch.dtype | None = None,
    layout: torch.memory_format | None = None,
) -> str | None:
    """Why `source.to("cpu", non_blocking=True)`, or `target.copy_(source, True)`, holds the host.

    As for `upload_held`. What torch makes itself for such a copy is pinned, where it is strided.
    """
    if not source.numel():
        return None
    if target is not None:
        if not target.is_pinned():
            return UNPINNED
        is_block = target.is_contiguous()
    elif source.layout is not torch.strided:
        return UNPINNED
    elif layout in (None, torch.preserve_format):  # of a source with gaps, the order without them
        is_block = source.is_contiguous() or not is_dense(source)
    else:
        is_block = layout is torch.contiguous_format
    return None if is_block or _goes_as_it_is(source, target, dtype, layout) else GAPPED


def _goes_as_it_is(
    source: Tensor,
    target: Tensor | None,
    dtype: torch.dtype | None,
    layout: torch.memory_format | None,
) -> bool:
    """Whether a copy moves one block of memory into another, of the same dtype and order."""
    if target is not None:
        return target.dtype == source.dtype and are_alike(source, target)
    if dtype not in (None, source.dtype):
        return False
    if layout in (None, torch.preserve_format):
        return is_dense(source)
    return bool(source.is_contiguous(memory_format=layout))


def _parts(source: Tensor) -> Iterable[Tensor]:
    """The strided tensors that a copy of one tensor sends; of an opaque one, none are known."""
    if source.layout is torch.strided:
        return (source,)
    with private.DisableTorchFunctionSubclass():
        return [getattr(source, name)() for name in _PARTS.get(source.layout, ())]


_ROWS = ("crow_indices", "col_indices", "values")
_COLUMNS = ("ccol_indices", "row_indices", "values")
_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: _ROWS, torch.sparse_bsr: _ROWS,
    torch.sparse_csc: _COLUMNS, torch.sparse_bsc: _COLUMNS,
}  # fmt: skip


def are_alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are each one block, in the same order."""
    if one.shape != other.shape or not is_dense(one):
        return False
    strides = zip(one.shape, one.stride(), other.stride(), strict=True)
    return all(mine == theirs for size, mine, theirs in strides if size != 1)


def is_dense(tensor: Tensor) -> bool:
    """Whether the elements fill one block of memory without gaps or overlaps, in any order."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return not tensor.numel()
        expected *= size
    return True
