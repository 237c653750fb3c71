"""Run cases of one package in this process: `worker.py JOB`, a JSON file that `truth.py` writes.

The job names the driver and what to tell it, the package's folders, which share of the cases is to
be run and what of it is done, and the file to which each case appends a line when it begins and one
when it is over.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> int:
    """Run the job."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    most = job["memory_gib"] << 30
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    os.environ.update(job.get("environment", {}))
    warnings.simplefilter("ignore")
    _sleep_little()
    if job["simulated"] and not job["triton"]:
        sys.modules["triton"] = None  # type: ignore[assignment]  # as if it were not installed
    with Path(job["output"]).open("a", encoding="utf-8") as output:

        def tell(row: dict[str, Any]) -> None:
            output.write(json.dumps(row, separators=(",", ":")) + "\n")
            output.flush()

        run(job, tell)
        tell({"done": True})
    return 0


def run(job: dict[str, Any], tell: Any) -> None:
    """Run the cases that are left, each told when it begins and when it ends."""
    import torch

    from asyncguard import simulate_cuda
    from benchmarks.truth import collector
    from benchmarks.truth.cases import examine

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(False)
    folders = [Path(folder) for folder in job["folders"]]
    simulated = job["simulated"]
    own = collector.Own(folders, job["without"])
    seen = collector.Collector(own, job["asked"], simulated=simulated)
    driver = importlib.import_module(f"benchmarks.truth.drivers.{job['driver']}")
    with simulate_cuda() if simulated else contextlib.nullcontext():  # what imports ask of CUDA
        cases = driver.cases(**job["options"])
    at, of = job["share"]
    share = sorted(cases)[at::of]
    tell({"cases": share})
    gc.collect()
    gc.freeze()  # what is imported stays: looking through it after each case takes most of a second
    for name in (name for name in share if name not in job["done"]):
        tell({"begin": name})
        began = time.monotonic()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            found = examine(
                functools.partial(_run, cases[name], tell),
                seen,
                job["seconds"],
                needs_cpu=job["needs_cpu"],
                simulated=simulated,
            )
        tell({"case": name, **found, "seconds": round(time.monotonic() - began, 1)})
        gc.collect()


def _sleep_little() -> None:
    """Let programs that sleep go on at once: before they try again to download, for one."""
    own = time.sleep
    time.sleep = lambda seconds: own(min(seconds, 0.01))


def _run(case: Callable[[str], Any], tell: Any, device: str) -> Any:
    """Run a case, and tell when it comes to the device: who dies before is unfit, not killed."""
    if device != "cpu":
        tell({"on_device": True})
    return case(device)


if __name__ == "__main__":
    raise SystemExit(main())
