"""Training on the simulated device gives what the same program gives on the CPU, bit for bit."""

from __future__ import annotations

import inspect
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from tests import warm
from tests.frameworks import require

torch = require("torch")
nn, F = torch.nn, torch.nn.functional
checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint
pytestmark = pytest.mark.usefixtures("simulated")
STEPS = 4
OPTIMIZERS = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Adamax",
              "Rprop", "ASGD", "Adafactor"]  # fmt: skip
Program = Callable[[str], list[Any]]


def both(program: Program) -> None:
    on_host, on_device = program("cpu"), program("cuda")
    assert all(value.is_cuda for value in on_device)
    assert len(on_host) == len(on_device)
    for host, device in zip(on_host, on_device, strict=True):
        assert torch.equal(host, device.cpu())


def network(device: str) -> Any:
    torch.manual_seed(0)
    layers = nn.Linear(4, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3)
    return nn.Sequential(*layers).to(device)


def train(device: str, make: Callable[[Any], Any], step: Callable[..., Any] | None = None) -> Any:
    model = network(device)
    optimizer = make(model.parameters())
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        inputs = torch.randn(8, 4).to(device)
        target = torch.randint(0, 3, (8,), device=device)
        loss = F.cross_entropy(model(inputs), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    assert all(p.grad.device == p.device == losses[0].device for p in model.parameters())
    return [*losses, *(p.detach() for p in model.parameters())]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    both(lambda device: train(device, getattr(torch.optim, name)))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_optimizers(name: str) -> None:
    if name == "Adagrad" and "cuda_unsupported" in inspect.getsource(torch.optim.Adagrad):
        pytest.skip(f"torch {torch.__version__} has no fused Adagrad on CUDA")
    both(lambda device: train(device, lambda p: getattr(torch.optim, name)(p, fused=True)))


def test_capturable_optimizers_run() -> None:
    values = train("cuda", lambda p: torch.optim.AdamW(p, capturable=True))
    plain = train("cpu", torch.optim.AdamW)
    for value, other in zip(values, plain, strict=True):
        torch.testing.assert_close(value.cpu(), other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision(dtype: str) -> None:
    kind = getattr(torch, dtype)

    def program(device: str) -> list[Any]:
        model = network(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler(device)
        for _ in range(STEPS):
            optimizer.zero_grad()
            with torch.autocast(device, dtype=kind):
                outputs = model(torch.randn(8, 4).to(device))
                loss = F.mse_loss(outputs, torch.zeros(8, 3).to(device))
            assert outputs.dtype is kind
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        return [parameter.detach() for parameter in model.parameters()]

    both(program)


def test_autocast_ends_where_it_ends() -> None:
    model, inputs = nn.Linear(4, 3).cuda(), torch.ones(2, 4, device="cuda")
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled("cuda")
        assert model(inputs).dtype is torch.float16
        with torch.autocast("cuda", enabled=False):
            assert model(inputs).dtype is torch.float32
        assert model(inputs).dtype is torch.float16
    assert model(inputs).dtype is torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_a_convolutional_network() -> None:
    def program(device: str) -> list[Any]:
        torch.manual_seed(1)
        layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        model = nn.Sequential(*layers, nn.Linear(8 * 49, 10)).to(device)
        loss = model(torch.randn(4, 3, 16, 16).to(device)).logsumexp(1).mean()
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters()), *model.buffers()]

    both(program)


@pytest.mark.parametrize("evaluate", [False, True])
def test_a_transformer(evaluate: bool) -> None:
    def program(device: str) -> list[Any]:
        torch.manual_seed(1)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        model = nn.TransformerEncoder(layer, 2).to(device)
        if evaluate:
            with torch.inference_mode():
                return [model.eval()(torch.randn(2, 5, 16).to(device))]
        result = model(torch.randn(2, 5, 16).to(device))
        result.pow(2).mean().backward()
        return [result.detach(), *(p.grad for p in model.parameters())]

    both(program)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(reentrant: bool) -> None:
    def program(device: str) -> list[Any]:
        model = network(device)
        inputs = torch.randn(8, 4).to(device).requires_grad_()
        checkpoint(model, inputs, use_reentrant=reentrant).sum().backward()
        return [inputs.grad, *(p.grad for p in model.parameters())]

    both(program)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        assert x.device == grad.device
        return 2 * x * grad


def test_custom_functions_and_hooks() -> None:
    def program(device: str) -> list[Any]:
        x = torch.arange(3.0, device=device, requires_grad=True)
        seen = []
        x.register_hook(seen.append)
        Square.apply(x).sum().backward()
        return [x.grad, *seen]

    both(program)


def test_many_backward_formulas() -> None:
    def program(device: str) -> list[Any]:
        torch.manual_seed(0)
        a = torch.randn(5, 4).to(device).requires_grad_()
        zero = torch.zeros(5, 1, dtype=torch.long, device=device)
        parts = [
            a[a > 0], a.max(1)[0], a.gather(1, zero), a.cumprod(1), torch.cdist(a, a), a.median(),
            a.index_select(0, zero[0]), a.sort(1)[0], a.prod(), a.norm(), a.std(), F.pad(a, (1, 1)),
            a.unfold(1, 2, 1), torch.linalg.svd(a)[1], a.logsumexp(1), a.kthvalue(2)[0],
            F.interpolate(a[None, None], scale_factor=2), a.topk(2)[0], a.roll(1), a.flip(0),
            torch.einsum("ij,kj->ik", a, a), a.repeat(2, 1), a.split(2)[0], torch.diff(a), a.tril(),
        ]  # fmt: skip
        sum(part.sum() for part in parts).backward()
        return [a.grad]

    both(program)


def test_a_gradient_goes_back_to_the_host() -> None:
    x = torch.ones(3, requires_grad=True)
    (x.to("cuda") * 2).sum().backward()
    assert x.grad.device == torch.device("cpu")
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = torch.ones(3, device="cuda", requires_grad=True)
        loss = (y * y).sum()
    loss.backward()
    assert y.grad.is_cuda


def test_threads_are_on_the_device_too() -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(torch.ones(2, device="cuda") + 1))
    thread.start()
    thread.join()
    assert seen[0].is_cuda
    with ThreadPoolExecutor(2) as pool:
        moved = pool.map(lambda n: torch.full((2,), n, device="cuda") + n, range(4))
        assert [value.tolist() for value in moved] == [[0, 0], [2, 2], [4, 4], [6, 6]]


RANK = """
import torch, torch.distributed as dist, sys
from torch.nn.parallel import DistributedDataParallel
import asyncguard
def train(device, backend):
    dist.init_process_group(backend)
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 2).to(device)
    wrapped = DistributedDataParallel(model, device_ids=[0] if device == "cuda" else None)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(3):
        optimizer.zero_grad()
        wrapped(torch.randn(8, 4).to(device)).pow(2).mean().backward()
        optimizer.step()
    total = model.weight.sum()
    dist.all_reduce(total)
    print((model.weight.tolist(), total.tolist()), flush=True)
    dist.barrier()
    dist.destroy_process_group()
if sys.argv[1] == "cuda":
    with asyncguard.simulate_cuda():
        train("cuda", "nccl")
else:
    train("cpu", "gloo")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch has no distributed")
def test_two_ranks_over_gloo(tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)

    def run(device: str) -> list[str]:
        store = f"file://{tmp_path / device}"
        code = script.read_text().replace(
            "dist.init_process_group(backend)",
            f"dist.init_process_group(backend, init_method={store!r}, rank=int(sys.argv[2]),"
            " world_size=2)",
        )
        ranks = [
            subprocess.Popen(
                [*warm.python("torch"), "-c", code, device, str(rank)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        # Not to their end: gloo's own thread may abort, or wait for ever, when its peer leaves.
        outputs = [rank.stdout.readline() for rank in ranks if rank.stdout is not None]
        for rank in ranks:
            rank.terminate()
            rank.communicate(timeout=60)
        assert all(outputs)
        return outputs

    assert run("cpu") == run("cuda")


def test_a_trace_is_marked() -> None:
    with asyncguard.trace() as trace:
        torch.ones(2, device="cuda").sum().item()
    assert trace.record.notes[-1].startswith("Modelled: 2 simulated NVIDIA H200")
    assert trace.record.extra["simulated"]["profile"] == "h200"


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta"])
def test_an_update_enqueues_as_cudas_default_does_however_many_parameters_there_are(
    name: str,
) -> None:
    def enqueued(layers: int) -> int:
        model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers))).cuda()
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
        for _ in range(2):  # the first makes the state of each parameter
            model(torch.ones(2, 4, device="cuda")).sum().backward()
            with asyncguard.trace(timeline=10_000) as trace:
                optimizer.step()
        return sum(event.kind == "enqueue" for event in trace.record.timeline)

    assert 0 < enqueued(2) == enqueued(20) <= 12
