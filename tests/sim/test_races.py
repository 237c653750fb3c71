"""The law of races: programs of copies, events, waits and uses against a search of their order.

The search knows nothing of clocks of any kind: it draws an edge from each thing that happens to all
that come after it for certain, and calls a use a race where no path leads to it from a copy.
"""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asyncguard
from asyncguard.model import AsyncguardError
from asyncguard.runtime.races import CopyRace, touches
from tests.frameworks import require
from tests.sim.rows import wrong

torch = require("torch")
STREAMS, EVENTS, PARTS, BUFFERS = 3, 3, 3, 2
WIDTH = 1 << 15  # numbers in a part of a buffer: more than what is staged


class Do(NamedTuple):
    """One thing that a program does; what the numbers mean depends on it."""

    what: str
    a: int = 0
    b: int = 0
    c: int = 0


def do(what: str, *bounds: int) -> st.SearchStrategy[Do]:
    numbers = [st.integers(0, bound - 1) for bound in bounds]
    return st.builds(lambda *given: Do(what, *given), *numbers)


PROGRAMS = st.lists(
    st.one_of(
        do("download", STREAMS, BUFFERS, PARTS + 1),  # by a stream, into a part or the whole
        do("upload", STREAMS, BUFFERS, PARTS + 1),
        do("blocking upload", STREAMS, BUFFERS, PARTS + 1),
        do("blocking download", STREAMS, BUFFERS, PARTS + 1),
        do("record", STREAMS, EVENTS),
        do("event waits", EVENTS),
        do("stream waits for event", STREAMS, EVENTS),
        do("stream waits for stream", STREAMS, STREAMS),
        do("stream synchronize", STREAMS),
        do("device synchronize"),
        do("ask event", EVENTS),
        do("ask stream", STREAMS),
        do("read", BUFFERS, PARTS + 1),
        do("write", BUFFERS, PARTS + 1),
        do("pageable upload", STREAMS),
        do("item", STREAMS),
    ),
    max_size=14,
)


class Search:
    """The same program as a graph of what comes before what.

    Nodes are numbers. `host` is the host's last, `tails` those of the streams.
    """

    def __init__(self) -> None:
        self.before: dict[int, set[int]] = defaultdict(set)
        self.host = 0
        self.tails: dict[int, int] = {}
        self.events: dict[int, int] = {}
        self.copies: list[tuple[int, int, int, bool]] = []  # node, buffer, part, whether it fills
        self.count = 0
        self.races: set[tuple[int, str]] = set()  # the step, and the code

    def node(self, *after: int | None) -> int:
        self.count += 1
        self.before[self.count] |= {node for node in after if node is not None}
        return self.count

    def acts(self, *after: int | None) -> None:
        """The host does something, after what it did before."""
        self.host = self.node(self.host, *after)

    def enqueues(self, stream: int) -> int:
        self.tails[stream] = self.node(self.host, self.tails.get(stream))
        return self.tails[stream]

    def comes_before(self, node: int, other: int) -> bool:
        pending, seen = [other], set()
        while pending:
            at = pending.pop()
            if at == node:
                return True
            pending += self.before[at] - seen
            seen |= self.before[at]
        return False

    def uses(self, step: int, node: int, buffer: int, part: int, writes: bool) -> None:
        for before, its_buffer, its_part, fills in self.copies:
            apart = PARTS not in (part, its_part) and part != its_part
            if before == node or its_buffer != buffer or apart or not (writes or fills):
                continue
            if not self.comes_before(before, node):
                self.races.add((step, "ASG404" if fills else "ASG405"))

    def run(self, step: int, it: Do, answered: bool) -> None:
        match it.what:
            case "download" | "upload":
                node, fills = self.enqueues(it.a), it.what == "download"
                self.uses(step, node, it.b, it.c, writes=fills)
                self.copies.append((node, it.b, it.c, fills))
            case "blocking upload" | "blocking download":
                node = self.enqueues(it.a)
                self.uses(step, node, it.b, it.c, writes=it.what == "blocking download")
                self.acts(node)
            case "record":
                self.events[it.b] = self.enqueues(it.a)
            case "event waits":
                self.acts(self.events.get(it.a))
            case "stream waits for event":
                after = self.events.get(it.b)
                self.tails[it.a] = self.node(self.host, self.tails.get(it.a), after)
            case "stream waits for stream":
                other = self.enqueues(it.b)
                self.tails[it.a] = self.node(self.host, self.tails.get(it.a), other)
            case "stream synchronize" | "item":
                self.acts(self.tails.get(it.a))
            case "device synchronize":
                self.acts(*self.tails.values())
            case "ask event":
                self.acts(self.events.get(it.a) if answered else None)
            case "ask stream":
                self.acts(self.tails.get(it.a) if answered else None)
            case "read" | "write":
                self.acts()
                self.uses(step, self.host, it.a, it.b, writes=it.what == "write")
            case "pageable upload":  # it may wait, and promises nothing
                self.enqueues(it.a)


class Program:
    """The program as the simulated device runs it."""

    def __init__(self) -> None:
        self.streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
        self.events = [torch.cuda.Event() for _ in range(EVENTS)]
        self.buffers = [torch.zeros(PARTS, WIDTH, pin_memory=True) for _ in range(BUFFERS)]
        self.pageable = torch.ones(WIDTH)

    def part(self, buffer: int, part: int) -> Any:
        whole = self.buffers[buffer]
        return whole if part == PARTS else whole[part]

    def run(self, it: Do) -> bool:
        """Do it; return what was answered, where it asks."""
        match it.what:
            case "download" | "blocking download":
                target = self.part(it.b, it.c)
                with torch.cuda.stream(self.streams[it.a]):
                    source = torch.ones(target.shape, device="cuda")
                    target.copy_(source, non_blocking=it.what == "download")
            case "upload" | "blocking upload":
                with torch.cuda.stream(self.streams[it.a]):
                    self.part(it.b, it.c).to("cuda", non_blocking=it.what == "upload")
            case "record":
                self.events[it.b].record(self.streams[it.a])
            case "event waits":
                self.events[it.a].synchronize()
            case "stream waits for event":
                self.streams[it.a].wait_event(self.events[it.b])
            case "stream waits for stream":
                self.streams[it.a].wait_stream(self.streams[it.b])
            case "stream synchronize":
                self.streams[it.a].synchronize()
            case "device synchronize":
                torch.cuda.synchronize()
            case "ask event":
                return bool(self.events[it.a].query())
            case "ask stream":
                return bool(self.streams[it.a].query())
            case "read":
                self.part(it.a, it.b).max()
            case "write":
                self.part(it.a, it.b).fill_(1.0)
            case "pageable upload":
                with torch.cuda.stream(self.streams[it.a]):
                    self.pageable.to("cuda", non_blocking=True)
            case "item":
                with torch.cuda.stream(self.streams[it.a]):
                    torch.ones((), device="cuda").item()
        return False


@given(
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 24)), max_size=3),
    st.sampled_from([1, 2, 4]),
    st.integers(0, 90),
    st.integers(0, 90),
)
def test_a_strided_tensor_touches_the_bytes_that_its_elements_have(
    offset: int, dims: list[tuple[int, int]], width: int, low: int, high: int
) -> None:
    sizes, strides = tuple(size for size, _ in dims), tuple(stride for _, stride in dims)
    starts = [offset]
    for size, stride in dims:
        starts = [start + stride * at for start in starts for at in range(size)]
    used = {start + byte for start in starts for byte in range(width)}
    assert touches(offset, sizes, strides, width, low, high) == bool(used & set(range(low, high)))


def early() -> None:
    torch.ones(8, device="cuda").to("cpu", non_blocking=True).sum()


def test_both_places_are_told_and_kept_in_the_trace() -> None:
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        held = torch.ones(8, device="cuda").to("cpu", non_blocking=True)
        with pytest.raises(CopyRace) as raised:
            held.sum()
    line = test_both_places_are_told_and_kept_in_the_trace.__code__.co_firstlineno + 2
    told = str(raised.value)
    assert f"copied at {__file__}:{line} in" in told
    assert f"read at {__file__}:{line + 2} in" in told
    (race,) = trace.record.extra["races"]
    assert (race["code"], race["count"]) == ("ASG404", 1)
    assert race["copied_at"]["line"], race["used_at"]["line"] == (line, line + 2)


def test_races_are_warned_of_or_ignored_where_they_are_to_be() -> None:
    with asyncguard.simulate_cuda(races="warn"), pytest.warns(RuntimeWarning, match="ASG404"):
        early()
    with (
        warnings.catch_warnings(),
        asyncguard.simulate_cuda(races="ignore"),
        asyncguard.trace() as trace,
    ):
        warnings.simplefilter("error")
        early()
    assert len(trace.record.extra["races"]) == 1
    with pytest.raises(AsyncguardError, match="one of raise, warn, ignore"):
        asyncguard.simulate_cuda(races="never")


def test_a_race_is_kept_once_and_counted() -> None:
    with asyncguard.simulate_cuda(races="ignore") as simulation:
        for _ in range(3):
            early()
    (count,) = simulation.machine.races.found.values()
    assert count == 3


def test_a_buffer_that_is_uploaded_again_and_again_keeps_one_copy() -> None:
    with asyncguard.simulate_cuda() as simulation:
        staging = torch.ones(1 << 15).pin_memory()
        for _ in range(50):
            staging.to("cuda", non_blocking=True)
        flight = staging.untyped_storage()._asyncguard_flight
        assert len(flight.copies) == 1
        with pytest.raises(CopyRace):
            staging.zero_()
        torch.cuda.synchronize()
        staging.zero_()
        assert not flight.copies
    assert len(simulation.machine.races.found) == 1


def test_memory_that_is_freed_takes_its_copies_along() -> None:
    with asyncguard.simulate_cuda():
        for _ in range(20):
            torch.ones(1 << 15).pin_memory().to("cuda", non_blocking=True)
            fresh = torch.ones(1 << 15).pin_memory()
            fresh.zero_()


def test_what_an_event_or_a_stream_says_of_itself_is_known() -> None:
    with asyncguard.simulate_cuda(races="ignore") as simulation:
        for is_event in (True, False):
            held, event = torch.empty(8, pin_memory=True), torch.cuda.Event()
            held.copy_(torch.ones(8, device="cuda"), non_blocking=True)
            event.record()
            asked = event if is_event else torch.cuda.current_stream()
            assert not asked.query()
            held.sum()
            simulation.machine.timeline.advance_host(10**9)
            assert asked.query()
            held.sum()
    assert list(simulation.machine.races.found.values()) == [2]  # one a turn, at one line


READS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda h: h.numpy(),
    "np.asarray": np.asarray,
    "tolist": lambda h: h.tolist(),
    "an element": lambda h: float(h[3]),
    "text": str,
    "format": lambda h: f"{h[0]:.2f}",
    "iteration": lambda h: [part + 1 for part in h],
    "clone": lambda h: h.clone(),
    "another dtype": lambda h: h.to(torch.float64),
    "join": lambda h: torch.cat([h, torch.ones(2)]),
    "new tensor": lambda h: torch.tensor(h),
    "deep copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "saved": lambda h: torch.save({"h": h}, io.BytesIO()),
    "storage": lambda h: h.untyped_storage().tolist(),
    "comparison": lambda h: torch.equal(h, torch.ones(8)),
}
NO_READS: dict[str, Callable[[Any], Any]] = {
    "views": lambda h: h.view(2, 4)[1:].t().detach(),
    "figures": lambda h: (h.shape, h.stride(), h.dtype, h.is_pinned(), h.data_ptr(), h.nbytes),
    "tensors like it": lambda h: (torch.empty_like(h), torch.zeros_like(h), h.new_ones(3)),
    "pinned again": lambda h: h.pin_memory(),
    "uploaded on the same stream": lambda h: h.to("cuda", non_blocking=True),
    "filled again on the same stream": lambda h: h.copy_(
        torch.ones(8, device="cuda"), non_blocking=True
    ),
}


def test_whatever_reads_a_tensor_is_a_read_and_nothing_else() -> None:
    def agrees(name: str) -> None:
        with asyncguard.simulate_cuda():
            held = torch.ones(8, device="cuda").to("cpu", non_blocking=True)
            if name in NO_READS:
                NO_READS[name](held)
                return
            with pytest.raises(CopyRace, match="ASG404"):
                READS[name](held)

    assert not wrong({**READS, **NO_READS}, agrees)


def test_copies_of_lists_are_copies() -> None:
    with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
        sources = [torch.ones(8, device="cuda") for _ in range(2)]
        targets = [torch.empty(8, pin_memory=True) for _ in range(2)]
        torch._foreach_copy_(targets, sources, non_blocking=True)
        with pytest.raises(CopyRace):
            targets[1].sum()
        assert trace.total_syncs == 0
        torch._foreach_copy_(targets, sources)
        assert targets[1].sum() == 8


def test_threads_are_one_host() -> None:
    import threading

    with asyncguard.simulate_cuda():
        held = torch.ones(8, device="cuda").to("cpu", non_blocking=True)
        thread = threading.Thread(target=torch.cuda.synchronize)
        thread.start()
        thread.join()
        assert held.sum().item() == 8.0


def test_the_backward_pass_of_a_copy_is_ordered_too() -> None:
    with asyncguard.simulate_cuda():
        weight = torch.ones(1 << 15).pin_memory().requires_grad_()
        loss = weight.to("cuda", non_blocking=True).sum()
        loss.backward()
        torch.cuda.synchronize()
        assert weight.grad is not None
        assert weight.grad.sum().item() == 1 << 15


@pytest.fixture(scope="class")
def warning_of_races() -> Iterator[None]:
    with asyncguard.simulate_cuda(races="warn"):
        yield


def check(steps: list[Do]) -> set[tuple[int, str]]:
    """Run a program both ways; return its races: at which steps, and of which code."""
    search, program, told = Search(), Program(), set()
    for at, it in enumerate(steps):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answered = program.run(it)
        told |= {(at, str(each.message)[:6]) for each in caught}
        search.run(at, it, answered)
    assert told == search.races
    return told


@pytest.mark.usefixtures("warning_of_races")
class TestTheLaw:
    @settings(max_examples=150, deadline=None)
    @given(PROGRAMS)
    def test_a_race_is_told_of_exactly_where_nothing_orders_copy_and_use(
        self, steps: list[Do]
    ) -> None:
        check(steps)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, STREAMS - 1), st.integers(0, BUFFERS - 1), PROGRAMS)
    def test_so_it_is_where_a_copy_comes_first_and_its_use_last(
        self, stream: int, buffer: int, between: list[Do]
    ) -> None:
        check([Do("download", stream, buffer, PARTS), *between, Do("read", buffer, PARTS)])
        check([Do("upload", stream, buffer, PARTS), *between, Do("write", buffer, 1)])
