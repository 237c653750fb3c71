"""The rows that a real CUDA device is asked are counted on the simulated one, as often."""

from __future__ import annotations

from typing import Any

import pytest

import asyncguard
from tests.frameworks import require
from tests.runtime.cuda_rows import ROWS, Row, values
from tests.runtime.helpers import counts

torch = require("torch")

# The stand-in of a stream is Python's, and can be hooked, which torch's own type cannot.
HOOKED = {"torch.accelerator.current_stream().synchronize()": {"torch.cuda.Stream.synchronize": 1}}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.call)
def test_a_row_counts_on_the_simulated_device(row: Row, simulated: Any) -> None:
    names = values(torch, lambda tensor: tensor.cuda(), lambda tensor: tensor.pin_memory())
    with asyncguard.trace(depth=row.depth) as trace:
        eval(row.call, names)
    assert counts(trace.record) == HOOKED.get(row.call, row.counts)
