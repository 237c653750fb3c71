"""One simulated device for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")


@pytest.fixture(autouse=True)
def validating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions check their arguments, as in a new process: torch.compile stops that."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)


@pytest.fixture(scope="module")
def simulated() -> Iterator[Any]:
    """The simulation, with two devices."""
    with asyncguard.simulate_cuda(devices=2) as simulation:
        yield simulation
