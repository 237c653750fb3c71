"""The rows that a real CUDA device is asked are counted on the simulated one, as often."""

from __future__ import annotations

from typing import Any

import asyncguard
from asyncguard.runtime import versions
from tests.frameworks import require
from tests.runtime.cuda_rows import ROWS, Row, values
from tests.runtime.helpers import counts

torch = require("torch")

# The stand-in of a stream is Python's, and can be hooked, which torch's own type cannot.
HOOKED = {"torch.accelerator.current_stream().synchronize()": {"torch.cuda.Stream.synchronize": 1}}
# Tensors are no numbers there for torch 2.6, on any device.
SINCE_2_7 = {
    "x.roll(k)", "torch.roll(x, k)", "F.adaptive_avg_pool1d(x[None], k)", "torch.sum(A, dim=k - 1)",
}  # fmt: skip


def test_the_rows_count_on_the_simulated_device(simulated: Any) -> None:
    old = versions.matches(torch.__version__, "<2.7")
    wrong = {}
    for row in ROWS:
        if not (old and row.call in SINCE_2_7):
            expected = HOOKED.get(row.call, row.counts)
            found = counted(row)
            if found != expected:
                wrong[row.call] = found, expected
    assert not wrong


def counted(row: Row) -> Any:
    """How often each call has waited, or what it has raised."""
    names = values(torch, lambda tensor: tensor.cuda(), lambda tensor: tensor.pin_memory())
    try:
        with asyncguard.trace(depth=row.depth) as trace:
            eval(row.call, names)
    except Exception as error:  # noqa: BLE001  what is wrong with a row is told with the others'
        return repr(error)
    return counts(trace.record)
