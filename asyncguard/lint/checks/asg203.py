"""A barrier waits for all queued work, but the next read waits for its own value anyway.

A read waits for its own value by itself. A barrier before it also waits for all the other work
that is queued (or, on several streams, for all streams), and adds nothing. Off by default: in a hot
loop ASG202 reports the barrier and takes its advice from here.

Before:

    for x, y in loader:
        loss = step(x, y)
        torch.cuda.synchronize()
        history.append(loss.item())

After:

    for x, y in loader:
        loss = step(x, y)
        history.append(loss.item())            # waits for the loss by itself

Reference: https://d2l.ai/chapter_computational-performance/async-computation.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from asyncguard.lint.report.registry import MXNET_STEP, TORCH_LOOP, Example
from asyncguard.lint.report.reports import report_site
from asyncguard.lint.report.statement_order import suite
from asyncguard.lint.report.timing import is_timed
from asyncguard.model import SyncKind

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import Site
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG203"
NAME = "barrier-too-wide"
DEFAULT = False
REFINES = ("ASG202",)
MESSAGE = (
    "`{site}` waits for all queued work, but the next read ({lines}) already waits for its "
    "own value: remove this barrier"
)
READS = (
    SyncKind.SCALAR, SyncKind.ARRAY, SyncKind.TEXT, SyncKind.TRUTH, SyncKind.COMPOSITE,
)  # fmt: skip
VALID = [
    TORCH_LOOP
    + """\
        optimizer.step()
        torch.cuda.synchronize()
        host = buffer.numpy()
""",
    """\
import time
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        torch.cuda.synchronize()
        end = time.perf_counter()
        print(loss.item())
""",
    MXNET_STEP + "loss.wait_to_read()\n        print(loss.asnumpy())\n",
]
LOSS_STEP = TORCH_LOOP + "        optimizer.step()\n        "
INVALID = [
    Example(
        LOSS_STEP + "torch.cuda.synchronize()\n        print(loss.item())\n",
        fixed=LOSS_STEP + "print(loss.item())\n",
        safe=False,
    ),
    MXNET_STEP + "npx.waitall()\n        total = loss.sum().asscalar()\n",
    """\
import jax
import jax.numpy as jnp
@jax.jit
def update(params, batch):
    return params, jnp.mean(batch)
def train(params, loader):
    for batch in loader:
        params, loss = update(params, batch)
        jax.effects_barrier()
        total = float(loss)
""",
    """\
from asyncguard.engine import np
def run(n):
    x = np.ones((8, 8))
    for step in range(n):
        x = np.dot(x, x)
        np.waitall()
        total = x.asnumpy()
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each barrier that stands right before a statement which reads one value."""
    sites = list(analysis.sites)
    reads = _reads_by_place(sites)
    for site in sites:
        place = suite(site.blocks)
        if site.point.kind != SyncKind.BARRIER or place is None or is_timed(site):
            continue
        if site.point.waits_for not in ("everything", "device") or site.via is not None:
            continue
        following = reads.get((id(place[0]), place[1] + 1), [])
        if len(following) == 1:
            report = report_site(site, CODE, MESSAGE)
            report.extra_nodes = (following[0].node,)
            yield report


def _reads_by_place(sites: list[Site]) -> dict[tuple[int, int], list[Site]]:
    """Arrange the reads by the statement that they stand in."""
    found: dict[tuple[int, int], list[Site]] = {}
    for site in sites:
        place = suite(site.blocks)
        if place is not None and site.point.kind in READS:
            found.setdefault((id(place[0]), place[1]), []).append(site)
    return found
