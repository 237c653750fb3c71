"""Programs on a real GPU whose idle time is known beforehand, each run in a process of its own.

A process has one CUPTI: torch's profiler takes it at its first profile and, before kineto#1250, for
good. So none of these can tell anything after another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from asyncguard.runtime.session import Session

STEPS, THINK = 20, 0.002
LIMIT = 300  # seconds for one program
ROOT = Path(__file__).parents[2]


def alone(program: str, *arguments: str, module: str = __name__) -> None:
    """Run a function of a module in a fresh process; AssertionError with what it printed."""
    code = f"from {module} import *; {program}(*{arguments!r})"
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def spin(seconds: float) -> None:
    """Keep the host busy without giving the processor away."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def values() -> Any:
    """Values on the device, and the kernels loaded that the programs use."""
    import torch

    x = torch.arange(64.0, device="cuda")
    (x + 1).sum().item()
    torch.cuda.synchronize()
    return x


def reads(x: Any) -> None:
    """Read once a step, and think."""
    import torch

    for _ in range(STEPS):
        (x + 1).sum().item()
        spin(THINK)
    (x + 1).sum()
    torch.cuda.synchronize()


def idle_time_after_reads_is_what_the_host_took(source: str) -> None:
    x = values()
    with Session(frameworks=["torch"], device_times=source) as session:
        reads(x)
    record = session.record()
    assert record.extra["device_times"]["source"] == source
    assert record.extra["device_times"]["activities_of_unknown_origin"] == 0
    stall = next(site.gpu_stall_ns for site in record.sites if site.api == "torch.Tensor.item")
    assert stall is not None
    assert STEPS * THINK * 1e9 <= stall <= record.duration_ns


def a_slow_host_that_does_not_wait_is_charged_to_nobody(source: str) -> None:
    import torch

    x = values()
    with Session(frameworks=["torch"], device_times=source) as session:
        for _ in range(STEPS):
            x.add(1)
            spin(THINK)
        torch.cuda.synchronize()
    stall = session.record().gpu_stall_ns
    assert stall is not None
    assert stall < THINK * 1e9


def a_second_session_measures_and_a_users_own_profile_sees_kernels(source: str) -> None:
    import torch

    x = values()
    for _ in range(2):
        with Session(frameworks=["torch"], device_times=source) as session:
            reads(x)
        assert session.record().gpu_stall_ns
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        reads(x)
    events = profile.profiler.kineto_results.events()
    assert any(event.device_type() == torch.autograd.DeviceType.CUDA for event in events)


def nothing_is_made_up_while_the_user_profiles(source: str) -> None:
    import torch

    x = values()
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]),
        Session(frameworks=["torch"], device_times=source) as session,
    ):
        reads(x)
    record = session.record()
    assert record.gpu_stall_ns is None
    assert "GPU stalls were not measured" in record.notes[-1]


def cupy_and_torch_add_up(source: str) -> None:
    import cupy

    x, y = values(), cupy.arange(64.0)
    float((y + 1).sum())
    with Session(frameworks=["torch", "cupy"], device_times=source) as session:
        for _ in range(STEPS):
            (x + 1).sum().item()
            spin(THINK)
            float((y + 1).sum())
            spin(THINK)
        (x + 1).sum().item()
    record = session.record()
    stalls = {site.framework: site.gpu_stall_ns for site in record.sites if site.count >= STEPS}
    assert set(stalls) == {"torch", "cupy"}
    assert all(stall is not None and stall >= STEPS * THINK * 1e9 for stall in stalls.values())
    total = record.gpu_stall_ns
    assert total is not None
    assert total <= record.duration_ns


def kernels_that_a_compiler_launches_have_a_known_origin(source: str) -> None:
    """Triton launches through the driver's API, where the runtime's calls do not show it."""
    import torch

    x = values()
    doubled = torch.compile(lambda y: y * 2 + 1)
    doubled(x).sum().item()
    torch.cuda.synchronize()
    with Session(frameworks=["torch"], device_times=source) as session:
        for _ in range(STEPS):
            doubled(x)[0].item()
            spin(THINK)
        doubled(x)
        torch.cuda.synchronize()
    record = session.record()
    assert record.extra["device_times"]["activities_of_unknown_origin"] == 0
    assert record.gpu_stall_ns is not None
    assert record.gpu_stall_ns >= STEPS * THINK * 1e9


PROGRAMS = (
    "kernels_that_a_compiler_launches_have_a_known_origin",
    "idle_time_after_reads_is_what_the_host_took",
    "a_slow_host_that_does_not_wait_is_charged_to_nobody",
    "a_second_session_measures_and_a_users_own_profile_sees_kernels",
)
