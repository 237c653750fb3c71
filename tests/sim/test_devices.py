"""Devices as CUDA has them: by number, with so much memory, and longer than a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import asyncguard
from asyncguard.model import AsyncguardError
from tests.frameworks import require

torch = require("torch")
nn = torch.nn
FIRST = torch.device("cuda", 0)


@pytest.fixture
def simulated() -> Iterator[None]:
    """A simulation of one test: others here enter their own."""
    with asyncguard.simulate_cuda(devices=2):
        yield


def test_a_number_is_a_device(simulated: Any) -> None:
    assert torch.device(0) == FIRST
    assert isinstance(FIRST, torch.device)
    assert {torch.device: 1}[type(FIRST)] == 1
    layer = nn.Linear(2, 2).to(0)
    assert layer.weight.device == FIRST
    assert nn.Linear(2, 2).to(device=1).weight.device == torch.device("cuda", 1)
    with torch.device(1):
        assert torch.zeros(1).device.index == 1

    def annotated(x: torch.Tensor, to: torch.device) -> torch.Tensor:
        return x.to(to)

    assert torch.jit.script(annotated)(torch.ones(1), torch.device("cpu")).item() == 1


def test_a_script_may_name_devices_in_annotations_older_than_the_simulation() -> None:
    def annotated(x: torch.Tensor, to: torch.device) -> torch.Tensor:
        return x.to(to)

    with asyncguard.simulate_cuda():
        assert torch.jit.script(annotated)(torch.ones(1), torch.device("cpu")).item() == 1


def test_more_than_the_memory_of_the_device_is_cudas_error() -> None:
    with asyncguard.simulate_cuda("t4"):
        out = torch.cuda.OutOfMemoryError
        one = torch.ones(1, device="cuda")
        held = torch.cuda.memory_allocated()
        for take in (
            lambda: torch.empty(1 << 40, device="cuda"),  # more than this host has
            lambda: one.expand(1 << 40).contiguous(),
            lambda: torch.empty(5 << 30, device="cuda"),  # 20 of 16 GiB
        ):
            with pytest.raises(out, match=r"CUDA out of memory. Tried to allocate .* GiB\. GPU 0"):
                take()
        assert torch.cuda.memory_allocated() == held
        assert torch.cuda.memory_stats()["num_ooms"] == 3
        torch.cuda.set_per_process_memory_fraction(1e-7)
        with pytest.raises(out, match=r"Tried to allocate 4\.00 KiB"):
            torch.ones(1024, device="cuda")


def test_tensors_of_one_simulation_are_those_of_the_next() -> None:
    with asyncguard.simulate_cuda(devices=2):
        layer = nn.Linear(2, 2).to("cuda")
        far = torch.ones(2, device="cuda:1")
        generator = torch.Generator("cuda")
    with asyncguard.simulate_cuda("t4"):
        assert torch.cuda.memory_allocated() >= 2 * 512
        layer(torch.ones(1, 2, device="cuda")).sum().backward()
        assert layer.weight.grad.device == FIRST
        torch.rand(2, generator=generator, device="cuda")
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            far + 1


def test_a_device_that_is_there_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(AsyncguardError, match="here is one: hide it"), asyncguard.simulate_cuda():
        pytest.fail("entered")


def test_a_build_for_cuda_is_simulated_where_no_device_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What such a build has of CUDA and the simulation has not is refused, by name."""
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 0, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_memorySnapshot", lambda pool: 1 / 0, raising=False)
    with asyncguard.simulate_cuda():
        assert torch.ones(2).cuda().is_cuda
        with pytest.raises(AsyncguardError, match="_cuda_memorySnapshot is not supported"):
            torch.cuda.memory_snapshot()


def test_what_torchs_compiler_imports_of_cuda_is_there(simulated: Any) -> None:
    import torch._inductor.cudagraph_trees
    import torch.distributed.optim

    torch._dynamo.reset()
    torch.compiler.reset()
    torch.compiler.cudagraph_mark_step_begin()


def test_a_copy_to_the_host_that_does_not_block_is_pinned(simulated: Any) -> None:
    x = torch.ones(2, device="cuda")
    assert x.to("cpu", non_blocking=True).is_pinned()
    assert not x.to("cpu").is_pinned()


def test_an_array_interface_is_not_there(simulated: Any) -> None:
    assert not hasattr(torch.ones(2, device="cuda"), "__cuda_array_interface__")


def test_streams_and_events_of_any_device_are_cudas(simulated: Any) -> None:
    assert issubclass(torch.cuda.Stream, torch.Stream)
    assert torch.Stream("cuda:1").device == torch.device("cuda", 1)
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert torch.cuda.Stream(priority=-9).priority == -3
    start, end = torch.Event("cuda", enable_timing=True), torch.Event(enable_timing=True)
    side = torch.Stream()
    start.record()
    with side:
        assert torch.cuda.current_stream() == side
        torch.cuda._sleep(1_700_000)
        end.record()
    assert not end.query()
    end.synchronize()
    assert 1.0 <= start.elapsed_time(end) < 1.1
    assert isinstance(end, torch.Event)
    assert isinstance(side, torch.Stream)


def test_data_parallel_splits_a_batch_of_the_host() -> None:
    def gradient(device: str, batch: Any) -> Any:
        torch.manual_seed(0)
        model = nn.DataParallel(nn.Linear(2, 2).to(device), None if device == "cuda" else [])
        model(batch).square().sum().backward()
        return model.module.weight.grad.cpu()

    batch = torch.arange(8.0).view(4, 2)
    expected = gradient("cpu", batch)
    for _ in range(2):  # the streams that torch keeps are those of the simulation
        with asyncguard.simulate_cuda(devices=2):
            assert torch.allclose(gradient("cuda", batch), expected)
            assert torch.allclose(gradient("cuda", batch.cuda()), expected)


def test_tensors_of_the_device_are_not_exported(simulated: Any) -> None:
    x = torch.ones(2, device="cuda")
    for export in (torch.to_dlpack, torch.from_dlpack, torch.utils.dlpack.to_dlpack):
        with pytest.raises(AsyncguardError, match=r"(?i)dlpack.* is not supported"):
            export(x)
    assert torch.from_dlpack(torch.to_dlpack(x.cpu())).tolist() == [1, 1]
