"""A copy with `non_blocking=True` blocks all the same, for its memory does not allow anything else.

A copy goes on beside Python only where the host's side is pinned and one block of memory. From
pageable memory (`torch.tensor(...)`, `from_numpy`, `zeros`) and from a pinned tensor with gaps
(`pinned[:, ::2]`) the driver may wait as soon as more than 64 KiB are copied; into a buffer that
is not pinned, or has gaps, `copy_` always waits. Nothing says so. `x.to("cpu", non_blocking=True)`
does not block: PyTorch pins the result. No finding where the memory is not known; where its size
is not, by literals, by its axes or by a name (`images`), on request alone (`--select ALL`).

Before:

    for request in requests:
        ids = torch.tensor(request.tokens).to("cuda", non_blocking=True)

After:

    staging = torch.empty(limit, dtype=torch.long, pin_memory=True)      # made once
    for request in requests:
        done.synchronize()                     # the copy of the round before
        n = len(request.tokens)
        staging[:n].copy_(torch.tensor(request.tokens))
        ids = staging[:n].to("cuda", non_blocking=True)
        done.record()

Reference: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.domain.copies import GAPPED, MAYBE, PAGEABLE, UNPINNED
from asyncguard.lint.labels import GAPS
from asyncguard.lint.report.registry import TORCH_STEP, Example
from asyncguard.lint.report.reports import report_site, sites_of

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG108"
NAME = "blocking-non-blocking-copy"
MESSAGE = "`{{site}}` blocks {{when}} although `non_blocking=True`: {why}"
WHY = {
    PAGEABLE: "its source is pageable memory (of more than 64 KiB)",
    MAYBE: "its source is pageable memory, if that is of more than 64 KiB",
    GAPPED: GAPS,
    UNPINNED: "its destination is not pinned",
}
_PINNED = (
    "Copy from a pinned buffer that is made once and reused behind an event, or `.pin_memory()` "
    "what each round makes; of a `DataLoader`, with `pin_memory=True`."
)
ADVICE = {
    PAGEABLE: _PINNED,
    MAYBE: _PINNED,
    GAPPED: "Copy in one piece: pin the dense tensor (`.contiguous().pin_memory()`), or copy all "
    "of it and choose on the device.",
    UNPINNED: "Make the destination with `pin_memory=True`, in one piece, once; and wait for an "
    "event behind the copy before it is read.",
}
VALID = [
    TORCH_STEP + 'x = x.to("cuda", non_blocking=True)',
    TORCH_STEP + 'w = torch.ones(512, 512).pin_memory().to("cuda", non_blocking=True)',
    TORCH_STEP + 'w = torch.tensor([1.0, 2.0]).to("cuda", non_blocking=True)',
    TORCH_STEP + 'host = loss.detach().to("cpu", non_blocking=True)',
]
INVALID = [
    Example(
        TORCH_STEP + 'w = torch.ones(512, 512).to("cuda", non_blocking=True)',
        fixed=TORCH_STEP
        + 'w = torch.ones(512, 512, pin_memory=True).to("cuda", non_blocking=True)',
        safe=False,
    ),
    Example(
        TORCH_STEP + "w = torch.ones(512, 512).pin_memory()[:, ::2].cuda(non_blocking=True)",
        fixed=TORCH_STEP + "w = torch.ones(512, 512).pin_memory()[:, ::2].contiguous().pin_memory()"
        ".cuda(non_blocking=True)",
        safe=False,
    ),
    TORCH_STEP + "torch.empty(()).copy_(loss.detach(), non_blocking=True)",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each copy that was told not to block and does."""
    for site in sites_of(analysis, CODE):
        report = report_site(site, CODE, MESSAGE.format(why=WHY[site.held]))
        report.advice = ADVICE[site.held]
        yield report
