"""One simulated device for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import asyncguard


@pytest.fixture(scope="module")
def simulated() -> Iterator[Any]:
    """The simulation, with two devices."""
    with asyncguard.simulate_cuda(devices=2) as simulation:
        yield simulation
