"""What programs do less often gives what it gives on the CPU, or is refused by name."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import AsyncguardError
from tests.frameworks import require

torch = require("torch")
F = torch.nn.functional
Program = Callable[[str], Any]


def kind(tensor: Any) -> str:
    return "host" if tensor.device.type == "cpu" else "device"


def checkpointing(device: str) -> Any:
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 8)
    ).to(device)
    found = []
    for reentrant in (False, True):
        x = torch.ones(4, 8, device=device, requires_grad=True)
        torch.utils.checkpoint.checkpoint(model, x, use_reentrant=reentrant).sum().backward()
        found.append(x.grad.tolist())
    return found


def function_transforms(device: str) -> Any:
    model, x = torch.nn.Linear(3, 2).to(device), torch.arange(6.0, device=device).reshape(2, 3)
    parameters = dict(model.named_parameters())

    def loss(given: Any, row: Any) -> Any:
        return torch.func.functional_call(model, given, (row,)).pow(2).sum()

    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    curve = torch.func.hessian(lambda row: (row**3).sum())(x[0])
    slope = torch.func.jacrev(lambda rows: rows.sin().sum(0))(x)
    return each["weight"].tolist(), curve.tolist(), slope.tolist()


def nested_tensors(device: str) -> Any:
    rows = [torch.ones(2, 3), torch.ones(1, 3)]
    found = []
    for layout in (torch.strided, torch.jagged):
        made = torch.nested.nested_tensor(rows, device=device, layout=layout)
        assert made.device.type == device
        found.append(torch.nested.to_padded_tensor(made * 2, 0.0).tolist())
    return found


def custom_function(device: str) -> Any:
    class Scaled(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x.exp() * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x.exp() * ctx.factor, None

    x = torch.linspace(0, 1, 5, device=device, requires_grad=True)
    Scaled.apply(x, 3.0).sum().backward()
    return x.grad.tolist()


def sparse(device: str) -> Any:
    where = torch.tensor([[0, 1], [1, 0]], device=device)
    matrix = torch.sparse_coo_tensor(where, torch.ones(2, device=device), (2, 2))
    x = torch.arange(4.0, device=device).reshape(2, 2)
    rows = x.to_sparse_csr()
    weights = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), device=device, requires_grad=True)
    assert weights.is_leaf
    assert weights.device == x.device
    old = torch.sparse if device == "cpu" else torch.cuda.sparse
    assert isinstance(weights.detach(), old.FloatTensor)
    assert not isinstance(x, old.FloatTensor)
    return (
        (matrix @ x).tolist(),
        matrix.coalesce().values().tolist(),
        (rows @ x).tolist(),
        torch.sparse.mm(matrix, x).tolist(),
    )


def complex_numbers(device: str) -> Any:
    z = torch.complex(torch.ones(3, device=device), torch.arange(3.0, device=device))
    return torch.fft.fft(z).abs().tolist(), torch.view_as_real(z * z.conj()).tolist()


def quantised(device: str) -> Any:
    q = torch.quantize_per_tensor(torch.ones(3, device=device), 0.1, 0, torch.qint8)
    return q.dequantize().tolist(), q.int_repr().tolist()


def packed_sequences(device: str) -> Any:
    rnn = torch.nn.utils.rnn
    model = torch.nn.LSTM(4, 4, 2, batch_first=True, bidirectional=True).to(device)
    lengths = torch.tensor([3, 2])
    packed = rnn.pack_padded_sequence(torch.ones(2, 3, 4, device=device), lengths, batch_first=True)
    out, sizes = rnn.pad_packed_sequence(model(packed)[0], batch_first=True)
    assert sizes.device.type == "cpu"
    return out.tolist()


def attention(device: str) -> Any:
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).to(device).eval()
    x = torch.arange(48.0, device=device).reshape(2, 3, 8)
    padding = torch.tensor([[0, 0, 1], [0, 0, 0]], device=device, dtype=torch.bool)
    with torch.no_grad():
        encoded = encoder(x, src_key_padding_mask=padding)
    out, weights = model(x, x, x, key_padding_mask=padding)
    return encoded.tolist(), out.tolist(), weights.tolist()


def scattering(device: str) -> Any:
    x, at = torch.zeros(4, 4, device=device), torch.tensor([0, 2], device=device)
    x.scatter_(0, at[None], 1.0)
    x.index_put_((at, at), torch.tensor(5.0, device=device))
    x.index_add_(0, at, torch.ones(2, 4, device=device))
    x.scatter_reduce_(0, at[None], torch.full((1, 2), 9.0, device=device), "amax")
    return x.tolist(), x.masked_select(x > 2).tolist(), x.take(at).tolist()


def storages(device: str) -> Any:
    x = torch.arange(4.0, device=device)
    view = torch.tensor([], device=device).set_(x.untyped_storage(), 0, (2, 2))
    bits = x.view(torch.int32)
    view.mul_(2)
    return x.tolist(), bits.tolist(), x.data_ptr() == view.data_ptr(), kind(x) == kind(view)


def loading(device: str) -> Any:
    file = io.BytesIO()
    torch.save({"x": torch.arange(3, device=device)}, file)
    found = []
    for target in ("cpu", lambda storage, _: storage, {"cuda:0": "cpu"}):
        file.seek(0)
        loaded = torch.load(file, map_location=target)["x"]
        found.append((loaded.tolist(), kind(loaded)))
    return found


def saved_on_the_host(device: str) -> Any:
    x = torch.arange(3.0, device=device, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x * x).sum()
    y.backward()
    return x.grad.tolist()


def generators(device: str) -> Any:
    generator = torch.Generator(device=device).manual_seed(3)
    draws = torch.rand(3, device=device, generator=generator)
    return draws.tolist(), torch.randperm(5, device=device, generator=generator).tolist()


def scripted(device: str) -> Any:
    model = torch.jit.trace(torch.nn.Linear(2, 2).to(device), torch.ones(1, 2, device=device))
    return model(torch.ones(1, 2, device=device)).tolist()


def traced(device: str) -> Any:
    """Convolutions are recorded by what they call, with other data than the trace was made of."""
    convolution = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.ReLU()).to(device)
    recurrent = torch.nn.GRU(4, 2).to(device)
    x = torch.randn(1, 2, 4, device=device)
    models = [torch.jit.trace(each, x, check_trace=False) for each in (convolution, recurrent)]
    y, (z, _) = (model(x + 1) for model in models)
    assert "_convolution" in str(models[0].inlined_graph)
    return y.tolist(), z.tolist()


def nested_contexts(device: str) -> Any:
    with torch.device(device):
        outer = torch.zeros(3)
        with torch.device("cpu"):
            inner = torch.ones(3)
        with torch.device("meta"):
            nowhere = torch.ones(3)
    assert kind(inner) == "host"
    assert nowhere.is_meta
    return (outer.cpu() + inner).tolist()


def line_search(device: str) -> Any:
    weight = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.LBFGS([weight])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((weight - 2) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weight.tolist()


def all_hooks(device: str) -> Any:
    model, seen = torch.nn.Linear(3, 3).to(device), list[Any]()
    model.register_forward_hook(lambda _, given, out: seen.append(kind(out) == kind(given[0])))
    model.register_full_backward_hook(lambda _, into, out: seen.append(kind(out[0])))
    model.weight.register_hook(lambda grad: seen.append(kind(grad)))
    model.weight.register_post_accumulate_grad_hook(lambda p: seen.append(kind(p.grad)))
    model(torch.ones(2, 3, device=device, requires_grad=True)).sum().backward()
    wanted = "host" if device == "cpu" else "device"
    return [each is True or each == wanted for each in seen]


PROGRAMS: dict[str, Program] = {
    each.__name__: each
    for each in (
        checkpointing, function_transforms, custom_function, sparse, complex_numbers, quantised,
        packed_sequences, attention, scattering, storages, loading, saved_on_the_host, generators,
        scripted, traced, nested_contexts, nested_tensors, line_search, all_hooks,
    )
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_gives_what_it_gives_on_the_cpu(name: str, simulated: Any) -> None:
    torch.manual_seed(0)
    on_device = PROGRAMS[name]("cuda")
    torch.manual_seed(0)
    assert repr(on_device) == repr(PROGRAMS[name]("cpu"))


def test_exports_are_refused_by_name(simulated: Any) -> None:
    with pytest.raises(AsyncguardError, match=r"torch\.export\.export is not supported"):
        torch.export.export(torch.nn.Linear(2, 2).cuda(), (torch.ones(1, 2, device="cuda"),))


def test_fake_tensors_are_refused_by_name(simulated: Any) -> None:
    mode = torch._subclasses.FakeTensorMode()
    with pytest.raises(AsyncguardError, match="FakeTensorMode is not supported"), mode:
        torch.ones(2, device="cuda")


def test_the_profiler_of_cuda_profiles_what_there_is(simulated: Any, capfd: Any) -> None:
    profiler = torch.profiler
    activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    with profiler.profile(activities=activities) as profile:
        torch.ones(4, 4, device="cuda").sum()
    assert "aten::sum" in {each.key for each in profile.key_averages()}
    assert "Failed to record CUDA event" not in capfd.readouterr().err
