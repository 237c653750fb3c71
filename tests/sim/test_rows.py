"""The rows that a real CUDA device is asked are counted on the simulated one, as often."""

from __future__ import annotations

from typing import Any

import asyncguard
from asyncguard.runtime import versions
from tests.frameworks import require
from tests.runtime.cuda_rows import ROWS, values
from tests.runtime.helpers import counts
from tests.sim.rows import wrong

torch = require("torch")

# The stand-in of a stream is Python's, and can be hooked, which torch's own type cannot.
HOOKED = {"torch.accelerator.current_stream().synchronize()": {"torch.cuda.Stream.synchronize": 1}}
# Tensors are no numbers there for torch 2.6, on any device.
SINCE_2_7 = {
    "x.roll(k)", "torch.roll(x, k)", "F.adaptive_avg_pool1d(x[None], k)", "torch.sum(A, dim=k - 1)",
}  # fmt: skip


def test_the_rows_count_on_the_simulated_device(simulated: Any) -> None:
    def counted(call: str) -> None:
        row = rows[call]
        names = values(
            torch, lambda tensor: tensor.cuda(), lambda tensor: tensor.pin_memory(), call
        )
        with asyncguard.trace(depth=row.depth) as trace:
            eval(call, names)
        assert counts(trace.record) == HOOKED.get(call, row.counts)

    old = versions.matches(torch.__version__, "<2.7")
    rows = {row.call: row for row in ROWS if not (old and row.call in SINCE_2_7)}
    assert not wrong(rows, counted)
