"""CUDA graphs on the simulated device: capture runs nothing, replay all, and waits break it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import asyncguard
from tests.frameworks import require
from tests.runtime import graph_programs
from tests.runtime.graph_programs import PROGRAMS, Program

torch = require("torch")
pytestmark = pytest.mark.usefixtures("simulated")
AcceleratorError = getattr(torch, "AcceleratorError", RuntimeError)


@contextmanager
def breaking() -> Iterator[list[BaseException]]:
    """A block in which a capture breaks; yields the errors, the one within the capture first."""
    found: list[BaseException] = []
    stream = torch.cuda.current_stream()
    try:
        yield found
    except RuntimeError as error:
        found += [each for each in (error.__context__, error) if each is not None]
    finally:
        torch.cuda.set_stream(stream)  # torch's own context stays in the stream of what broke
    assert found, "nothing broke"


def captured(work: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """The graph of some work, and what the work returned."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result


def test_the_table_has_as_many_programs_as_it_says() -> None:
    assert (len(graph_programs.CAPTURES), len(graph_programs.FAILS)) == (10, 15)
    assert len({program.name for program in PROGRAMS}) == 25


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_capture_and_fail_as_on_cuda(program: Program) -> None:
    graph_programs.check(torch, program)


def test_a_capture_runs_nothing() -> None:
    x, y = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    state = torch.get_rng_state()
    norm = torch.nn.BatchNorm1d(3).cuda()

    def work() -> tuple[Any, Any]:
        x.add_(1)
        torch.mul(x, 2, out=y)
        norm(torch.rand(4, 3, device="cuda"))
        return x + 1, (x > 0)

    _, (made, mask) = captured(work)
    assert x.tolist() == [1, 1, 1]
    assert y.tolist() == [0, 0, 0]
    assert norm.running_mean.tolist() == [0, 0, 0]
    assert torch.equal(torch.get_rng_state(), state)
    assert made.isnan().all()  # memory that nothing has been written to
    assert not mask.any()


def test_operators_whose_operands_have_no_values_yet_are_captured() -> None:
    table = torch.nn.Embedding(10, 4).cuda()
    index = torch.full((3,), 999, device="cuda")
    graph, rows = captured(lambda: table(index))
    index.copy_(torch.tensor([1, 2, 3]))
    graph.replay()
    assert torch.equal(rows, table(index))
    with pytest.raises(RuntimeError, match="shape"):
        captured(lambda: torch.ones(2, 3, device="cuda") @ torch.ones(2, 3, device="cuda"))
    torch.cuda.set_stream(torch.cuda.default_stream())


def test_a_graph_keeps_what_it_was_captured_with() -> None:
    x, scale = torch.ones(2, device="cuda"), torch.tensor(3.0)
    graph, y = captured(lambda: x * scale)
    memory = x
    scale.fill_(5)  # a number of the host's goes along by value
    x = torch.zeros(2, device="cuda")  # another tensor: the graph reads the first one
    memory.fill_(2)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        graph.replay()
    assert y.tolist() == [6, 6]
    assert x.tolist() == [0, 0]


def test_a_replay_is_one_launch_and_no_wait() -> None:
    x = torch.ones(64, 64, device="cuda")

    def work() -> Any:
        y = x
        for _ in range(50):
            y = y * 1.5
        return y

    graph, _ = captured(work)

    def traced(run: Callable[[], Any]) -> Any:
        with asyncguard.trace(timeline=True) as trace:
            run()
        return trace.record

    eager, replayed = traced(work), traced(graph.replay)
    kinds = [event.kind for event in replayed.timeline if event.kind in ("enqueue", "run")]
    assert kinds == ["enqueue", "run"]
    assert replayed.total_syncs == 0
    runs = [event for event in replayed.timeline if event.kind == "run"]
    assert sum(run.end_ns - run.begin_ns for run in runs) == sum(
        event.end_ns - event.begin_ns for event in eager.timeline if event.kind == "run"
    )
    assert replayed.duration_ns * 50 == eager.duration_ns  # of the host, which does not wait


def test_branches_of_a_graph_run_beside_each_other(simulated: Any) -> None:
    x, side = torch.ones(1 << 20, device="cuda"), torch.cuda.Stream()

    def forked() -> None:
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        x * 2
        with torch.cuda.stream(side):
            x * 3
        main.wait_stream(side)

    def in_row() -> None:
        x * 2
        x * 3

    def took(work: Callable[[], None]) -> int:
        graph, _ = captured(work)
        torch.cuda.synchronize()
        began = simulated.now()
        graph.replay()
        torch.cuda.synchronize()
        return int(simulated.now()) - began

    assert took(forked) < took(in_row)


def test_what_comes_after_a_wait_that_was_caught_fails_too() -> None:
    x = torch.ones(3, device="cuda")
    with breaking() as errors, torch.cuda.graph(torch.cuda.CUDAGraph()):
        with pytest.raises(AcceleratorError, match="not permitted when stream is capturing"):
            x.sum().item()
        with pytest.raises(AcceleratorError, match="previous error during capture"):
            x + 1
    assert errors[-1].error_code == 901  # type: ignore[attr-defined]
    (x + 1).sum().item()  # the device is as it was


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: x.tolist(),
        lambda x: print(x),
        lambda x: x.numpy(force=True),
        lambda x: x[torch.tensor([0, 1])],
        lambda x: x.to("cpu", non_blocking=True),
        lambda x: torch.tensor([1.0], device="cuda"),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.copy_(torch.ones(3), non_blocking=True),
        lambda x: torch.cuda.current_stream().synchronize(),
        lambda x: torch.unique(x),
        lambda x: x.repeat_interleave((x > 0).long()),
        lambda x: torch.cuda.empty_cache(),
        lambda x: torch.nn.functional.one_hot(x.long()),
    ],
    ids=lambda _: "",
)
@pytest.mark.parametrize("allowed", [False, True])
def test_waits_break_a_capture_at_their_line(wait: Callable[[Any], Any], allowed: bool) -> None:
    x = torch.ones(3, device="cuda")
    with breaking() as errors, torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x + 1
        if allowed:  # by limits of ours, of which CUDA knows nothing
            with asyncguard.allow_syncs("it is meant"):
                wait(y)
        else:
            wait(y)
    assert "previous error during capture" in str(errors[-1])
    if not allowed:
        assert "not permitted when stream is capturing" in str(errors[0])
        assert "test_graphs.py" in str(errors[0])


def test_what_does_not_wait_is_captured() -> None:
    x, n = torch.arange(4.0, device="cuda"), torch.tensor([1, 2, 1, 0], device="cuda")
    work = (
        lambda: x.repeat_interleave(n, output_size=4),
        lambda: torch.where(x > 1, x, -x),
        lambda: x.masked_fill(x > 1, 0.5),
        lambda: torch.nn.functional.one_hot(n, 3),
        lambda: x[n],
        lambda: torch.zeros(3, device="cuda") + torch.linspace(0, 1, 3, device="cuda"),
        lambda: torch.topk(x, 2).values,
    )
    for each in work:
        graph, found = captured(each)
        graph.replay()
        assert torch.equal(found, each())


def test_modes_tell_whose_unsafe_calls_break_a_capture() -> None:
    event = torch.cuda.Event()
    event.record()
    torch.cuda.synchronize()

    def elsewhere() -> list[BaseException]:
        failed: list[BaseException] = []

        def ask() -> None:
            try:
                event.query()
            except RuntimeError as error:
                failed.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return failed

    x = torch.ones(2, device="cuda")
    captured(lambda: (x + 1, event.query()), capture_error_mode="relaxed")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        x + 1
        assert not elsewhere()
    with breaking(), torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="thread_local"):
        event.query()
    with breaking(), torch.cuda.graph(torch.cuda.CUDAGraph()):
        x + 1
        assert elsewhere()


def test_generators_have_to_be_registered() -> None:
    own = torch.Generator("cuda")
    with pytest.raises(RuntimeError, match="generator not in capture mode"):
        captured(lambda: torch.rand(2, device="cuda", generator=own))
    torch.cuda.set_stream(torch.cuda.default_stream())


def test_an_optimizer_that_keeps_steps_on_the_host_is_refused_by_torch() -> None:
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    weight.grad = torch.ones(2, device="cuda")
    optimizer = torch.optim.Adam([weight])
    optimizer.step()
    with breaking() as errors, torch.cuda.graph(torch.cuda.CUDAGraph()):
        optimizer.step()
    assert any("capturable" in str(each) for each in errors)


def test_the_life_of_a_graph() -> None:
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.pool()
    assert not torch.cuda.is_current_stream_capturing()
    pool = torch.cuda.graph_pool_handle()
    with torch.cuda.graph(graph, pool=pool):
        assert torch.cuda.is_current_stream_capturing()
        assert torch.cuda.current_stream().is_capturing()
        x.add_(1)
    assert not torch.cuda.is_current_stream_capturing()
    assert graph.pool() == pool != torch.cuda.graph_pool_handle()
    with (
        pytest.raises(RuntimeError, match="already owns a captured graph"),
        torch.cuda.graph(graph),
    ):
        pass
    torch.cuda.set_stream(torch.cuda.default_stream())
    graph.replay()
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with torch.cuda.graph(graph):
        x.mul_(10)
    graph.replay()
    assert x.tolist() == [20, 20]
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        captured(lambda: None)
    with pytest.raises(RuntimeError, match="no capture of this graph is under way"):
        torch.cuda.CUDAGraph().capture_end()


def test_a_capture_ends_on_its_stream() -> None:
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="must end on the same stream"):
        graph.capture_end()
    with torch.cuda.stream(stream), pytest.warns(UserWarning, match="empty"):
        graph.capture_end()


def test_a_graph_may_be_kept_for_later() -> None:
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with pytest.raises(RuntimeError, match="capture_end"):
        graph.instantiate()
    with torch.cuda.graph(graph):
        x.add_(1)
    graph.instantiate()
    graph.replay()
    assert x.tolist() == [2, 2]
    with pytest.raises(asyncguard.AsyncguardError, match="raw_cuda_graph is not supported"):
        graph.raw_cuda_graph()


def test_a_replay_within_a_capture_is_not_simulated() -> None:
    x = torch.ones(2, device="cuda")
    graph, _ = captured(lambda: x.add_(1))
    with pytest.raises(asyncguard.AsyncguardError, match="replay within a capture"):
        captured(graph.replay)
    torch.cuda.set_stream(torch.cuda.default_stream())


def test_graphed_callables_compute_and_learn_as_the_modules_do() -> None:
    def network() -> Any:
        torch.manual_seed(4)
        return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))

    graphed, plain = network().cuda(), network().cuda()
    sample = torch.randn(3, 4, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(graphed, (sample,))
    for _ in range(3):
        x = torch.randn(3, 4, device="cuda")
        ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
        for model, value in ((graphed, ours), (plain, theirs)):
            model.zero_grad(set_to_none=True)
            model(value).square().sum().backward()
        assert torch.equal(graphed(ours), plain(theirs))
        assert torch.equal(ours.grad, theirs.grad)
        for one, other in zip(graphed.parameters(), plain.parameters(), strict=True):
            assert torch.equal(one.grad, other.grad)


UNARY = ("sin", "relu", "exp", "neg", "cumsum0", "softmax0", "t", "sort0", "flip0")
IN_PLACE = ("mul_", "add_", "clamp_", "fill_", "uniform_")
Action = tuple[str, int, int]


def carry_out(actions: list[Action], x: Any) -> Any:
    """A straight program over square matrices, of which `x` is the first."""
    made = [x]
    for name, one, other in actions:
        a, b = made[one % len(made)], made[other % len(made)]
        if name == "matmul":
            made.append(a @ b)
        elif name == "view":
            made.append(a[::2].repeat(2, 1))
        elif name in IN_PLACE:
            made.append({
                "mul_": lambda a=a: a.mul_(0.5), "add_": lambda a=a, b=b: a.add_(b.clone()),
                "clamp_": lambda a=a: a.clamp_(-2, 2), "fill_": lambda a=a: a[0].fill_(0.25),
                "uniform_": lambda a=a: a.uniform_(),
            }[name]())  # fmt: skip
            made[-1] = a
        else:
            method = getattr(a, name.rstrip("0"))
            result = (
                method(0)
                if name.endswith("0") and name != "flip0"
                else (a.flip(0) if name == "flip0" else method())
            )
            made.append(result[0] if isinstance(result, tuple) else result)
    return made[-1].clone()


@given(
    st.lists(
        st.tuples(
            st.sampled_from((*UNARY, *IN_PLACE, "matmul", "view")),
            st.integers(0, 9),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_straight_program_replays_as_it_runs(actions: list[Action]) -> None:
    values = [torch.arange(16.0).view(4, 4).mul(scale).sin() for scale in (0.5, 1.0)]
    eager, static = torch.zeros(4, 4, device="cuda"), torch.zeros(4, 4, device="cuda")
    graph, found = captured(lambda: carry_out(actions, static))
    assert not static.any()
    for value in values:
        states = []
        for x, run in ((eager, lambda: carry_out(actions, eager)), (static, graph.replay)):
            torch.manual_seed(2)
            x.copy_(value)
            made = run()
            states.append((x.cpu(), (found if made is None else made).cpu()))
        for one, other in zip(*states, strict=True):
            assert torch.equal(one.nan_to_num(7.5), other.nan_to_num(7.5))


def test_what_hands_an_operand_on_leaves_it_as_it_is() -> None:
    x = torch.ones(3, device="cuda")
    graph, (kept, _) = captured(lambda: torch.native_dropout(x, 0.0, False))
    assert x.tolist() == [1, 1, 1]
    graph.replay()
    assert kept.tolist() == [1, 1, 1]


def test_an_upload_from_pinned_memory_reads_it_at_each_replay() -> None:
    pinned = torch.ones(3).pin_memory()
    graph, y = captured(lambda: pinned.to("cuda", non_blocking=True) * 2)
    pinned.fill_(4)
    graph.replay()
    assert y.tolist() == [8, 8, 8]


def test_a_full_trace_sees_a_capture_as_a_light_one_does() -> None:
    x = torch.ones(3, device="cuda")
    with asyncguard.trace(depth="full") as trace:
        graph, y = captured(lambda: x * 2)
        before = trace.total_syncs
        graph.replay()
        assert trace.total_syncs == before
    assert y.tolist() == [2, 2, 2]


def test_each_device_has_captures_of_its_own() -> None:
    here, there = torch.ones(2, device="cuda:0"), torch.ones(2, device="cuda:1")

    def both() -> tuple[Any, Any]:
        return here + 1, there + 1

    graph, (ran, recorded) = captured(both, stream=torch.cuda.Stream(1))
    assert ran.tolist() == [2, 2]
    assert recorded.isnan().all()
    graph.replay()
    assert recorded.tolist() == [2, 2]
