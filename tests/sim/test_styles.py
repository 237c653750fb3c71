"""Pieces of real training code: the CPU's values, and as many waits as reading them gives.

Each comment says where the waits are; the last read of each result is one as well.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require

torch = require("torch")
nn, F = torch.nn, torch.nn.functional
Program = Callable[[str], Any]


def on_cuda(device: str) -> bool:
    return device.startswith("cuda")


def read_one_step_late(device: str) -> Any:
    """Two events are waited for."""
    x, found = torch.arange(4.0, device=device), []
    for step in range(2):
        buffer = torch.empty(4, pin_memory=on_cuda(device))
        buffer.copy_(x * step, non_blocking=True)
        if on_cuda(device):
            event = torch.cuda.Event()
            event.record()
            event.synchronize()
        found.append(buffer.tolist())
    return found


def double_buffering(device: str) -> Any:
    stream = torch.cuda.Stream() if on_cuda(device) else None

    def load(value: float) -> Any:
        batch = torch.full((4,), value)
        if stream is None:
            return batch
        with torch.cuda.stream(stream):
            return batch.pin_memory().to(device, non_blocking=True)

    total, following = torch.zeros(4, device=device), load(0.0)
    for step in range(3):
        if stream is not None:
            torch.cuda.current_stream().wait_stream(stream)
        current, following = following, load(step + 1.0)
        if stream is not None:
            current.record_stream(torch.cuda.current_stream())
        total += current * current
    return total.tolist()


def scaled_and_clipped(device: str) -> Any:
    """`found_inf` in each of 2 steps; the scale; the weight to the device and back."""
    torch.manual_seed(0)
    model = nn.Linear(4, 2, bias=False).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, init_scale=8.0)
    for _ in range(2):
        scaler.scale(model(torch.ones(3, 4, device=device)).pow(2).mean()).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return scaler.get_scale(), model.weight.tolist()


def greedy_decoding(device: str) -> Any:
    """Each of 3 tokens is compared; the table goes to the device."""
    torch.manual_seed(0)
    table = torch.randn(7, 4).to(device)
    cache = torch.zeros(1, 4, 4, device=device)
    tokens = torch.zeros(1, 1, dtype=torch.long, device=device)
    for at in range(3):
        query = table[tokens[:, -1]]
        cache[:, at] = query
        seen = cache[:, : at + 1]
        found = F.scaled_dot_product_attention(query[:, None], seen, seen)[:, 0]
        following = (found @ table.T).argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, following], 1)
        if following.item() == 99:
            break
    return tokens.tolist()


def suppression(device: str) -> Any:
    """Boxes and scores go up; the first box is a scalar index thrice, a mask keeps the rest; two
    numbers."""
    boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2.1, 2], [3, 3, 4, 4]]).to(device)
    order, kept = torch.tensor([0.9, 0.8, 0.7]).to(device).argsort(descending=True), []
    while True:
        best = order[0]
        kept.append(int(best))
        if order.numel() == 1:
            return kept
        others = boxes[order[1:]]
        low = torch.max(boxes[best, :2], others[:, :2])
        high = torch.min(boxes[best, 2:], others[:, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        areas = (others[:, 2:] - others[:, :2]).prod(-1)
        own = boxes[best]
        whole = areas + (own[2:] - own[:2]).prod() - shared
        order = order[1:][shared / whole < 0.5]


def clustering(device: str) -> Any:
    """The points go up; in each of 2 rounds 3 masks and a comparison."""
    torch.manual_seed(0)
    points = torch.rand(20, 2).to(device)
    centres = points[:3].clone()
    for _ in range(2):
        nearest = torch.cdist(points, centres).argmin(1)
        moved = torch.stack([points[nearest == each].mean(0) for each in range(3)])
        if torch.allclose(moved, centres):
            break
        centres = moved
    return centres.tolist()


def alignment(device: str) -> Any:
    """Scores and targets go up; 5 waits for lengths and offsets forward, 3 backward."""
    torch.manual_seed(0)
    scores = torch.randn(6, 2, 5).to(device).requires_grad_()
    targets = torch.tensor([[1, 2], [3, 4]]).to(device)
    F.ctc_loss(scores.log_softmax(-1), targets, (6, 5), (2, 2)).backward()
    return scores.grad.tolist()


def checkpoints(device: str) -> Any:
    """The weight goes up; a save; 4 storages are loaded (Adam's counter among them, which is read
    on the device from then on, for either bias correction)."""
    model = nn.Linear(2, 2, bias=False)
    nn.init.ones_(model.weight)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    optimizer.step()
    return copy.deepcopy(model).weight.tolist()


def lines(device: str) -> Any:
    """Python's own functions: 4 floats, 3 comparisons of `max` and its item, a list."""
    x = torch.arange(4.0, device=device)
    return sum(float(each) for each in x), max(x).item(), sorted(x.tolist())


def sizes(device: str) -> Any:
    """Five sizes on the device, and two lists."""
    n = torch.full((), 3, device=device)
    rows = torch.zeros(n, device=device), torch.ones(5, device=device)[:n]
    return (
        [row.tolist() for row in rows],
        list(range(n)),
        torch.ones(6).view(3, -1).expand(3, 2)[:n].shape,
        torch.ones(6, device=device).view(n, -1).shape,
    )


def replay_memory(device: str) -> Any:
    """3 rows are written from the host; an index of the host's goes up."""
    memory = torch.zeros(4, 3, device=device)
    for step in range(3):
        memory[step] = torch.full((3,), float(step))
    picked = memory[torch.randint(0, 3, (4,), device=device) * 0]
    return (picked.sum() + memory[torch.tensor([1, 2])].sum()).item()


def pruning(device: str) -> Any:
    """The weight goes up; a number is written by an index."""
    from torch.nn.utils import prune

    model = nn.Linear(4, 2, bias=False)
    model.weight.data = torch.arange(8.0).reshape(2, 4)
    prune.l1_unstructured(model.to(device), "weight", amount=0.5)
    return model.weight.tolist()


def loaded_by_workers(device: str) -> Any:
    """Pinned batches do not wait."""
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    total = torch.zeros((), device=device)
    options = {"batch_size": 2, "num_workers": 2, "pin_memory": on_cuda(device)}
    for x, y in torch.utils.data.DataLoader(data, **options):
        total += (x.to(device, non_blocking=True).sum(1) * y.to(device, non_blocking=True)).sum()
    return total.item()


WAITS: dict[Program, int] = {
    read_one_step_late: 2,
    double_buffering: 1,
    scaled_and_clipped: 2 + 1 + 1 + 1,
    greedy_decoding: 3 + 1 + 1,
    suppression: 2 + 3 + 1 + 2,
    clustering: 1 + 2 * (3 + 1) + 1,
    alignment: 2 + 5 + 3 + 1,
    checkpoints: 1 + 1 + 4 + 2 + 1,
    lines: 4 + 3 + 1 + 1,
    sizes: 5 + 2,
    replay_memory: 3 + 1 + 1,
    pruning: 1 + 1 + 1,
    loaded_by_workers: 1,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", WAITS, ids=lambda program: program.__name__)
def test_it_gives_the_cpus_values_and_waits_as_read(program: Program, simulated: Any) -> None:
    on_host = program("cpu")
    with asyncguard.trace() as trace:
        on_device = program("cuda")
    assert repr(on_device) == repr(on_host)
    assert trace.total_syncs == WAITS[program]
