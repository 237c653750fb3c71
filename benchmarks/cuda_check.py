"""Is what the catalogue and device times say about CUDA true on this GPU? Takes a few minutes.

    python benchmarks/cuda_check.py | tee benchmarks/results/cuda_check.txt

What asyncguard says about CUDA was read in sources and tried on simulated devices. This asks a real
one: how often torch's own GPU trace calls back for each row of
`tests/runtime/cuda_rows.py`, whether the call held the host (behind a kernel that only passes
time), and what asyncguard counted; how far the clocks of CUPTI and host are apart at a wait, what a
second session and one after a profile get, whether threads deadlock, how often whole programs wait
beside their simulation and torch's trace, and what measuring costs for good.

Commit the output with its date and device, and correct the rows on which it disagrees. cupti-python
is optional: without it, what needs it says so. Each part runs in a process of its own. Exits 1
where a row disagrees or a part fails, 0 also where there is no GPU.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import platform
import subprocess
import sys
import threading
import time
from bisect import bisect
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from asyncguard.idle import Wait  # noqa: E402
from asyncguard.runtime import device  # noqa: E402
from asyncguard.runtime.device import cupti  # noqa: E402
from asyncguard.runtime.session import Session  # noqa: E402
from asyncguard.timeline.bubbles import Activity, Sweep  # noqa: E402
from tests.runtime.cuda_rows import ROWS, Row, values  # noqa: E402
from tests.runtime.helpers import counts  # noqa: E402
from tests.sim.programs import PROGRAMS  # noqa: E402

CYCLES = 40_000_000  # of the kernel that passes time: tens of milliseconds
READS, THINK = 200, 0.001
THREADS, ROUNDS = 8, 2_000
SMALL = 64 << 10  # bytes of a CUPTI buffer: many requests, to provoke a deadlock
LIMITS = {"rows": 240, "margins": 120, "deadlock": 120, "programs": 180, "lasting": 180}  # seconds
SIMULATED = ROOT / "benchmarks" / "results" / "sim_programs.json"
# Programs that wait otherwise than their simulation says, and why.
KNOWN = {
    "checkpoint_and_resume": "on a device, Adam reads the steps of a loaded state twice",
    "recurrent_language_model": "cuDNN makes the state of the dropout, once a model",
    "detector": "the backward of a mask read, which the cross-check alone sees on a device",
}


def main() -> int:
    """Run all parts, or the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=sorted(PARTS), help="only this one, in this process")
    part = parser.parse_args().part
    try:
        import torch
    except ImportError as error:
        return _skip(f"torch is not installed: {error}")
    if not torch.cuda.is_available():
        return _skip("torch sees no CUDA device")
    if part is not None:
        return PARTS[part](torch)
    print(_about(torch), flush=True)
    return max([_apart(name) for name in LIMITS])


def _skip(reason: str) -> int:
    print(f"skipped: {reason}")
    return 0


def _about(torch: Any) -> str:
    try:
        bindings = version("cupti-python")
    except ImportError:
        bindings = "not installed"
    today = datetime.date.today().isoformat()
    return (
        f"{today}, {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, "
        f"torch {torch.__version__}, cupti-python {bindings}, Python {platform.python_version()}"
    )


def _apart(part: str) -> int:
    """Run one part in a process of its own; 1 where it fails or does not end."""
    print(f"\n== {part}", flush=True)
    command = [sys.executable, __file__, "--part", part]
    if part == "lasting":
        command = [sys.executable, str(ROOT / "benchmarks" / "cuda_stalls.py"), "--quick"]
    try:
        done = subprocess.run(command, cwd=ROOT, timeout=LIMITS[part], check=False)
    except subprocess.TimeoutExpired:
        print(f"DISAGREES: not done after {LIMITS[part]} s", flush=True)
        return 1
    return int(done.returncode != 0)


# ---- rows


def rows(torch: Any) -> int:
    """Ask the device for each row; 1 where one disagrees."""
    fired: list[str] = []
    _listen(torch, fired)
    sleep = _sleep_time(torch)
    print(f"the kernel that passes time takes {sleep * 1e3:.1f} ms")
    print(f"{'fires':>5} {'held':>4} {'expected':>8}  counted / call")
    wrong = sum(not _agrees(torch, row, fired, sleep) for row in ROWS)
    print(f"{len(ROWS)} rows, {wrong} disagree")
    return int(wrong > 0)


def _listen(torch: Any, fired: list[str]) -> None:
    from torch.cuda import _gpu_trace

    torch._C._activate_gpu_trace()
    for kind in ("Stream", "Event", "Device"):
        registry = getattr(_gpu_trace, f"{kind}SynchronizationCallbacks")
        registry.add_callback(lambda *_, kind=kind: fired.append(kind))


def _sleep_time(torch: Any) -> float:
    """How long the kernel takes, in seconds."""
    for _ in range(2):  # the first one warms up
        torch.cuda.synchronize()
        began = time.perf_counter()
        torch.cuda._sleep(CYCLES)
        torch.cuda.synchronize()
    return time.perf_counter() - began


def _agrees(torch: Any, row: Row, fired: list[str], sleep: float) -> bool:
    """Print one row, and whether callbacks, host and asyncguard's count are as expected."""
    try:
        names = values(torch, lambda tensor: tensor.cuda(), lambda tensor: tensor.pin_memory())
        eval(row.call, names)  # loads what is loaded lazily
        torch.cuda.synchronize()
        fired.clear()
        eval(row.call, names)
        fires = len(fired)
        held = _held(torch, row, names) > sleep / 2
        with Session(frameworks=["torch"], depth=row.depth) as session:
            eval(row.call, names)
        counted = counts(session.record())
    except Exception as error:  # noqa: BLE001  a row that cannot run is told, and the others run
        print(f"DISAGREES: {row.call}: {type(error).__name__}: {error}")
        return False
    right = _is_right(row, fires, held, counted)
    expected = f"{row.fires}{'+' if row.least else ''}"
    print(
        f"{fires:5} {'yes' if held else 'no':>4} {expected:>8}  {counted or '-'} / {row.call}"
        f"{'' if right else '   DISAGREES'}",
        flush=True,
    )
    return right


def _held(torch: Any, row: Row, names: dict[str, Any]) -> float:
    """How long the call took behind the kernel that passes time, in seconds."""
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES)
    began = time.perf_counter()
    eval(row.call, names)
    took = time.perf_counter() - began
    torch.cuda.synchronize()
    return took


def _is_right(row: Row, fires: int, held: bool, counted: dict[str, int]) -> bool:
    return row.is_told(fires) and counted == row.counts and held == row.holds


# ---- margins


def margins(torch: Any) -> int:
    """Sessions one after another: who measures, and how long a wait outlasts its last activity."""
    held: list[tuple[list[Wait], list[Activity]]] = []

    class Kept(Sweep):
        """Keeps what it is told."""

        def add(self, waits: Iterable[Wait], activities: Iterable[Activity]) -> None:
            told = list(waits), list(activities)
            held.append(told)
            super().add(*told)

    device.Sweep = Kept  # type: ignore[misc]
    x = torch.arange(64.0, device="cuda")
    for source in ("cupti", "cupti", "profiler", "cupti"):
        held.clear()
        with Session(frameworks=["torch"], device_times=source) as session:
            for _ in range(READS):
                (x + 1).sum().item()
                time.sleep(THINK)
        record = session.record()
        print(f"{source:9} GPU stall {record.gpu_stall_ns} ns, {record.extra} {record.notes}")
        _show_margins(held)
    print(
        f"the host thought for {READS * THINK * 1e9:.0f} ns; the last session may be refused CUPTI"
    )
    return 0


def _show_margins(held: list[tuple[list[Wait], list[Activity]]]) -> None:
    ends = sorted(run.end for _, runs in held for run in runs)
    if not ends:
        return
    found = []
    for waits, _ in held:
        for wait in waits:
            at = bisect(ends, wait.end + 100_000)
            if at:
                found.append(wait.end - ends[at - 1])
    found.sort()
    print(f"  end of the wait after that of the device, ns: {found[:: max(1, len(found) // 10)]}")
    print(
        f"  behind the wait, by CUPTI's clock: {sum(margin < 0 for margin in found)}; allowed:"
        f" {device.SKEW} ns"
    )


# ---- deadlock


def deadlock(torch: Any) -> int:
    """Threads that enter CUDA while small buffers are asked for and delivered all the time."""
    cupti.BUFFER = SMALL
    x = torch.ones(1024, device="cuda")

    def work() -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(ROUNDS):
                event = torch.cuda.Event()
                (x + 1).record_stream(stream)
                event.record()
                event.query()

    with Session(frameworks=["torch"], device_times="cupti") as session:
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"no deadlock: {session.record().extra} {session.record().notes}")
    return 0


# ---- programs


def programs(torch: Any) -> int:
    """Run the programs of the simulation for real; 1 where one waits unlike its simulation."""
    simulated = json.loads(SIMULATED.read_text())
    print("waits of each program: counted here, on the simulated device, told by torch's trace")
    wrong = sum(not _waits_as_simulated(torch, name, simulated) for name in PROGRAMS)
    print(f"{len(PROGRAMS)} programs, {wrong} disagree")
    return int(wrong > 0)


def _waits_as_simulated(torch: Any, name: str, told_there: dict[str, Any]) -> bool:
    simulated: dict[str, int] = told_there["programs"].get(name, {})
    library = name.rpartition("_of_")[2].replace("fabric", "lightning")
    there = told_there["versions"].get(library)
    if there is not None and importlib.util.find_spec(library) is None:
        print(f"{name}: skipped, {library} is not installed")
        return True
    try:
        PROGRAMS[name]("cuda")  # loads the kernels
        torch.cuda.synchronize()
        with Session(frameworks=["torch"], cross_check=True) as session:
            PROGRAMS[name]("cuda")
    except Exception as error:  # noqa: BLE001  a program that cannot run is told, the others run
        print(f"DISAGREES: {name}: {type(error).__name__}: {error}")
        return False
    record = session.record()
    counted = counts(record)
    told = record.extra["cross_check"]
    unlike = {api for api, _ in counted.items() ^ simulated.items()}
    excuse = KNOWN.get(name, "")
    if there is not None and there != version(library):
        excuse = f"{library} {version(library)} here, {there} simulated"
    verdict = (f"   but {excuse}" if excuse else "   DISAGREES") if unlike else ""
    print(
        f"{sum(counted.values()) - told['unattributed']:5} {sum(simulated.values()):5}"
        f" {told['attributed'] + told['unattributed']:5}  {name}{verdict}",
        flush=True,
    )
    for api in sorted(unlike):
        print(f"        {api}: {counted.get(api, 0)}, simulated {simulated.get(api, 0)}")
        for site in (site for site in record.sites if site.api == api):
            print(f"            {site.count} at {site.path}:{site.line} {site.stack[:3]}")
    return not unlike or bool(excuse)


PARTS: dict[str, Callable[[Any], int]] = {
    "rows": rows,
    "margins": margins,
    "deadlock": deadlock,
    "programs": programs,
}

if __name__ == "__main__":
    sys.exit(main())
