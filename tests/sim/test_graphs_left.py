"""Captures that a simulation ends with; each test has a simulation of its own."""

from __future__ import annotations

import pytest

import asyncguard
from asyncguard.runtime.hub import hub
from asyncguard.sim.captures import captures
from tests.frameworks import require

torch = require("torch")


def test_a_simulation_that_ends_within_a_capture_leaves_nothing_behind() -> None:
    own = torch.cuda.CUDAGraph, torch.cuda.graph, torch.cuda.graphs.CUDAGraph
    with asyncguard.simulate_cuda():
        x = torch.ones(2, device="cuda")
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.CUDAGraph().capture_begin()
            x.add_(1)
    assert x.tolist() == [1, 1]
    assert not captures.under_way
    assert hub.scope is None
    assert (torch.cuda.CUDAGraph, torch.cuda.graph, torch.cuda.graphs.CUDAGraph) == own


def test_each_simulation_has_a_stream_of_its_own_for_captures() -> None:
    for _ in range(2):
        with asyncguard.simulate_cuda():
            capture = torch.cuda.graph(torch.cuda.CUDAGraph())
            with pytest.warns(UserWarning, match="empty"), capture:
                pass
    assert torch.cuda.graphs.graph.default_capture_stream is None
