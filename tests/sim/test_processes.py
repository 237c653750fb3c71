"""Processes that a program of the simulated device starts."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.model import AsyncguardError
from tests.frameworks import require

torch = require("torch")
AT_IMPORT = torch.cuda.is_available()
FORK = multiprocessing.get_context("fork")
BAD_FORK = "Cannot re-initialize CUDA in forked subprocess"


def tell(rank: int, folder: str) -> None:
    """Tell of the device of a process that was started anew."""
    with asyncguard.trace() as trace:
        torch.ones(2, device=f"cuda:{rank}").sum().item()
    simulated = trace.record.extra["simulated"]
    with asyncguard.simulate_cuda("a100"):
        own = torch.cuda.get_device_name()
    told = [AT_IMPORT, own, simulated["profile"], simulated["devices"], simulated["host"]]
    Path(folder, str(rank)).write_text(json.dumps(told))


def test_processes_that_are_started_anew_have_the_device_too(tmp_path: Path) -> None:
    with asyncguard.simulate_cuda("t4", devices=2, host="measured"):
        torch.multiprocessing.spawn(tell, (str(tmp_path),), nprocs=1)
        with pytest.raises(AsyncguardError, match=r"CUDA IPC.* is not supported"):
            torch.multiprocessing.spawn(tell, (torch.ones(1, device="cuda"),), nprocs=1)
    told = json.loads((tmp_path / "0").read_text())
    assert told == [True, "NVIDIA A100-SXM4-80GB (simulated)", "t4", 2, "measured"]


class Rows(torch.utils.data.Dataset):  # type: ignore[misc]
    """Four rows, made by the worker."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> Any:
        return torch.full((2,), float(at), device=self.device)


class Held(Rows):
    """Rows of the device that the parent has made."""

    def __init__(self) -> None:
        self.rows = torch.ones(4, 2, device="cuda")

    def __getitem__(self, at: int) -> Any:
        return self.rows


def load(rows: Any, **options: Any) -> list[Any]:
    loader = torch.utils.data.DataLoader(
        rows, num_workers=1, timeout=20, multiprocessing_context=FORK, **options
    )
    batches = iter(loader)
    try:
        return list(batches)
    finally:  # the collector would wait for workers whose queues have gone
        batches._shutdown_workers()


def test_a_forked_worker_is_of_the_host_only(simulated: Any) -> None:
    assert torch.ones(1, device="cuda").is_cuda
    loaded = load(Rows("cpu"), batch_size=2, pin_memory=True)
    assert [batch.cuda().sum().item() for batch in loaded] == [2, 10]
    assert all(batch.is_pinned() for batch in loaded)
    for rows, size in ((Rows("cuda"), 2), (Held(), None)):
        with pytest.raises(RuntimeError, match=BAD_FORK):
            load(rows, batch_size=size)


WAYS = (
    lambda: torch.ones(1).cuda(), lambda: torch.cuda.current_device(),
    lambda: torch.cuda.synchronize(), lambda: torch.cuda.Stream(),
    lambda: torch.cuda.set_device(0), lambda: torch.cuda.get_device_name(),
)  # fmt: skip


def outcome(way: Any) -> str:
    try:
        return f"it works: {way()}"
    except RuntimeError as error:
        return str(error)


def ask(queue: Any) -> None:
    """Tell of each way to a device what comes of it."""
    torch.manual_seed(0)  # as loaders do
    queue.put([outcome(way) for way in WAYS])
    queue.put(torch.cuda.is_initialized())


def test_each_way_to_the_device_is_closed_in_a_fork(simulated: Any) -> None:
    torch.ones(1, device="cuda")
    queue = FORK.Queue()
    child = FORK.Process(target=ask, args=(queue,))
    child.start()
    found, initialized = (queue.get(timeout=20) for _ in range(2))
    child.join()
    assert not [each for each in found if not each.startswith(BAD_FORK)]
    assert not initialized


def test_tensors_of_the_device_are_not_sent_to_other_processes(simulated: Any) -> None:
    """Who receives them is told: queues lose what is raised where they send."""
    queue = torch.multiprocessing.get_context("fork").Queue()
    queue.put(torch.ones(1, device="cuda"))
    with pytest.raises(AsyncguardError, match=r"CUDA IPC.* is not supported"):
        queue.get(timeout=20)
