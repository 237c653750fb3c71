"""Tensors on the simulated device: where they say they are, how they move, what they may meet."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asyncguard
from asyncguard.model import AsyncguardError
from tests.frameworks import default_device, require
from tests.sim.rows import wrong

torch = require("torch")
nn, F = torch.nn, torch.nn.functional

pytestmark = pytest.mark.usefixtures("simulated")
CUDA = torch.device("cuda:0")
Make = Callable[[], Any]


def is_on(value: Any) -> bool:
    return value.device == CUDA and value.is_cuda and not value.is_cpu and value.get_device() == 0


def is_off(value: Any) -> bool:
    return value.device == torch.device("cpu") and value.is_cpu and not value.is_cuda


def ones(*size: int) -> Any:
    return torch.ones(*size, device="cuda")


MADE: dict[str, Make] = {
    "zeros": lambda: torch.zeros(2, device="cuda"),
    "tensor": lambda: torch.tensor([1.0, 2.0], device="cuda"),
    "as_tensor": lambda: torch.as_tensor(np.ones(2), device="cuda"),
    "asarray": lambda: torch.asarray([1.0], device="cuda"),
    "randn": lambda: torch.randn(2, device="cuda:0"),
    "arange": lambda: torch.arange(3, device=torch.device("cuda", 0)),
    "randperm": lambda: torch.randperm(3, device=0),
    "eye": lambda: torch.eye(2, device="cuda"),
    "cuda": lambda: torch.ones(2).cuda(),
    "cuda(0)": lambda: torch.ones(2).cuda(0),
    "to(0)": lambda: torch.ones(2).to(0),
    "to dtype": lambda: torch.ones(2).to("cuda", torch.float16),
    "to other": lambda: torch.ones(2).to(ones(1)),
    "to copy": lambda: torch.ones(2).to(device="cuda", copy=True, non_blocking=True),
    "zeros_like": lambda: torch.zeros_like(torch.ones(2), device="cuda"),
    "like": lambda: torch.rand_like(ones(2)),
    "new_zeros": lambda: ones(2).new_zeros(2),
    "new_tensor": lambda: ones(2).new_tensor([1.0]),
    "new": lambda: ones(2).new(3),
    "type": lambda: torch.ones(2).type(torch.cuda.FloatTensor),
    "legacy of data": lambda: torch.cuda.FloatTensor([1.0]),
    "legacy of sizes": lambda: torch.cuda.FloatTensor(2, 2),
    "normal": lambda: torch.normal(0.0, 1.0, (2,), device="cuda"),
    "window": lambda: torch.hann_window(4, device="cuda"),
    "parameter": lambda: nn.Parameter(ones(2)),
    "layer": lambda: nn.Linear(2, 2, device="cuda").weight,
    "layer moved": lambda: nn.Linear(2, 2).cuda().weight,
    "layer from meta": lambda: nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight,
    "buffer": lambda: nn.BatchNorm1d(2).to("cuda").running_mean,
    "tensor of a tensor": lambda: torch.tensor(ones(2)),
    "from numpy": lambda: torch.from_numpy(np.ones(2)).to("cuda"),
    "view": lambda: ones(2, 2).t()[0],
    "sum": lambda: ones(2, 2).sum(),
    "with a number": lambda: ones(2) + 1,
    "with a host scalar": lambda: ones(2) * torch.tensor(2.0),
    "mask": lambda: ones(2)[ones(2) > 0],
    "host index": lambda: ones(3)[torch.tensor([0])],
    "composite": lambda: torch.cdist(ones(2, 2), ones(2, 2)),
    "svd": lambda: torch.linalg.svd(ones(2, 2))[1],
    "sparse": lambda: ones(2).to_sparse(),
    "sparse values": lambda: ones(2).to_sparse().coalesce().values(),
    "csr": lambda: torch.eye(3, device="cuda").to_sparse_csr(),
    "sparse of the host's data": lambda: torch.sparse_coo_tensor(
        [[0, 1]], [1.0, 2.0], (3,), device="cuda"
    ),
    "sparse of its old type": lambda: torch.cuda.sparse.FloatTensor(ones(1, 2).long(), ones(2)),
    "sparse and empty": lambda: torch.cuda.sparse.HalfTensor(2, 3),
    "dense again": lambda: ones(2).to_sparse().to_dense(),
    "vmap": lambda: torch.func.vmap(lambda a: a * 2)(ones(3, 2)),
    "grad": lambda: torch.func.grad(lambda a: (a**2).sum())(ones(3)),
    "jvp": lambda: torch.func.jvp(lambda a: a**2, (ones(2),), (ones(2),))[1],
    "deepcopy": lambda: copy.deepcopy(ones(2)),
    "pickle": lambda: pickle.loads(pickle.dumps(ones(2))),
    "collate": lambda: torch.utils.data.default_collate([ones(2), ones(2)]),
    "distribution": lambda: torch.distributions.Normal(ones(2), ones(2)).sample(),
    "channels last": lambda: torch.ones(2, 2, 2, 2).to("cuda", memory_format=torch.channels_last),
    "lstm": lambda: nn.LSTM(2, 3).cuda()(ones(4, 1, 2))[0],
    "attention": lambda: nn.MultiheadAttention(4, 2).cuda()(*[ones(3, 1, 4)] * 3)[0],
    "ctc_loss": lambda: F.ctc_loss(
        ones(5, 2, 4).log_softmax(-1), ones(2, 3).long(), torch.tensor([5, 5]), torch.tensor([3, 3])
    ),
    "data parallel": lambda: nn.DataParallel(nn.Linear(2, 2).cuda(), [0])(ones(2, 2)),
    "scripted": lambda: torch.jit.script(nn.Linear(2, 2)).cuda()(ones(1, 2)),
    "traced": lambda: torch.jit.trace(nn.Linear(2, 2).cuda(), ones(1, 2))(ones(1, 2)),
}
HOME: dict[str, Make] = {
    "cpu": lambda: ones(2).cpu(),
    "to": lambda: ones(2).to("cpu"),
    "zeros_like": lambda: torch.zeros_like(ones(2), device="cpu"),
    "new_zeros": lambda: ones(2).new_zeros(2, device="cpu"),
    "type": lambda: ones(2).type(torch.FloatTensor),
    "plain": lambda: torch.tensor([1.0]),
    "zeros": lambda: torch.zeros(2),
    "host arithmetic": lambda: torch.ones(2) + torch.rand(2),
    "model sent home": lambda: nn.Linear(2, 2).cuda().cpu().weight,
    "batch sizes": lambda: (
        nn.utils.rnn.pack_padded_sequence(ones(3, 2, 4), torch.tensor([3, 2])).batch_sizes
    ),
}
MIXED: dict[str, Make] = {
    "add": lambda: ones(2) + torch.ones(2),
    "reflected": lambda: torch.ones(2) + ones(2),
    "matmul": lambda: ones(2, 2) @ torch.ones(2, 2),
    "cat": lambda: torch.cat([ones(2), torch.ones(2)]),
    "stack of scalars": lambda: torch.stack([ones(1)[0], torch.tensor(1.0)]),
    "linear": lambda: nn.Linear(2, 2)(ones(2, 2)),
    "conv": lambda: nn.Conv2d(1, 1, 1)(ones(1, 1, 2, 2)),
    "layer norm": lambda: nn.LayerNorm(2)(ones(2, 2)),
    "lstm": lambda: nn.LSTM(2, 2)(ones(2, 2)),
    "embedding": lambda: F.embedding(torch.tensor([0]), ones(2, 2)),
    "loss": lambda: F.cross_entropy(ones(2, 2), torch.tensor([0, 1])),
    "where": lambda: torch.where(ones(2) > 0, ones(2), torch.ones(2)),
    "index of the host's": lambda: torch.ones(2)[ones(1).long()],
    "host sum": lambda: torch.tensor(0.0).add_(ones(2).sum()),
    "in place": lambda: ones(2).add_(torch.ones(2)),
    "two devices": lambda: ones(2) + torch.ones(2, device="cuda:1"),
}


def test_where_tensors_are() -> None:
    def on_the_device(name: str) -> None:
        assert is_on(MADE[name]())

    def on_the_host(name: str) -> None:
        assert is_off(HOME[name]())

    assert not wrong(MADE, on_the_device)
    assert not wrong(HOME, on_the_host)


def test_copies_in_inference_mode_are_where_they_are_copied() -> None:
    with torch.inference_mode():
        values = torch.zeros(4, 5, device="cuda").byte()
        copies = values[1].float(), values.t().reshape(-1), values.t().contiguous(), values.double()
    assert {str(each.device) for each in (*copies, 1.0 - copies[0])} == {"cuda:0"}


def test_storages_in_garbage_leave_their_tensors_where_they_are() -> None:
    parts = {"made": ones(2), "moved": torch.ones(2).cuda(), "copied": ones(2).clone()}
    for part in parts.values():
        cycle = [part.untyped_storage()]
        cycle.append(cycle)
        del cycle
    gc.collect()
    assert {str(part.device) for part in parts.values()} == {"cuda:0"}


def test_saving_leaves_the_tensors_where_they_are() -> None:
    values = ones(2)
    torch.save(values, io.BytesIO())
    gc.collect()
    assert values.is_cuda


def test_devices_do_not_mix() -> None:
    def refused(name: str) -> None:
        with pytest.raises(RuntimeError, match="on the same device"):
            MIXED[name]()

    assert not wrong(MIXED, refused)


def test_allclose_takes_a_number_of_the_host() -> None:
    assert torch.allclose(ones(2), torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.allclose(ones(2), torch.ones(2))


def test_messages_are_those_of_cuda() -> None:
    both = "found at least two devices, cuda:0 and cpu!"
    with pytest.raises(RuntimeError, match=both):
        ones(2) + torch.ones(2)
    with pytest.raises(
        RuntimeError, match=r"got mat2 is on cpu, different from other tensors on cuda:0 \(when"
    ):
        ones(2, 2) @ torch.ones(2, 2)
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        ones(2).numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(ones(2))
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(2, device="cuda:7")
    parameter = nn.Parameter(ones(2))
    with pytest.raises(RuntimeError, match="assigned grad has data located on a different device"):
        parameter.grad = torch.ones(2)


def test_moving_to_where_it_is_gives_itself() -> None:
    x = ones(2)
    assert x.to("cuda") is x
    assert x.cuda() is x
    assert x.to(x.device) is x
    assert x.to(x.dtype) is x
    assert x.to("cuda", copy=True) is not x


def test_devices_are_told_apart() -> None:
    x = torch.ones(2, device="cuda:1")
    assert x.device == torch.device("cuda:1")
    assert x.to("cuda:0").device == CUDA
    with torch.cuda.device(1):
        assert ones(1).device == torch.device("cuda:1")
    assert is_on(ones(1))


def test_legacy_types() -> None:
    assert ones(2).type() == "torch.cuda.FloatTensor"
    assert isinstance(ones(2), torch.cuda.FloatTensor)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)


def test_a_default_device() -> None:
    with default_device("cuda"):
        made = torch.ones(2), torch.tensor([1.0]), nn.Linear(2, 2).weight, torch.as_tensor([1])
    assert torch.get_default_device() == torch.device("cpu")
    assert all(map(is_on, made))
    with torch.device("cuda"):
        assert is_on(torch.randn(2))
        assert is_off(torch.ones(2, device="cpu"))
    assert is_off(torch.ones(2))


def test_pinned_memory() -> None:
    assert torch.ones(2).pin_memory().is_pinned()
    assert torch.zeros(2, pin_memory=True).is_pinned()
    assert not torch.ones(2).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        ones(2).pin_memory()
    data = torch.utils.data.TensorDataset(torch.arange(8.0).view(8, 1))
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        assert batch.is_pinned()
        assert is_on(batch.to("cuda", non_blocking=True))


def test_text_shows_the_device() -> None:
    assert repr(ones(2)) == "tensor([1., 1.], device='cuda:0')"
    assert f"{ones(1)[0]:.1f}" == "1.0"


def test_saving_and_loading() -> None:
    saved = io.BytesIO()
    layer = nn.Linear(3, 3).cuda()
    torch.save(layer.state_dict(), saved)

    def load(where: Any = None) -> Any:
        saved.seek(0)
        return torch.load(saved, map_location=where)["weight"]

    assert is_on(load())
    assert is_on(load("cuda"))
    assert load("cuda:1").device == torch.device("cuda:1")
    assert is_off(load("cpu"))
    assert is_off(load(lambda storage, location: storage))
    assert torch.equal(load("cpu"), layer.weight.detach().cpu())
    other = nn.Linear(3, 3).cuda()
    other.load_state_dict({"weight": load("cpu"), "bias": layer.bias})
    assert is_on(other.weight)
    assert torch.equal(other.weight, layer.weight)


def test_tied_weights_stay_tied() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    for moved in (model.cuda(), copy.deepcopy(model), model.cpu().cuda()):
        assert moved[0].weight is moved[1].weight
        assert is_on(moved[0].weight)
    result = torch.func.functional_call(model, dict(model.named_parameters()), (ones(1, 2),))
    assert is_on(result)


def test_modules_go_where_a_tensor_is() -> None:
    there = ones(1).double()
    for moved in (
        nn.Linear(2, 2).to(there),
        nn.Linear(2, 2).to(there, True),
        nn.Linear(2, 2).to(tensor=there, non_blocking=True),
    ):
        assert is_on(moved.weight)
        assert moved.weight.dtype == torch.float64
    assert not nn.Linear(2, 2).cuda().to(torch.ones(1)).weight.is_cuda


LAZY: dict[str, Make] = {
    "moved": lambda: nn.LazyLinear(3).cuda()(ones(2, 5)),
    "made there": lambda: nn.LazyLinear(3, device="cuda")(ones(2, 5)),
    "moved to and fro": lambda: nn.LazyLinear(3).cuda().cpu().to(CUDA)(ones(2, 5)),
    "copied": lambda: copy.deepcopy(nn.LazyLinear(3).cuda())(ones(2, 5)),
    "of another type": lambda: nn.LazyLinear(3).cuda().double()(ones(2, 5).double()),
    "buffers": lambda: nn.LazyBatchNorm1d().cuda()(ones(2, 5)),
    "a buffer": lambda: nn.LazyBatchNorm1d().cuda().running_mean,
}
LAZY_AT_HOME: dict[str, Make] = {
    "left where it is": lambda: nn.LazyLinear(3).to("cpu")(torch.ones(2, 5)),
    "brought back": lambda: nn.LazyBatchNorm1d().cuda().cpu()(torch.ones(2, 5)),
}


def test_lazy_modules() -> None:
    with asyncguard.trace() as trace:
        assert not [name for name, make in LAZY.items() if not is_on(make())]
        assert not [name for name, make in LAZY_AT_HOME.items() if make().is_cuda]
    assert isinstance(LAZY["a buffer"](), nn.UninitializedBuffer)
    assert not trace.record.faults


def test_generators() -> None:
    generator = torch.Generator(device="cuda").manual_seed(3)
    drawn = torch.randn(3, generator=generator, device="cuda")
    assert generator.device == CUDA
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    assert torch.equal(drawn.cpu(), torch.randn(3, generator=torch.Generator().manual_seed(3)))
    of_the_host, message = torch.Generator(), "Expected a 'cuda' device type for generator"
    for call in (
        lambda: torch.randn(3, generator=of_the_host, device="cuda"),
        lambda: drawn.normal_(generator=of_the_host),
        lambda: torch.multinomial(drawn.abs(), 2, generator=of_the_host),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type"):
        torch.randn(3, generator=generator)
    torch.randn(3, generator=torch.cuda.default_generators[0], device="cuda")
    torch.cuda.manual_seed(5)
    state = torch.cuda.get_rng_state()
    first = torch.rand(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(2, device="cuda"))


def test_memory_is_accounted() -> None:
    gc.collect()  # what earlier tests left is not to go meanwhile
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1024, device="cuda")
    view = x[10:]
    assert torch.cuda.memory_allocated() - before == 4096
    del x
    assert torch.cuda.memory_allocated() - before == 4096
    del view
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + 4096
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == before
    assert "NVIDIA" in torch.cuda.get_device_name()
    torch.cuda.memory_summary()


def test_queries() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 2
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.is_bf16_supported()
    assert torch.cuda.mem_get_info()[1] == torch.cuda.get_device_properties(0).total_memory
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 2
    assert torch.backends.cuda.is_built()
    with torch.cuda.nvtx.range("x"), torch.cuda.device(0):
        pass
    if hasattr(torch.accelerator, "device_index"):  # not in 2.6
        with torch.accelerator.device_index(1):
            assert torch.cuda.current_device() == 1
    torch.cuda.ipc_collect()
    torch.cuda._sleep(1000)


def test_types_stay_types() -> None:
    """Libraries name them in annotations."""
    assert torch.cuda.CUDAGraph | None
    assert torch.cuda.Stream | torch.cuda.Event | torch.Generator | torch.cuda.FloatTensor


UNSUPPORTED: dict[str, Make] = {
    "torch.cuda.MemPool": lambda: torch.cuda.MemPool(),
    "torch.cuda.ExternalStream": lambda: torch.cuda.ExternalStream(0),
    "torch.Tensor.__dlpack_device__": lambda: torch.from_dlpack(ones(2)),
    "torch.Tensor.__cuda_array_interface__": lambda: ones(2).__cuda_array_interface__,
    "torch._C._cuda_memorySnapshot": lambda: torch.cuda.memory_snapshot(),
    "torch.cuda.cudart().cudaHostRegister": lambda: torch.cuda.cudart().cudaHostRegister(),
}


def test_what_is_not_supported_says_so_by_name() -> None:
    def refused(name: str) -> None:
        with pytest.raises(AsyncguardError) as caught:
            UNSUPPORTED[name]()
        assert str(caught.value).startswith(f"{name} is not supported")

    assert not wrong(UNSUPPORTED, refused)
