"""Programs that were written for CUDA run unmodified, with the losses that they have on the CPU."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest

import asyncguard
from tests import warm
from tests.sim.programs import PROGRAMS

# How often each waits, counted by reading: what is moved to the device, read, masked and validated.
# Those that leave their loop to a library wait where that library does; see the table of
# benchmarks/sim_programs.py.
WAITS = {
    "image_classifier": 25,  # 9 tensors of the model; loss and hits of each of 8 batches
    "variational_autoencoder": 14,  # 4 parameters; input and loss of 5 steps
    "adversarial_network": 20,  # 8 parameters; input and two losses of 4 steps
    "policy_gradient": 130,  # 4; 3 x (10 x state, action, two validations; returns; loss)
    "q_learning": 34,  # 4 parameters; 6 x (two inputs, mask read, mask write, loss)
    "detector": 22,  # 4 parameters; 3 x (two inputs, mask, its backward, nonzero, loss)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_on_the_cpu(name: str) -> None:
    on_host = PROGRAMS[name]("cpu")
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        on_device = PROGRAMS[name]("cuda")
    assert on_device == on_host
    assert len(on_host) > 0
    assert trace.total_syncs == WAITS.get(name, trace.total_syncs)
    assert {site.device for site in trace.sites} == {"cuda:0 (simulated)"}


@pytest.mark.parametrize("name", ["test_ops", "test_sync"])
def test_a_script_of_accelerate_runs_as_it_is(name: str, tmp_path: Path) -> None:
    """It asks for CUDA, and checks by itself what it computes there."""
    spec = importlib.util.find_spec("accelerate")
    if spec is None or spec.origin is None:
        pytest.skip("accelerate is not installed")
    script = Path(spec.origin).parent / "test_utils" / "scripts" / f"{name}.py"
    options = ["--sim", "cuda", "--quiet", "-o", "trace.json", str(script)]
    command = [*warm.python("torch"), "-m", "asyncguard", "run", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sites = json.loads((tmp_path / "trace.json").read_text())["sites"]
    assert {site["device"] for site in sites} == {"cuda:0 (simulated)"}
