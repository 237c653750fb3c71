"""On a real GPU: the table of graph programs, which the simulated device agrees with."""

from __future__ import annotations

import pytest

from tests.frameworks import require
from tests.runtime.cuda_programs import alone
from tests.runtime.graph_programs import PROGRAMS, Program

torch = require("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not torch.cuda.is_available(),
        reason="torch sees no CUDA device: what it would say of these programs is unverified",
    ),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_device_captures_and_fails_as_the_table_says(program: Program) -> None:
    alone("on_device", program.name, module="tests.runtime.graph_programs")
