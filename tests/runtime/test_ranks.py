"""Many ranks: each process writes its own trace, and the traces name who was late."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import asyncguard
from asyncguard import catalogue
from asyncguard.model import STAND_IN
from asyncguard.runtime import store
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.probes import Probe
from asyncguard.runtime.ranks import LAUNCHERS, Seat, own_path, seat
from tests import warm
from tests.frameworks import require

ALONE = {
    name: value for name, value in os.environ.items() if not any(name in row for row in LAUNCHERS)
}
# Rank 1 begins its work only when rank 0 stands at the collective, so it is late whatever the
# machine does meanwhile.
LATE = """
import os
import torch, torch.distributed as dist, asyncguard
dist.init_process_group(
    "gloo", init_method=f"file://{__file__}.store", rank=int(os.environ["RANK"]), world_size=2
)
rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
torch.set_num_threads(1)
weight = torch.full((300, 300), 1 / 300)

def arrive(name):
    if rank == 0:
        store.set(name, "here")
        return
    store.wait([name])
    for _ in range(30):
        weight @ weight

for step in range(3):
    arrive(f"reduce {step}")
    dist.all_reduce(torch.ones(4))
    arrive(f"wait {step}")
    work = dist.all_reduce(torch.ones(4), async_op=True)
    work.wait()
    arrive(f"barrier {step}")
    dist.barrier()
    asyncguard.step()
dist.destroy_process_group()
"""


def python() -> tuple[str, ...]:
    return warm.python("torch")


def launch(script: Path, ranks: int, output: Path, *arguments: str) -> list[str]:
    """Run a script under `asyncguard run` on several ranks as a launcher would; their stderrs."""
    command = [
        *python(),
        "-m",
        "asyncguard",
        "run",
        *arguments,
        "-o",
        str(output),
        str(script),
    ]
    processes = [
        subprocess.Popen(
            command,
            env={**ALONE, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        errors = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * ranks, errors
    return errors


@pytest.mark.parametrize("names", LAUNCHERS, ids=lambda names: names[0])
def test_each_launcher_is_recognised(names: tuple[str, str, str]) -> None:
    environment = dict(zip(names, ("5", "8", "1"), strict=True))
    assert seat(environment) == Seat(rank=5, world_size=8, local_rank=1)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"RANK": "0"},
        {"RANK": "0", "WORLD_SIZE": "1"},
        {"SLURM_NTASKS": "4"},
        {"RANK": "first", "WORLD_SIZE": "2"},
    ],
    ids=str,
)
def test_a_process_alone_has_no_rank(environment: dict[str, str]) -> None:
    assert seat(environment) is None


def test_the_innermost_launcher_decides() -> None:
    slurm = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
    assert seat({**slurm, "RANK": "9", "WORLD_SIZE": "16"}) == Seat(9, 16)
    # One process of torchrun's on a node of a larger allocation is alone all the same.
    assert seat({**slurm, "RANK": "0", "WORLD_SIZE": "1"}) is None


def test_a_rank_has_a_file_of_its_own() -> None:
    assert own_path(Path("out/trace.json"), Seat(12, 16)) == Path("out/trace.rank12.json")
    assert own_path(Path("trace"), Seat(0, 2)) == Path("trace.rank0")
    assert own_path(Path("trace.json"), None) == Path("trace.json")


def test_a_trace_knows_its_rank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with asyncguard.trace() as trace:
        pass
    trace.save(tmp_path / "trace.json")  # the user names the file: it is taken as it is
    extra = asyncguard.load_trace(tmp_path / "trace.json").record.extra
    assert (extra["rank"], extra["world_size"], extra["host"]) == (1, 2, socket.gethostname())


def test_ranks_of_one_run_write_one_file_each_and_the_first_reports(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('hello')\n", encoding="utf-8")
    first, second = launch(script, 2, tmp_path / "trace.json")
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "trace.rank0.json",
        "trace.rank1.json",
    ]
    assert "trace.rank0.json" in first
    assert second == ""


def test_a_collective_of_cpu_tensors_waits_also_where_reads_of_them_do_not_count() -> None:
    torch = require("torch")
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with asyncguard.trace(count_cpu=False) as trace:
            dist.all_reduce(torch.ones(1))
            dist.broadcast(torch.ones(1), src=0)
            dist.all_reduce(torch.ones(1), async_op=True)  # only its work is waited for
            torch.ones(1).item()
    finally:
        dist.destroy_process_group()
    assert [(site.api, site.device, site.count) for site in trace.sites] == [
        ("torch.distributed.all_reduce", "cpu", 1),
        ("torch.distributed.all_reduce", "cpu", 1),
    ]


# What the work of an accelerator's collective says where it is not timed, and what any other says.
UNTIMED, NO_SUPPORT = "getDuration only works if", "This Backend doesn't support getDuration."


@pytest.mark.parametrize(
    ("says", "settings", "waits"),
    [
        (UNTIMED, {}, False),
        ("", {}, False),  # it is timed, and tells
        (NO_SUPPORT, {}, True),  # of gloo, also where NCCL is the default
        (UNTIMED, {"cuda": False}, True),
        (UNTIMED, {"blocking": "1"}, True),
        (UNTIMED, {"blocking": "0"}, False),
        (UNTIMED, {"timeout": timedelta(minutes=1)}, True),
        (UNTIMED, {"timeout": timedelta(0)}, False),
        (UNTIMED, {"barrier": True}, True),
    ],
)
def test_work_holds_the_host_but_on_an_accelerator_where_it_holds_the_stream(
    says: str, settings: dict[str, Any], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = require("torch")
    dist = torch.distributed

    def duration(work: Any) -> float:
        if says:
            raise RuntimeError(says)
        return 1.0

    monkeypatch.setenv("TORCH_NCCL_BLOCKING_WAIT", settings.get("blocking", ""))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        monkeypatch.setattr(dist.Work, "_get_duration", duration)
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: settings.get("cuda", True))
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        with asyncguard.trace(frameworks=["torch"]) as trace:
            if "barrier" in settings:
                work = dist.barrier(async_op=True)
            else:
                work = dist.all_reduce(torch.ones(1), async_op=True)
            work.wait(*([settings["timeout"]] if "timeout" in settings else []))
    finally:
        monkeypatch.undo()
        dist.destroy_process_group()
    assert [site.device for site in trace.sites] == (["cpu"] if waits else [])


def test_real_gloo_work_says_that_it_cannot_tell_its_duration() -> None:
    torch = require("torch")
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        with pytest.raises(RuntimeError, match="support"):
            work._get_duration()
    finally:
        dist.destroy_process_group()


def test_a_collective_of_cuda_tensors_holds_the_stream_and_not_the_host() -> None:
    torch = require("torch")
    catalogued = catalogue.load()
    adapter = Adapter(catalogued.frameworks["torch"])
    adapter.device_of = Mock()  # type: ignore[method-assign]
    path = "torch.distributed.all_reduce"
    probe = Probe(catalogued[path], adapter, path, method=False)
    adapter.device_of.return_value = "cuda:0"
    assert probe.before((torch.ones(1),), {}) is None
    adapter.device_of.return_value = STAND_IN
    blocker = probe.before((torch.ones(1),), {})
    assert blocker is not None
    # Nobody may take it for a device's, nor for the use of an accelerator.
    assert (blocker.device, blocker.stand_in, blocker.on_accelerator) == ("cpu", False, False)


def test_the_rank_that_came_late_is_found_at_the_collectives(tmp_path: Path) -> None:
    require("torch")
    script = tmp_path / "late.py"
    script.write_text(LATE, encoding="utf-8")
    launch(script, 2, tmp_path / "trace.json", "--quiet")
    paths = [tmp_path / f"trace.rank{rank}.json" for rank in (0, 1)]
    for record in map(store.load, paths):
        stalls = {site.api: (site.count, site.cpu_stall_ns > 0) for site in record.sites}
        assert stalls == {
            "torch.distributed.all_reduce": (3, True),
            "torch.distributed.Work.wait": (3, True),
            "torch.distributed.barrier": (3, True),
        }
    report = subprocess.run(
        [
            *python(),
            "-m",
            "asyncguard",
            "report",
            "--format",
            "json",
            *map(str, paths),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    merged = json.loads(report.stdout)
    assert merged["straggler"] == 1
    for site in merged["sites"]:
        on_time, late = site["stalls_ns"]
        assert on_time > late, site["site"]["api"]
