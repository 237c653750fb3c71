"""`asyncguard.later` on the simulated device: streams, virtual time, races, memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import asyncguard
from asyncguard.runtime import later as late
from asyncguard.runtime.adapters.torch import deferred
from tests.frameworks import require

torch = require("torch")


@pytest.fixture
def simulated() -> Iterator[Any]:
    with asyncguard.simulate_cuda(devices=2) as simulation:
        yield simulation


def train(read: str, steps: int = 30) -> Any:
    """A loop whose host is slower than its device, reading its loss so, and its trace."""
    model = torch.nn.Linear(8, 1, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(32, 8, device="cuda")
    late, losses = None, []
    with asyncguard.trace() as trace:
        for _ in range(steps):
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if read == "at once":
                losses.append(loss.item())
                continue
            if late is not None:
                losses.append(late.result())
            late = asyncguard.later(loss)
        if late is not None:
            losses.append(late.result())
    return trace, losses


def test_a_value_that_is_read_one_step_late_is_not_waited_for(simulated: Any) -> None:
    torch.manual_seed(0)
    at_once, losses = train("at once")
    torch.manual_seed(0)
    one_late, same = train("late")
    assert same == losses
    assert at_once.total_syncs == 30
    assert one_late.total_syncs <= 1  # the last one, behind the loop


def test_what_it_costs_the_device_is_little(simulated: Any) -> None:
    """The virtual clock goes on by what is enqueued, not by waits."""
    train("late", 2)
    now = simulated.now
    begin = now()
    train("at once")
    middle = now()
    train("late")
    assert now() - middle < middle - begin


def test_a_wait_lasts_until_the_copy_is_done(simulated: Any) -> None:
    x = torch.ones(1 << 20, device="cuda")
    with asyncguard.trace() as trace:
        handle = asyncguard.later(x)
        assert handle.result().sum() == 1 << 20
    (site,) = trace.sites
    assert site.cpu_stall_ns > (1 << 22) / 200  # not faster than 200 bytes a nanosecond
    assert site.device == "cuda:0 (simulated)"
    assert trace.record.extra["simulated"]["cuda_calls"] == {
        "asyncguard.Handle.result": "cudaEventSynchronize"
    }


def test_no_race_is_made_and_none_is_hidden(simulated: Any) -> None:
    x = torch.ones(4, device="cuda")
    for _ in range(3):  # buffers serve again
        handle = asyncguard.later({"x": x, "sum": x.sum()})
        x += 1
        handle.result()
    asyncguard.later(x)  # nobody asks for it
    for _ in range(3):
        asyncguard.later(x).result()
    assert not simulated.machine.races.to_list()
    held = x.to("cpu", non_blocking=True)
    with pytest.raises(RuntimeError, match="ASG404"):
        asyncguard.later(held)


def test_the_current_stream_decides_what_the_values_are(simulated: Any) -> None:
    x, other = torch.zeros((), device="cuda"), torch.cuda.Stream()
    other.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(other):
        x += 1
        handle = asyncguard.later(x)
        assert torch.cuda.current_stream() == other
    assert handle.result() == 1
    assert not simulated.machine.races.to_list()


def test_devices_are_waited_for_as_one_wait(simulated: Any) -> None:
    arrays = [torch.full((), n, device=f"cuda:{n}") for n in range(2)]
    with asyncguard.trace() as trace:
        handle = asyncguard.later([*arrays, torch.tensor(2)])
        assert handle.result() == [0, 1, 2]
    assert trace.total_syncs == 1


def test_one_transfer_for_each_dtype(simulated: Any) -> None:
    values = {
        "losses": [torch.ones((), device="cuda") for _ in range(10)],
        "grid": torch.ones(2, 3, device="cuda").t(),
        "counts": [torch.ones((), device="cuda", dtype=torch.int64) for _ in range(10)],
    }
    with asyncguard.trace(timeline=True) as trace:
        handle = asyncguard.later(values)
    copies = [each for each in trace.record.timeline if (each.kind, each.name) == ("run", "copy")]
    assert len(copies) == 2
    assert {each.thread for each in copies} != {"cuda:0"}  # on a stream of their own
    assert handle.result()["grid"].tolist() == [[1, 1], [1, 1], [1, 1]]


def test_memory_stays_as_it_is(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the device, and pinned on the host, where buffers serve again."""
    made: list[int] = []
    empty = torch.empty

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(1)
        return empty(*args, **kwargs)

    queue, loss = asyncguard.Later(limit=8), torch.ones((), device="cuda")
    lane = late._copiers["torch"]._lane(loss.device)  # type: ignore[attr-defined]
    allocated = set()
    with monkeypatch.context() as patch:  # undone before the simulation takes its own back
        patch.setattr(deferred.torch, "empty", counted)
        for step in range(300):
            queue.put(step, {"loss": loss, "count": step})
            for _ in queue.ready():
                pass
            allocated.add(torch.cuda.memory_allocated())
        list(queue.drain())
    assert len(made) <= 9
    assert max(allocated) - min(allocated) <= 9 * 512
    assert sum(map(len, lane._buffers._free.values())) == len(made)


def test_copies_that_nobody_asks_for_leave_nothing_behind(simulated: Any) -> None:
    loss = torch.ones(1000, device="cuda")
    before = torch.cuda.memory_allocated()
    for _ in range(50):
        asyncguard.later(loss)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


def test_a_new_simulation_has_streams_of_its_own() -> None:
    for _ in range(2):
        with asyncguard.simulate_cuda():
            assert asyncguard.later(torch.ones((), device="cuda")).result() == 1


def test_it_may_outlive_the_simulation() -> None:
    with asyncguard.simulate_cuda():
        handle = asyncguard.later(torch.ones(3, device="cuda"))
    assert handle.result().tolist() == [1, 1, 1]


def test_it_leaves_no_trace_in_autograd(simulated: Any) -> None:
    weight = torch.ones(2, device="cuda", requires_grad=True)
    loss = weight.sum()
    handle = asyncguard.later({"loss": loss, "weight": weight})
    with torch.autocast("cuda"), torch.inference_mode():
        other = asyncguard.later([weight, loss])
    loss.backward()
    assert weight.grad.tolist() == [1, 1]
    assert handle.result()["weight"].tolist() == other.result()[0].tolist() == [1, 1]


def test_within_a_capture_it_says_where_it_belongs(simulated: Any) -> None:
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    refused = pytest.raises(asyncguard.AsyncguardError, match="behind the replay")
    with refused, torch.cuda.graph(graph):
        asyncguard.later(x * 2)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: torch.eye(2).to_sparse(), "call to_dense"),
        (lambda: torch.ones(2, device="meta"), "meta tensor"),
    ],
)
def test_what_has_no_values_is_refused(make: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        asyncguard.later([make()])


def test_views_and_lazy_conjugates_are_read_as_they_look(simulated: Any) -> None:
    z = torch.tensor([1 + 2j, 3j])
    for device in ("cpu", "cuda"):
        moved = z.to(device)
        found = asyncguard.later([moved.conj(), moved.conj().imag, moved[1]]).result()
        assert found[0].tolist() == [1 - 2j, -3j]
        assert found[1].tolist() == [-2, -3]
        assert found[2] == 3j


def test_no_warning_is_given(simulated: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncguard.later(torch.ones(2, device="cuda")).result()


def test_buffers_of_one_size_are_kept_up_to_a_bound(simulated: Any) -> None:
    loss = torch.ones((), device="cuda")
    handles = [asyncguard.later(loss) for _ in range(2 * deferred._MOST_FREE)]
    assert all(handle.result() == 1 for handle in handles)
    lane = late._copiers["torch"]._lane(loss.device)  # type: ignore[attr-defined]
    assert [len(free) for free in lane._buffers._free.values()] == [deferred._MOST_FREE]
