"""What `backward()` waits for other ranks: one rank alone, whose reducer waits as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from tests.frameworks import require
from tests.runtime.helpers import Clock

torch = require("torch")
dist = torch.distributed
REDUCER = "torch.nn.parallel.DistributedDataParallel"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def model(clock: Clock) -> Any:
    """A module whose gradients take 50 ns to compute, and 1000 ns until the others have theirs."""

    def wait() -> None:
        clock.now += 1000

    def send(bucket: Any) -> Any:
        clock.now += 50
        torch.autograd.Variable._execution_engine.queue_callback(wait)
        sent = torch.futures.Future()
        sent.set_result(bucket.buffer())
        return sent

    made = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    made.register_comm_hook(None, lambda state, bucket: send(bucket))
    return made


@pytest.mark.usefixtures("group")
def test_the_end_of_backward_is_a_wait_for_the_other_ranks() -> None:
    clock = Clock()
    module = model(clock)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    with asyncguard.trace(clock=clock) as trace:
        for _ in range(3):
            output = {"logits": [module(torch.ones(2, 4))]}
            output["logits"][0].sum().backward()
            optimizer.step()
    (site,) = trace.sites
    assert (site.api, site.kind.value, site.device) == (REDUCER, "barrier", "cpu")
    assert (site.count, site.cpu_stall_ns) == (3, 3000)
    assert site.path.endswith("test_ddp.py")
    assert site.source.endswith(".sum().backward()")
    assert site.library == ()


@pytest.mark.usefixtures("group")
def test_passes_that_send_nothing_and_plain_modules_do_not_wait() -> None:
    clock = Clock()
    module, plain = model(clock), torch.nn.Linear(4, 4)
    with asyncguard.trace(clock=clock) as trace:
        with module.no_sync():
            module(torch.ones(2, 4)).sum().backward()
        plain(torch.ones(2, 4)).sum().backward()
        with torch.no_grad():
            module(torch.ones(2, 4))
    assert trace.total_syncs == 0


@pytest.mark.usefixtures("group")
def test_two_forward_passes_before_one_backward_are_one_wait() -> None:
    clock = Clock()
    module = model(clock)
    with asyncguard.trace(clock=clock) as trace:
        (module(torch.ones(2, 4)).sum() + module(torch.ones(2, 4)).sum()).backward()
        with asyncguard.allow_syncs("the others"):
            module(torch.ones(2, 4)).sum().backward()
    assert trace.total_syncs == 2
    assert {site.allowed for site in trace.sites} == {None, "the others"}
    module(torch.ones(2, 4)).sum().backward()  # after the trace: nothing is left
