"""Several reads in one step wait one after the other, where one transfer can serve them.

Each read stops Python until the device has caught up, copies a few bytes, and lets the device run
dry before the next operation is enqueued. Values that exist at the same time can be stacked on the
device and read with one transfer. Off by default: ASG102 reports the reads and takes its advice
from here.

Before:

    for x, y in loader:
        loss, accuracy = step(x, y)
        meter.add(loss.item(), accuracy.item())          # waits twice

After:

    for x, y in loader:
        loss, accuracy = step(x, y)
        meter.add(*torch.stack([loss, accuracy]).tolist())      # waits once

Reference: https://docs.nvidia.com/dl-cuda-graph/latest/torch-cuda-graph/sync-free-code.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.domain.work import Work
from asyncguard.lint.report.indices import Indices
from asyncguard.lint.report.registry import CUPY_STEP, MXNET_STEP, TORCH_LOOP
from asyncguard.lint.report.reports import report_site
from asyncguard.lint.report.statement_order import names_in, suite
from asyncguard.model import Loop, SyncKind

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import Site
    from asyncguard.lint.domain.loops import LoopRecord
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report

CODE = "ASG301"
NAME = "unbatched-syncs"
DEFAULT = False
REFINES = ("ASG101", "ASG102", "ASG107")
TOGETHER = (
    "this read and those on {lines} wait one after the other {when}: stack the values on the "
    "device and read them with one transfer (one `tolist` or `asnumpy`)"
)
AGAIN = (
    "`{site}` is read again on {lines}, and waits each time {when}: read it once and keep "
    "the number"
)
EACH = (
    "`{site}` waits once for each element {when}: stack the elements on the device and read them "
    "with one transfer (one `tolist` or `asnumpy`)"
)
READS = (SyncKind.SCALAR, SyncKind.TEXT)
VALID = [
    TORCH_LOOP
    + """\
        optimizer.step()
        first, second = torch.stack([loss, loss * 2]).tolist()
""",
    TORCH_LOOP
    + """\
        optimizer.step()
        first, second = torch.stack([loss, loss * 2]).tolist()
        names = y.item()
""",
    """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        first = loss.item()
        loss = model(x * first, y)
        second = loss.item()
        loss.backward()
""",
    """\
import torch
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss, accuracy = model(x, y)
        loss.backward()
        if step % 100 == 0:
            print(loss.item(), accuracy.item())
""",
    MXNET_STEP
    + "a = loss.sum().asscalar()\n        loss = net(X) * a\n        b = loss.max().asscalar()\n",
]
INVALID = [
    """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        meter.add(loss.item(), (out.argmax(1) == y).sum().item())
""",
    """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss, accuracy = model(x).mean(), model(y).mean()
        loss.backward()
        a = float(loss)
        b = float(accuracy)
""",
    TORCH_LOOP + "        log(loss.item())\n        total = loss.item()\n",
    """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        losses = [model(x), model(y)]
        sum(losses).backward()
        log([loss.item() for loss in losses])
""",
    MXNET_STEP + "low = loss.min().asscalar()\n        high = loss.max().asscalar()\n",
    CUPY_STEP + "low, high = float(x.min()), float(x.max())",
    """\
import jax
import jax.numpy as jnp
@jax.jit
def update(params, batch):
    return params, jnp.mean(batch), jnp.max(batch)
def train(params, loader):
    for batch in loader:
        params, loss, top = update(params, batch)
        history.add(float(loss), float(top))
""",
]


def check(analysis: FileAnalysis) -> Iterator[Report]:
    """Report each group of reads at its first, and each read made for every element."""
    groups: dict[tuple[object, ...], list[Site]] = {}
    indices = Indices()
    for site in analysis.sites:
        place = suite(site.blocks)
        rare = site.context.guarded
        if site.point.kind not in READS or rare or site.subject is None or place is None:
            continue
        if _is_one_transfer(site.subject):
            continue
        if site.via is None and _of_elements(site, indices):
            yield report_site(site, CODE, EACH)
        else:
            key = (id(place[0]), site.point.framework, *map(id, site.loops))
            groups.setdefault(key, []).append(site)
    for sites in groups.values():
        for group in _together(sites, indices):
            yield _report(group)


def _report(group: Sequence[Site]) -> Report:
    first, others = group[0], group[1:]
    report = report_site(first, CODE, AGAIN if all(_same(first, s) for s in others) else TOGETHER)
    report.extra_nodes = tuple(site.node for site in others)
    return report


def _same(left: Site, right: Site) -> bool:
    """Whether two reads are of one value, as far as its text tells."""
    if left.via is not None or right.via is not None or not left.subject or not right.subject:
        return False
    return left.subject.deep_equals(right.subject)


def _together(sites: Sequence[Site], indices: Indices) -> Iterator[list[Site]]:
    """Split reads of one list of statements into groups whose values exist at the first read."""
    group: dict[int, Site] = {}  # by the ids of their nodes: what one call reads is one
    for site in sites:
        if group and not _exists_at(next(iter(group.values())), site, indices):
            if len(group) > 1:
                yield [*group.values()]
            group = {}
        group.setdefault(id(site.node), site)
    if len(group) > 1:
        yield [*group.values()]


def _exists_at(first: Site, later: Site, indices: Indices) -> bool:
    """Whether nothing that the later read's value is made of is assigned after the first read."""
    start, end = suite(first.blocks), suite(later.blocks)
    if start is None or end is None or later.subject is None:
        return False
    return not indices.body(start[0]).assigns(names_in(later.subject), start[1], end[1])


def _of_elements(site: Site, indices: Indices) -> bool:
    """Whether a loop or comprehension within the step does nothing but read existing elements."""
    if not site.loops or site.subject is None:
        return False
    record = site.loops[-1]
    if site.point.kind != SyncKind.SCALAR:
        return False
    if record.kind != Loop.NONE or record.work & (Work.RUNS_MODEL | Work.GRADIENTS):
        return False
    targets = _targets(record)
    if not targets & names_in(site.subject):
        return False
    if type(record.node) is cst.CompFor:
        return True
    # What the loop itself makes may hang on an earlier read.
    made = indices.assigned(record.node) - targets
    return type(record.node) is cst.For and not made & names_in(site.subject)


def _is_one_transfer(subject: cst.CSTNode) -> bool:
    """Whether what is read are several values already, stacked for one transfer."""
    function = subject.func if isinstance(subject, cst.Call) else None
    return isinstance(function, cst.Attribute) and function.attr.value == "stack"


def _targets(record: LoopRecord) -> frozenset[str]:
    if type(record.node) is cst.CompFor:
        return frozenset(names_in(record.node.target))
    return record.targets
