"""Programs by others on the simulated device: `python benchmarks/sim_scripts.py [--keep]`.

1. Scripts that accelerate ships, unmodified. They use CUDA where it is available, and compare what
   they compute with what they expect. Each runs on the CPU and under `asyncguard run --sim cuda`;
   told are both exit statuses, how often the second one waited, and whether both printed the same
   (device names differ by nature).
2. The learners of stable-baselines3, where that is installed (with gymnasium): a short training on
   the CPU and one on the simulated device, whose parameters must be equal bit for bit.

With --keep the outcome goes to `results/sim_scripts.json`. Exit status 1: one fails or differs.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).parent / "results" / "sim_scripts.json"
LIMIT = 600  # seconds for one run
SCRIPTS = {
    "accelerate": (
        "test_utils/scripts/test_ops.py",
        "test_utils/scripts/test_sync.py",
        "test_utils/scripts/test_script.py",
    ),
}
LEARNERS: dict[str, tuple[str, int, dict[str, int]]] = {  # environment, steps, settings
    "PPO": ("CartPole-v1", 64, {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
    "A2C": ("CartPole-v1", 40, {}),
    "DQN": ("CartPole-v1", 48, {"learning_starts": 16, "batch_size": 8}),
    "SAC": ("Pendulum-v1", 16, {"learning_starts": 8, "batch_size": 8}),
    "TD3": ("Pendulum-v1", 16, {"learning_starts": 8, "batch_size": 8}),
}


class Ran(NamedTuple):
    """How one run ended."""

    status: int
    output: str
    error: str  # the last line of a failure


def run(script: Path, folder: Path, *around: str) -> Ran:
    """Run a script in a process and a folder of its own."""
    done = subprocess.run(
        [sys.executable, *around, str(script)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=folder,
    )
    lines = done.stderr.strip().splitlines()
    return Ran(done.returncode, done.stdout, lines[-1] if done.returncode and lines else "")


def compare(script: Path) -> dict[str, object]:
    """One script on the CPU and on the simulated device."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        on_host = run(script, folder)
        around = ("-m", "asyncguard", "run", "--quiet", "--sim", "cuda", "-o", "trace.json")
        on_device = run(script, folder, *around)
        trace = folder / "trace.json"
        sites = json.loads(trace.read_text())["sites"] if trace.exists() else []
    return {
        "cpu_exit_status": on_host.status,
        "exit_status": on_device.status,
        "error": on_device.error,
        "waits": sum(site["count"] for site in sites),
        "sites": len(sites),
        "devices": sorted({site["device"] for site in sites}),
        "same_output": on_host.output == on_device.output,
    }


def learn(name: str) -> dict[str, object]:
    """One learner on the CPU and on the simulated device."""
    import asyncguard

    on_host = parameters(name, "cpu")
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        on_device = parameters(name, "cuda")
    return {
        "equal_parameters": on_host == on_device,
        "waits": trace.total_syncs,
        "sites": len(trace.sites),
        "devices": sorted({site.device for site in trace.sites}),
    }


def parameters(name: str, device: str) -> list[Any]:
    """The parameters after a short training; raises RuntimeError where they lie elsewhere."""
    learners = importlib.import_module("stable_baselines3")
    environment, steps, settings = LEARNERS[name]
    model = getattr(learners, name)("MlpPolicy", environment, seed=0, device=device, **settings)
    model.learn(steps)
    found = list(model.policy.parameters())
    if any(each.device.type != device for each in found):
        raise RuntimeError(f"{name} was to train on {device}")
    return [each.tolist() for each in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the outcome in results/")
    arguments = parser.parse_args()
    found: dict[str, object] = {}
    failed = False
    for package, scripts in SCRIPTS.items():
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            print(f"{package}: not installed here")
            continue
        for script in scripts:
            name = f"{package} {importlib.metadata.version(package)}: {script}"
            outcome = compare(Path(spec.origin).parent / script)
            failed |= bool(outcome["exit_status"]) and not outcome["cpu_exit_status"]
            found[name] = outcome
            print(name, outcome, flush=True)
    if importlib.util.find_spec("stable_baselines3"):
        version = importlib.metadata.version("stable_baselines3")
        for name in LEARNERS:
            outcome = learn(name)
            failed |= not outcome["equal_parameters"]
            found[f"stable_baselines3 {version}: {name}"] = outcome
            print(name, outcome, flush=True)
    if arguments.keep:
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        PLACE.write_text(json.dumps({"date": today, "scripts": found}, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
