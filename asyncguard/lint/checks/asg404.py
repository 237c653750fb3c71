"""A host tensor is used before the asynchronous copy that fills it is done.

`x.to("cpu", non_blocking=True)`, and `pinned.copy_(x, non_blocking=True)`, return before the
numbers are there. What reads the tensor then gets whatever the memory held before, now and then. A
copy is done once an event that was recorded behind it, its stream or its device was waited for, or
something else was read that waits for the stream.

Before:

    host = loss.detach().to("cpu", non_blocking=True)
    losses.append(host.item())                 # whatever was there before, maybe

After:

    host = loss.detach().to("cpu", non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    ...                                        # enqueue other work
    done.synchronize()
    losses.append(host.item())

Reference: https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.races import reports
from asyncguard.lint.report.registry import TORCH_STEP

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG404"
NAME = "unfinished-copy"
MESSAGE = (
    "`{{site}}` {use} while the copy at {copy} may still be filling it: wait for an event recorded "
    "after the copy (or for its stream) first"
)
ADVICE = (
    "Record an event behind the copy, enqueue other work, and `synchronize()` on the event where "
    "the value is needed; or copy without `non_blocking=True`."
)
VALID = [
    TORCH_STEP
    + 'host = loss.detach().to("cpu", non_blocking=True)\n'
    + "        torch.cuda.synchronize()\n        print(host)\n",
    TORCH_STEP + 'host = loss.detach().to("cpu")\n        print(host)\n',
]
INVALID = [
    TORCH_STEP + 'host = loss.detach().to("cpu", non_blocking=True)\n        print(host.item())\n',
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each use of memory that a copy may still be filling."""
    return reports(analysis, CODE, MESSAGE, ADVICE, fills=True)
