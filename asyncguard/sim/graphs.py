"""What stands in for torch.cuda.CUDAGraph: work that is captured once, and launched at once.

torch's own `graph` and `make_graphed_callables` run on it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
import torch.cuda.graphs

from asyncguard.runtime import limits
from asyncguard.runtime.patch import Place
from asyncguard.runtime.sites import Site
from asyncguard.sim.captures import (
    INVALIDATED,
    MODES,
    UNJOINED,
    UNSUPPORTED,
    Capture,
    CaptureError,
    caller,
    captures,
    error,
)
from asyncguard.sim.machine import Machine, NotSimulated
from asyncguard.sim.recording import Recording

_EMPTY = (
    "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on"
    " wrong device or stream."
)
_pools = itertools.count(1)


class WaitInCapture(limits.SyncLimitExceeded, CaptureError):  # noqa: N818  as its base
    """What a wait of the catalogue's raises in a capture, at its line and before it waits."""


class _Limit(limits.limit_syncs):
    """While something captures: refuses the waits of threads that hand work to the capture."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(0, on="raise", device="cuda")
        self._machine = machine

    def spend(self, site: Site) -> None:
        """Raise what CUDA raises. A barrier says itself what it waits for."""
        if not self.terms.counted.has(site) or site.blocker.point.kind.value == "barrier":
            return
        capture = captures.of(self._machine.stream())
        if capture is not None:
            place = f"{site.path}:{site.line}"
            failed = capture.fail(UNSUPPORTED, f"{place}: {site.blocker.point.id} waits")
            told = WaitInCapture(*failed.args)
            told.error_code = failed.error_code
            raise told

    def _judge(self, error: type[BaseException] | None) -> None:
        """The capture says where it ends that it has failed."""

    def _require_sight(self, faults: tuple[str, ...]) -> None:
        """Where hooks see nothing, operators and copies are refused by themselves."""


class CUDAGraph:
    """A captured graph, with the face of torch.cuda.CUDAGraph.

    keep_graph: whether it is instantiated by `instantiate`, or its first replay, and not before.
    """

    _machine: ClassVar[Machine]

    def __init__(self, keep_graph: bool = False) -> None:
        self._keeps = keep_graph
        self._generators: list[Any] = []
        self._capture: Capture | None = None  # that is under way
        self._captured: Capture | None = None  # that is over
        self._pool: Any = None
        self._is_ready = False  # whether it is instantiated

    def capture_begin(
        self,
        pool: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Begin to capture what is handed to the current stream."""
        if check_input_liveness:
            raise NotSimulated("torch.cuda.CUDAGraph.capture_begin(check_input_liveness=True)")
        if capture_error_mode not in MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got"
                f" {capture_error_mode}"
            )
        if self._captured is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph,"
                " create a new instance."
            )
        machine = self._machine
        stream = machine.stream()
        if stream is machine.timeline.default_stream(stream.device):
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture,"
                " it's ok to replay them on the default stream.)"
            )
        captures.forbid_on(stream, "a capture that begins within a capture")
        self._pool = pool if pool is not None else _new_pool()
        limit = _Limit(machine)
        limits.hold_all(limit)
        self._capture = Capture(stream, capture_error_mode, caller(), Recording(self._generators))
        self._capture.release = lambda: limits.let_all_go(limit)
        captures.under_way = (*captures.under_way, self._capture)

    def capture_end(self) -> None:
        """End the capture; raises what CUDA raises of one that has failed."""
        capture = self._capture
        if capture is None:
            raise error(UNSUPPORTED, "no capture of this graph is under way")
        if self._machine.stream() is not capture.origin:
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._leave()
        if capture.broken:
            raise error(INVALIDATED, capture.broken)
        if not capture.is_joined:
            raise error(
                UNJOINED,
                f"a stream that waits for the capture that began at {capture.began} has work that"
                " the first stream does not wait for",
            )
        if not capture.nodes:
            warnings.warn(_EMPTY, UserWarning, stacklevel=2)
        self._captured = capture
        self._is_ready = not self._keeps

    def _leave(self) -> None:
        if self._capture is not None:
            _end(self._capture)
            self._capture = None

    def instantiate(self) -> None:
        """Make it ready to be launched."""
        if self._captured is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if not self._keeps:
            raise RuntimeError(
                "instantiate() is intended to be called by the user only when keep_graph=true"
            )
        self._is_ready = True

    def replay(self) -> None:
        """Launch what was captured, as one operation of the current stream."""
        captured = self._captured
        if captured is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        machine = self._machine
        device = machine.devices[captured.origin.device]
        if captures.of(machine.stream(device.index)) is not None:
            raise NotSimulated("torch.cuda.CUDAGraph.replay within a capture")
        self._is_ready = True
        machine.arrive()
        try:
            captured.recording.replay()
            machine.enqueue(captured.duration, "graph", device)
        finally:
            machine.leave()

    def reset(self) -> None:
        """Forget what was captured, and let go of its memory."""
        self._leave()
        self._captured = self._pool = None
        self._is_ready = False

    def pool(self) -> Any:
        """What another capture is told to share memory with this one."""
        if self._captured is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def register_generator_state(self, generator: Any) -> None:
        """Let captures draw from a generator: at each replay anew, as without a graph."""
        self._generators.append(generator)

    def enable_debug_mode(self) -> None:
        """Nothing is there to be dumped."""

    def __getattr__(self, name: str) -> Any:
        if name in _MISSING:
            raise NotSimulated(f"torch.cuda.CUDAGraph.{name}")
        raise AttributeError(f"'CUDAGraph' object has no attribute {name!r}")


_MISSING = ("debug_dump", "raw_cuda_graph", "raw_cuda_graph_exec", "get_graph_data")


def _end(capture: Capture) -> None:
    """A capture is over: nothing is recorded any more."""
    captures.under_way = tuple(each for each in captures.under_way if each is not capture)
    capture.release()
    capture.recording.end()


def _new_pool() -> tuple[int, int]:
    return 0, next(_pools)


def functions(machine: Machine) -> dict[str, Callable[..., Any]]:
    """What takes the place of functions of torch._C."""
    return {
        "_graph_pool_handle": _new_pool,
        "_host_emptyCache": lambda: None,
        "_cuda_isCurrentStreamCapturing": lambda: captures.of(machine.stream()) is not None,
    }


def replacements(machine: Machine) -> Iterator[tuple[Place, Any]]:
    """What takes the place of CUDA's graphs."""
    named = {"__module__": "torch.cuda", "__qualname__": "CUDAGraph", "_machine": machine}
    yield Place(torch.cuda, "CUDAGraph"), type("CUDAGraph", (CUDAGraph,), named)
    own = torch.cuda.graphs.graph
    about = {"__module__": "torch.cuda", "__doc__": own.__doc__, "default_capture_stream": None}
    yield Place(torch.cuda, "graph"), type("graph", (own,), about)


def forget() -> None:
    """The simulation ends: so do the captures under way."""
    for capture in captures.under_way:
        _end(capture)
