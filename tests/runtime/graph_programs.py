"""25 programs for CUDA graphs: 10 that capture, and 15 that fail, with the errors that CUDA has.

`tests/sim/test_graphs.py` runs them on the simulated device; `tests/runtime/test_cuda_graphs.py`
asks a real one, each in a process of its own.

**No device has been asked yet.** The errors are those of CUDA's documentation (the runtime API's
error codes and stream capture), of NVIDIA's guide to capture failures and of torch's sources; where
releases of torch are known to differ, the row says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

UNSUPPORTED = "operation not permitted when stream is capturing"
INVALIDATED = "operation failed due to a previous error during capture"
UNJOINED = "capturing stream has unjoined work"
ISOLATION = "dependency created on uncaptured work in another stream"
IMPLICIT = "operation would make the legacy stream depend on a capturing blocking stream"
CAPTURED_EVENT = "operation not permitted on an event last recorded in a capturing stream"
INPUTS = 3  # that a graph is replayed on, one after the other


class Program(NamedTuple):
    """A program, as source over the names of `names`.

    before:  what runs once, before the capture.
    within:  what is captured.
    results: an expression for the tensors that are compared, after each replay and each eager run.
    inside:  what the error says that is raised within the capture; "": none is.
    end:     what the end of the capture says; "": it raises nothing.
    options: of torch.cuda.graph.
    note:    where releases of torch differ.
    """

    name: str
    within: str
    before: str = ""
    results: str = "(y,)"
    inside: str = ""
    end: str = ""
    options: str = "{}"
    note: str = ""

    @property
    def fails(self) -> bool:
        return bool(self.inside or self.end)


CAPTURES = (
    Program("a chain of operators", "y = (x @ w).relu().sum(1).softmax(0)"),
    Program(
        "a buffer that is counted up in place",
        "n += 1\ny = x * n",
        before="n = torch.zeros((), device='cuda')",
        results="(y, n)",
    ),
    Program(
        "a training step with momentum",
        "optimizer.zero_grad(set_to_none=False)\ny = model(x).square().mean()\n"
        "y.backward()\noptimizer.step()",
        before="model = network()\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"
        "aside(lambda: (model(x).square().mean().backward(), optimizer.step()))",
        results="(y, *model.parameters(), *model.buffers())",
    ),
    Program(
        "Adam, which keeps its steps on the device",
        "optimizer.zero_grad(set_to_none=False)\ny = model(x).square().mean()\n"
        "y.backward()\noptimizer.step()",
        before="model = network()\n"
        "optimizer = torch.optim.Adam(model.parameters(), lr=0.1, capturable=True)\n"
        "aside(lambda: (model(x).square().mean().backward(), optimizer.step()))",
        results="(y, *model.parameters())",
    ),
    Program(
        "a stream that is forked and joined",
        "main = torch.cuda.current_stream()\nside.wait_stream(main)\n"
        "with torch.cuda.stream(side):\n    z = x * 2\n"
        "y = x + 1\nmain.wait_stream(side)\ny = y + z",
        before="side = torch.cuda.Stream()",
    ),
    Program(
        "an event between two streams",
        "main = torch.cuda.current_stream()\nz = x.exp()\nready.record()\n"
        "with torch.cuda.stream(side):\n    ready.wait()\n    y = z * 3\n    done.record()\n"
        "done.wait()\ny = y - z",
        before="side = torch.cuda.Stream()\nready, done = torch.cuda.Event(), torch.cuda.Event()",
    ),
    Program(
        "random numbers of the default generator",
        "y = torch.nn.functional.dropout(x, 0.5) + torch.rand_like(x)",
        before="torch.manual_seed(7)",
    ),
    Program(
        "random numbers of a generator that is registered",
        "y = x + torch.rand(x.shape, device='cuda', generator=own)",
        before="own = torch.Generator('cuda')\nown.manual_seed(11)\n"
        "graph.register_generator_state(own)",
    ),
    Program(
        "an asynchronous copy from pinned memory, and one into it",
        "z.copy_(pinned, non_blocking=True)\ny = x + z\nhost.copy_(y, non_blocking=True)",
        before="z = torch.empty(8, 4, device='cuda')\npinned = torch.ones(8, 4).pin_memory()\n"
        "host = torch.zeros(8, 4).pin_memory()",
        results="(y, host)",
    ),
    Program(
        "autocast, in a pool, with the mode of this thread alone",
        "with torch.autocast('cuda', dtype=torch.bfloat16, cache_enabled=False):\n"
        "    y = (x @ w).float()\ny = torch.where(y > 0, y, -y)[index]",
        before="index = torch.tensor([2, 0, 1], device='cuda')",
        options="{'pool': torch.cuda.graph_pool_handle(), 'capture_error_mode': 'thread_local'}",
    ),
)
FAILS = (
    Program("item", "x.sum().item()", inside=UNSUPPORTED, end=INVALIDATED),
    Program("cpu", "x.cpu()", inside=UNSUPPORTED, end=INVALIDATED),
    Program(
        "truth of a tensor", "y = x if x.sum() > 0 else -x", inside=UNSUPPORTED, end=INVALIDATED
    ),
    Program("nonzero", "x.nonzero()", inside=UNSUPPORTED, end=INVALIDATED),
    Program("an index by a mask", "y = x[x > 0]", inside=UNSUPPORTED, end=INVALIDATED),
    Program(
        "torch.cuda.synchronize", "torch.cuda.synchronize()", inside=UNSUPPORTED, end=INVALIDATED
    ),
    Program(
        "a copy from pageable memory",
        "y = x + table.to('cuda')",
        before="table = torch.ones(8, 4)",
        inside=UNSUPPORTED,
        end=INVALIDATED,
    ),
    Program(
        "an allocation of pinned memory",
        "y = x + 1\nheld = [torch.ones(1 << 20).pin_memory() for _ in range(4)]",
        before="keep = torch.ones(1 << 20).pin_memory()\nkeep.to('cuda', non_blocking=True)\n"
        "del keep",
        inside=UNSUPPORTED,
        end=INVALIDATED,
        note="torch may have a pool of pinned memory for each graph (pytorch#167507), and then"
        " allows it",
    ),
    Program(
        "a query of an event",
        "y = x + 1\nbefore.query()",
        before="before = torch.cuda.Event()\nbefore.record()",
        inside=UNSUPPORTED,
        end=INVALIDATED,
    ),
    Program(
        "a query of the stream that captures",
        "y = x + 1\ntorch.cuda.current_stream().query()",
        inside=UNSUPPORTED,
        end=INVALIDATED,
    ),
    Program(
        "a wait for an event of the capture",
        "y = x + 1\nevent.record()\nevent.synchronize()",
        before="event = torch.cuda.Event()",
        inside=CAPTURED_EVENT,
        end=INVALIDATED,
    ),
    Program(
        "a stream that is forked and not joined",
        "side.wait_stream(torch.cuda.current_stream())\n"
        "with torch.cuda.stream(side):\n    z = x * 2\ny = x + 1",
        before="side = torch.cuda.Stream()",
        end=UNJOINED,
    ),
    Program(
        "a wait for work that is not captured",
        "torch.cuda.current_stream().wait_stream(side)\ny = x + 1",
        before="side = torch.cuda.Stream()\n"
        "with torch.cuda.stream(side):\n    z = torch.ones(4, device='cuda')",
        inside=ISOLATION,
        end=INVALIDATED,
    ),
    Program(
        "the default stream",
        "y = x + 1\ntorch.cuda.default_stream().wait_stream(torch.cuda.current_stream())",
        inside=IMPLICIT,
        end=INVALIDATED,
    ),
    Program(
        "a capture that begins on the default stream",
        "y = x + 1",
        options="{'stream': torch.cuda.default_stream()}",
        inside="CUDA graphs must be captured on a non-default stream",
    ),
)
PROGRAMS = (*CAPTURES, *FAILS)


def names(torch: Any) -> dict[str, Any]:
    """What the programs are made of. `x`, of (8, 4), is what changes from replay to replay."""

    def network() -> Any:
        torch.manual_seed(3)
        layers = torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.GELU()
        return torch.nn.Sequential(*layers, torch.nn.Linear(6, 2)).to("cuda")

    def aside(work: Any) -> None:
        """Run something on a stream of its own, before a capture."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            work()
        torch.cuda.current_stream().wait_stream(stream)

    torch.manual_seed(1)
    w = torch.arange(12.0).view(4, 3).sin().to("cuda")
    return {
        "torch": torch, "x": inputs(torch)[0].to("cuda"), "w": w, "network": network,
        "aside": aside, "graph": torch.cuda.CUDAGraph(),
    }  # fmt: skip


def inputs(torch: Any) -> list[Any]:
    """The values that `x` takes, on the host."""
    return [torch.arange(32.0).view(8, 4).mul(0.3 * (at + 1)).cos() for at in range(INPUTS)]


def outcomes(torch: Any, program: Program, captured: bool) -> Iterator[list[Any]]:
    """The results, on the host, for each input: of replays of one capture, or of eager runs."""
    scope = names(torch)
    exec(program.before, scope)
    run = compile(program.within, f"<{program.name}>", "exec")
    if captured:
        with torch.cuda.graph(scope["graph"], **eval(program.options, scope)):
            exec(run, scope)
    for value in inputs(torch):
        scope["x"].copy_(value)
        if captured:
            scope["graph"].replay()
        else:
            exec(run, scope)
        torch.cuda.synchronize()
        yield [tensor.detach().cpu().clone() for tensor in eval(program.results, scope)]


def errors(torch: Any, program: Program) -> tuple[BaseException | None, BaseException | None]:
    """What is raised within the capture, and by its end."""
    scope = names(torch)
    exec(program.before, scope)
    inside: BaseException | None = None
    end: BaseException | None = None
    capture = torch.cuda.graph(scope["graph"], **eval(program.options, scope))
    with ExitStack() as undo, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        undo.callback(torch.cuda.set_stream, torch.cuda.default_stream())
        try:
            capture.__enter__()
            exec(program.within, scope)
        except RuntimeError as error:
            inside = error
        try:
            if inside is None or program.end:
                capture.__exit__(None, None, None)
        except RuntimeError as error:
            end = error
    return inside, end


def check(torch: Any, program: Program) -> None:
    """AssertionError where the device does not do what the program says."""
    if not program.fails:
        pairs = zip(
            list(outcomes(torch, program, captured=True)),
            list(outcomes(torch, program, captured=False)),
            strict=True,
        )
        for of_graph, eager in pairs:
            assert len(of_graph) == len(eager)
            for one, other in zip(of_graph, eager, strict=True):
                assert torch.equal(one, other), program.name
        return
    kind = getattr(torch, "AcceleratorError", RuntimeError)
    for error, expected in zip(errors(torch, program), (program.inside, program.end), strict=True):
        assert (error is not None) == bool(expected), (program.name, error)
        assert expected in str(error or ""), (program.name, error)
        if expected and "non-default" not in expected:
            assert isinstance(error, kind), (program.name, type(error))


def on_device(name: str) -> None:
    """Check one program on the device that is there."""
    import torch

    check(torch, next(program for program in PROGRAMS if program.name == name))
