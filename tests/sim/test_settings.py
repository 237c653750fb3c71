"""What programs choose of CUDA's ways to compute, and groups of NCCL."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks import require

torch = require("torch")
nn, F = torch.nn, torch.nn.functional
pytestmark = pytest.mark.usefixtures("simulated")
FIRST = torch.device("cuda", 0)


def test_the_default_type_says_where_tensors_are_made() -> None:
    try:
        for kind in (torch.cuda.DoubleTensor, "torch.cuda.DoubleTensor"):
            torch.set_default_tensor_type(kind)
            made = torch.ones(2), torch.tensor([1.0]), nn.Linear(2, 2).weight
            assert {(each.device, each.dtype) for each in made} == {(FIRST, torch.float64)}
            assert "device" not in repr(made[0])
            assert torch.ones(2, device="cpu").device.type == "cpu"
        with pytest.raises(TypeError, match="only floating-point types"):
            torch.set_default_tensor_type(torch.cuda.LongTensor)
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(2).device.type == "cpu"
    assert torch.ones(2).dtype is torch.float32


def test_a_loss_that_is_unsafe_to_autocast_is_refused() -> None:
    host, target = torch.full((3,), 0.5), torch.ones(3)
    with torch.autocast("cuda"):
        with pytest.raises(RuntimeError, match="BCELoss are unsafe to autocast"):
            nn.BCELoss()(host.cuda(), target.cuda())
        F.binary_cross_entropy_with_logits(host.cuda(), target.cuda())
        F.binary_cross_entropy(host, target)
    nn.BCELoss()(host.cuda(), target.cuda())


def test_any_kernel_for_attention_may_be_chosen() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    x = torch.arange(64.0, device="cuda").view(1, 2, 4, 8).half()
    expected = F.scaled_dot_product_attention(*[x.cpu().float()] * 3)
    for kernel in (
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        with sdpa_kernel(kernel):
            made = F.scaled_dot_product_attention(x, x, x)
            assert not torch.backends.cuda.math_sdp_enabled()
        assert made.is_cuda
        assert torch.allclose(made.cpu().float(), expected, rtol=1e-2)


def test_scripts_are_loaded_to_the_device() -> None:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(nn.Linear(2, 2)), file)
    for place, device in (("cuda", FIRST), (torch.device("cuda:1"), torch.device("cuda:1"))):
        file.seek(0)
        loaded = torch.jit.load(file, map_location=place)
        assert loaded.weight.device == device
        assert loaded(torch.ones(1, 2, device=device)).device == device


def test_ranges_of_operators_and_plans_of_transforms() -> None:
    with torch.autograd.profiler.emit_nvtx():
        torch.ones(2, device="cuda").add_(1)
    plans = torch.backends.cuda.cufft_plan_cache
    assert (plans.size, plans[1].max_size) == (0, 4096)
    plans.max_size = 10
    plans.clear()
    assert plans[0].max_size == 10


def test_transforms_in_half_precision_are_of_powers_of_two() -> None:
    x = torch.arange(32.0, device="cuda").view(4, 8)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "rfft2", "fftn"):
        transform = getattr(torch.fft, name)
        kind = torch.complex32 if name in ("irfft", "hfft") else torch.float16
        size = {"n": 8} if name in ("irfft", "hfft") else {}
        made, wide = transform(x.to(kind), **size), transform(x, **size)
        assert made.is_cuda, name
        assert made.dtype is (torch.complex32 if wide.is_complex() else torch.float16), name
        assert torch.allclose(made.to(wide.dtype), wide, rtol=1e-2, atol=1e-1), name
        with pytest.raises(RuntimeError, match=r"powers of two .* signal size of\[6"):
            transform(torch.ones(6, 4 if size else 6, device="cuda").to(kind))
    with pytest.raises(RuntimeError, match="Unsupported dtype BFloat16"):
        torch.fft.fft(x.bfloat16())


def test_sums_without_nan_may_be_complex() -> None:
    x = torch.tensor([1 + 2j, complex("nan"), 3], dtype=torch.complex64, device="cuda")
    assert torch.nansum(x).item() == 4 + 2j
    assert torch.nansum(x.view(1, 3), 1, keepdim=True).tolist() == [[4 + 2j]]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A group of one process, of NCCL."""
    if not torch.distributed.is_available():
        pytest.skip("torch has no distributed")
    store = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("nccl", init_method=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_groups_of_nccl_take_tensors_of_the_device_alone(group: Any) -> None:
    dist = torch.distributed
    host, device = torch.ones(2), torch.ones(2, device="cuda")
    assert dist.get_backend() == "nccl"
    for each in (None, dist.new_group([0])):
        assert dist.get_backend(each) == "nccl"
        dist.all_reduce(device, group=each)
        dist.barrier(group=each)
        for call in (
            lambda: dist.all_reduce(host, group=each),  # noqa: B023  called at once
            lambda: dist.broadcast(host, 0, group=each),  # noqa: B023  called at once
            lambda: dist.all_gather([host], host, group=each),  # noqa: B023  called at once
        ):
            with pytest.raises(RuntimeError, match="No backend type associated with device type"):
                call()
    objects = [{"a": 1}]
    dist.broadcast_object_list(objects, 0)
    dist.all_gather_object(objects, {"b": 2})
    assert objects == [{"b": 2}]
    gloo = dist.new_group([0], backend="gloo")
    assert dist.get_backend(gloo) == "gloo"
    dist.all_reduce(host, group=gloo)


def test_waits_are_refused_or_warned_of_as_torch_does(simulated: Any) -> None:
    x = torch.ones(3, device="cuda")
    said = "called a synchronizing CUDA operation"
    assert torch.cuda.get_sync_debug_mode() == 0
    try:
        torch.cuda.set_sync_debug_mode("error")
        assert torch.cuda.get_sync_debug_mode() == 2
        for wait in (x.sum().item, x.nonzero, x.cpu, lambda: torch.ones(2).to("cuda")):
            with pytest.raises(RuntimeError, match=said):
                wait()
        torch.cuda.synchronize()  # is meant
        assert torch.ones(3).sum().item() == 3  # of the host
        assert (x + x).device == x.device
        torch.cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match=said):
            assert x.sum().item() == 3
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert x.sum().item() == 3
