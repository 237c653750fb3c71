"""Processes that a program of the simulated device starts."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest

from asyncguard.model import AsyncguardError
from tests.frameworks import require

torch = require("torch")
pytestmark = pytest.mark.usefixtures("simulated")
FORK = multiprocessing.get_context("fork")
BAD_FORK = "Cannot re-initialize CUDA in forked subprocess"


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
    return list(
        torch.utils.data.DataLoader(
            rows, num_workers=1, timeout=20, multiprocessing_context=FORK, **options
        )
    )


def test_a_forked_worker_is_of_the_host_only() -> None:
    assert torch.ones(1, device="cuda").is_cuda
    loaded = load(Rows("cpu"), batch_size=2, pin_memory=True)
    assert [batch.cuda().sum().item() for batch in loaded] == [2, 10]
    assert all(batch.is_pinned() for batch in loaded)
    for rows, size in ((Rows("cuda"), 2), (Held(), None)):
        with pytest.raises(RuntimeError, match=BAD_FORK):
            load(rows, batch_size=size)


def asked(queue: Any) -> None:
    """Tell of each way to a device what comes of it."""
    torch.manual_seed(0)  # as loaders do
    for way in (
        lambda: torch.ones(1).cuda(), torch.cuda.current_device, torch.cuda.synchronize,
        torch.cuda.Stream, lambda: torch.cuda.set_device(0), torch.cuda.get_device_name,
    ):  # fmt: skip
        try:
            way()
        except RuntimeError as error:
            queue.put(str(error))
        else:
            queue.put("it works")
    queue.put(torch.cuda.is_initialized())


def test_each_way_to_the_device_is_closed_in_a_fork() -> None:
    torch.ones(1, device="cuda")
    queue = FORK.Queue()
    child = FORK.Process(target=asked, args=(queue,))
    child.start()
    found = [queue.get(timeout=20) for _ in range(7)]
    child.join()
    assert all(each.startswith(BAD_FORK) for each in found[:-1])
    assert found[-1] is False


def test_tensors_of_the_device_are_not_sent_to_other_processes() -> None:
    """Who receives them is told: queues lose what is raised where they send."""
    queue = torch.multiprocessing.get_context("fork").Queue()
    queue.put(torch.ones(1, device="cuda"))
    with pytest.raises(AsyncguardError, match="CUDA IPC.* is not supported"):
        queue.get(timeout=20)
