"""What stands in where torch's own code picks a path by device: AMP, compile, threads."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, List  # noqa: UP035

import torch
import torch.amp.autocast_mode
import torch.autograd.profiler
import torch.export
from torch.profiler import ProfilerActivity

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim.machine import Device, Machine, NotSimulated
from asyncguard.sim.places import CPU, resolve

_ON_CPU = "asyncguard: the simulated CUDA device runs {} eagerly"
MakeMode = Callable[[], private.TorchDispatchMode]
OnLeaving = Callable[[Callable[[], None]], object]

_LOOPS = {
    "asgd": private.asgd_loop, "nadam": private.nadam_loop, "radam": private.radam_loop,
}  # fmt: skip


def replacements(
    machine: Machine, mode: MakeMode, on_leaving: OnLeaving
) -> Iterator[tuple[Place, Any]]:
    """`mode` makes the dispatch mode that simulates a thread's operators; `on_leaving` takes
    what is to be called when the simulation ends.
    """
    yield from _autocast(machine)
    yield Place(torch, "Generator"), _generator(machine)
    yield Place(torch, "compile"), _compile(on_leaving)
    for name in ("export", "draft_export"):
        if hasattr(torch.export, name):
            yield Place(torch.export, name), _refuse(f"torch.export.{name}")
    yield Place(private.FakeTensorMode, "__enter__"), _refuse("torch's FakeTensorMode")
    yield Place(threading.Thread, "start"), _start(machine, mode)
    yield (
        Place(private.foreach_utils, "_get_fused_kernels_supported_devices"),
        _fused_devices,
    )
    # Their two forms round differently; the CPU's is the loop.
    for name, loop in _LOOPS.items():
        yield Place(import_module(f"torch.optim.{name}"), f"_multi_tensor_{name}"), loop
    # The profiler of a build without CUDA would record events of its own for each operator.
    activities = frozenset({ProfilerActivity.CPU, ProfilerActivity.CUDA})
    yield Place(torch.autograd.profiler, "_supported_activities"), lambda: activities
    yield Place(torch, "ctc_loss"), _ctc_loss()
    # Nothing is computed by cuDNN, which builds for CUDA would ask to pack an LSTM's weights.
    yield Place(torch.backends.cudnn, "is_acceptable"), lambda tensor: False
    for name in ("svd", "svdvals"):
        yield Place(torch.linalg, name), _without_driver(getattr(torch.linalg, name))
    yield Place(private.builtins, "_find_builtin"), _finding()
    yield Place(private.C, "_group_tensors_by_device_and_dtype"), _grouping()


# torch.jit.script reads this.
def _fused_devices() -> List[str]:  # noqa: UP006
    return ["cuda", "cpu"]


def _autocast(machine: Machine) -> Iterator[tuple[Place, Any]]:
    """Autocast of "cuda" is the CPU's, in the dtype that it has on CUDA."""
    names = {
        "set_autocast_enabled": torch.set_autocast_enabled,
        "set_autocast_dtype": torch.set_autocast_dtype,
    }
    set_enabled, set_dtype = names.values()
    is_enabled = torch.is_autocast_enabled
    before = threading.local()

    def enable(*args: Any) -> None:
        set_enabled(*args)
        kind, enabled = args if len(args) == 2 else ("cuda", *args)
        if kind != "cuda":
            return
        if enabled:
            if not hasattr(before, "cpu"):
                before.cpu = is_enabled("cpu"), torch.get_autocast_dtype("cpu")
            set_enabled("cpu", True)
            set_dtype("cpu", torch.get_autocast_dtype("cuda"))
        elif hasattr(before, "cpu"):
            was, dtype = before.cpu
            del before.cpu
            set_enabled("cpu", was)
            set_dtype("cpu", dtype)

    def choose(kind: str, dtype: torch.dtype) -> None:
        set_dtype(kind, dtype)
        if kind == "cuda" and is_enabled("cuda"):
            set_dtype("cpu", dtype)

    yield Place(torch, "set_autocast_enabled"), enable
    yield Place(torch, "set_autocast_dtype"), choose
    yield Place(torch, "set_autocast_gpu_dtype"), lambda dtype: choose("cuda", dtype)


def _generator(machine: Machine) -> Any:
    own = torch.Generator

    class Meta(type(own)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, own)

    class Generator(own, metaclass=Meta):  # type: ignore[valid-type,misc]
        """torch.Generator: one for a simulated device draws from the CPU's."""

        def __new__(cls, device: Any = "cpu") -> Any:
            target = resolve(machine, device)
            made = super().__new__(cls, CPU if isinstance(target, Device) else target)
            made._place = target
            if isinstance(target, Device):
                machine.generators[private.address(made)] = made
            return made

        @property
        def device(self) -> torch.device:
            place = self._place
            return place.device if isinstance(place, Device) else place

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator


def _ctc_loss() -> Any:
    """Lengths on the host go by value: C++ code takes them along to a device that it cannot see.

    Targets on the host are sent to the device.
    """
    own = torch.ctc_loss

    @functools.wraps(own)
    def ctc_loss(log_probs: Any, targets: Any, *lengths_and_more: Any, **more: Any) -> Any:
        lengths = [
            value.tolist() if torch.is_tensor(value) and not value.is_cuda else value
            for value in lengths_and_more[:2]
        ]
        to = targets.to(log_probs.device)
        return own(log_probs, to, *lengths, *lengths_and_more[2:], **more)

    return ctc_loss


def _without_driver(own: Callable[..., Any]) -> Any:
    """A decomposition: which of CUDA's solvers it is computed by is nothing to the CPU."""

    @functools.wraps(own)
    def decomposed(A: Any, *args: Any, driver: Any = None, **kwargs: Any) -> Any:  # noqa: N803  torch's
        return own(A, *args, **kwargs)

    return decomposed


def _finding() -> Any:
    """How torch.jit finds a builtin: that of a stand-in is what it stands in for."""
    own, table = private.find_builtin, private.builtin_table()

    def find(function: Any) -> Any:
        while id(function) not in table and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        return own(function)

    return find


def _grouping() -> Any:
    """The grouping of optimizers' tensors, which C++ code does by the CPU that it sees."""
    own = private.group_tensors

    def group(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
        split: dict[Any, Any] = {}
        for (_, dtype), (columns, indices) in own(lists, with_indices).items():
            for row, tensor in enumerate(columns[0]):
                to, numbers = split.setdefault((tensor.device, dtype), ([[] for _ in columns], []))
                for column, values in zip(to, columns, strict=True):
                    column.extend(values[row : row + 1])
                numbers.extend(indices[row : row + 1])
        return split

    return group


def _compile(on_leaving: OnLeaving) -> Any:
    """torch.compile, which leaves functions and modules as they are, and says so once.

    As torch's own does, the first call stops distributions from checking their arguments.
    """
    told: set[str] = set()
    distribution = torch.distributions.Distribution

    def tell() -> None:
        if not told:
            told.add("compile")
            checks = private.checks_arguments(distribution)
            distribution.set_default_validate_args(False)
            on_leaving(lambda: distribution.set_default_validate_args(checks))
            warnings.warn(_ON_CPU.format("what torch.compile is given"), stacklevel=3)

    @functools.wraps(torch.compile)
    def compile_(model: Any = None, **options: Any) -> Any:
        tell()
        return (lambda function: function) if model is None else model

    return compile_


def _refuse(name: str) -> Any:
    """Tracers with tensors of their own, which would take simulated ones for the CPU's."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSimulated(name)

    return refuse


def _start(machine: Machine, mode: MakeMode) -> Any:
    """Threading.Thread.start: what a thread runs is simulated as well."""
    own = threading.Thread.start

    @functools.wraps(own)
    def start(self: threading.Thread) -> None:
        run = self.run

        def run_simulated() -> None:
            vars(self).pop("run", None)
            if not machine.is_running:
                run()
                return
            private.push_mode(mode())  # `with` sets flags of all threads, which would outlive us
            try:
                run()
            finally:
                private.pop_mode()

        self.run = run_simulated  # type: ignore[method-assign]
        own(self)

    return start
