"""A pinned buffer is filled anew while a copy from it may still be reading it.

A copy from pinned memory with `non_blocking=True` returns before the memory was read. What is
written there before it is done may be copied instead: the batch on the device is partly the next
one. Wait for an event behind the copy before the buffer is reused, or take turns with two of them.
(Freeing it is no race: PyTorch keeps pinned memory until its copies are done.)

Before:

    for batch in batches:
        staging.copy_(batch)                   # the copy of the batch before may still read it
        x = staging.to("cuda", non_blocking=True)

After:

    for batch in batches:
        done.synchronize()
        staging.copy_(batch)
        x = staging.to("cuda", non_blocking=True)
        done.record()

Reference: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.races import reports

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG405"
NAME = "staging-buffer-reused"
MESSAGE = (
    "`{{site}}` {use} while the copy at {copy} may still be reading it: wait for an event recorded "
    "after the copy first, or take another buffer"
)
ADVICE = (
    "Record an event behind each copy from the buffer and `synchronize()` on it before the buffer "
    "is filled anew; two buffers that take turns keep that from waiting."
)
_STAGING = """\
import torch
def upload(batches, model):
    staging = torch.empty(64, 1024, pin_memory=True)
    done = torch.cuda.Event()
    for batch in batches:
"""
VALID = [
    _STAGING
    + "        done.synchronize()\n        staging.copy_(batch)\n"
    + '        model(staging.to("cuda", non_blocking=True))\n        done.record()\n',
    _STAGING + '        staging.copy_(batch)\n        model(staging.to("cuda"))\n',
]
INVALID = [
    _STAGING
    + "        staging.copy_(batch)\n"
    + '        model(staging.to("cuda", non_blocking=True))\n',
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each write to a buffer that a copy may still be reading."""
    return reports(analysis, CODE, MESSAGE, ADVICE, fills=False)
