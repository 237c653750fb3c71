"""torch: which tensors are device values, what marks a step, which index needs a wait.

CPU tensors are reported as the stand-in device; whether they count is for the session to say.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import has_torch_function_unary
from torch.utils import _device as placement
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode
from torch.utils.data import dataloader

import asyncguard.runtime
from asyncguard.catalogue import SyncPoint
from asyncguard.runtime import indexing, takeover
from asyncguard.runtime.adapter import HOST, STAND_IN, Clock, Undo
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.copies import Memory
from asyncguard.runtime.hooks import SyncLimitExceeded, loading_hook
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.probes import Args, Kwargs
from asyncguard.runtime.simulated import MARK, present
from asyncguard.runtime.sites import Blocker, Site

__warningregistry__ = None  # see `warned`
_RUNTIME_DIRECTORY = os.path.dirname(asyncguard.runtime.__file__) + os.sep
_AROUND_MODES = frozenset({"torch._compile", "torch._dynamo.eval_frame"})
_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
# What takes data from a data set: data loaders, and methods of data sets and samplers.
LOADERS = (
    dataloader._SingleProcessDataLoaderIter._next_data,
    dataloader._MultiProcessingDataLoaderIter._next_data,
    dataloader._MultiProcessingDataLoaderIter._reset,
)
FETCH = "torch.utils.data._utils.fetch"
READERS = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
TRANSFORMS = ("torchvision.transforms", "torchaudio.transforms", "albumentations.")
STORAGE_USERS = 2  # of one tensor's own storage: the tensor, and the object that asks
_MASKS = (torch.bool, torch.uint8)
_BLOCKING_WAIT = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")

UNCOMPILED = (
    "depth='full': in this version of torch, compiled functions run uncompiled from here on, also"
    " after the trace; depth='light' leaves them compiled"
)


class Adapter(Base):
    """torch, on CUDA or any other accelerator, or on the CPU standing in for one."""

    watched = frozenset({"torch._dynamo"})
    plain = frozenset(
        {torch.Size, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator}
    )
    _labels: dict[Any, str]

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._labels = {}
        self._operators: _Operators | None = None

    def device_of(self, value: Any) -> str | None:
        """The tensor's device; a scaler's or distribution's is that of its work."""
        kind = type(value)
        if (kind is not _TENSOR and kind is not _PARAMETER) or has_torch_function_unary(value):
            return self._of_other(value)
        return STAND_IN if value.is_cpu else self._label(value.device)

    def _of_other(self, value: Any) -> str | None:
        if isinstance(value, torch.Tensor):
            if _has_no_data(value):
                return None
            with torch._C.DisableTorchFunction():
                return STAND_IN if value.is_cpu else self._label(value.device)
        if isinstance(value, torch.amp.GradScaler):
            return self.default_device() if value.is_enabled() else None
        if isinstance(value, torch.distributions.Distribution):
            return self._of_any(v for v in vars(value).values() if torch.is_tensor(v))
        if isinstance(value, torch.nn.Module):
            return self._of_any((*value.parameters(), *value.buffers()))
        if isinstance(value, torch.UntypedStorage):
            return STAND_IN if value.device.type == "cpu" else self._label(value.device)
        return None

    def _of_any(self, tensors: Iterable[Any]) -> str | None:
        return next(filter(None, map(self.device_of, tensors)), None)

    def device_of_call(self, api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Ask the entry's own test; a work holds the host, the rest is done where its value is."""
        if not _CALLS[api](args, kwargs):
            return None
        if api == _WORK:
            return HOST
        return self.device_of(args[0] if args else next(iter(kwargs.values()), None))

    def is_device_set(self) -> bool:
        """Whether `set_default_device` or `with torch.device(...)` is in force in this thread."""
        return placement.CURRENT_DEVICE is not None

    def is_pinned(self, value: Any) -> bool:
        """Whether a tensor is in page-locked memory."""
        return isinstance(value, torch.Tensor) and value.is_cpu and bool(value.is_pinned())

    def _label(self, device: torch.device) -> str | None:
        label = self._labels.get(device)
        if label is None and device.type != "meta":
            simulated = present.model is not None and device.type == "cuda"
            label = self._labels[device] = str(device) + (MARK if simulated else "")
        return label

    def quick_judge(self, known: Mapping[str, Blocker]) -> Callable[[Any], Blocker | None]:
        """As the general one, for tensors that nothing takes over."""
        labels = self._labels

        def judge(value: Any) -> Blocker | None:
            if type(value) is not _TENSOR or has_torch_function_unary(value):
                return None
            return known.get(STAND_IN if value.is_cpu else labels.get(value.device, ""))

        return judge

    def memory_of(self, value: Any) -> Memory | None:
        """A tensor's storage; that of one which nothing in C++ holds either is not shared."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return None
        with torch._C.DisableTorchFunction():
            storage = value.untyped_storage()
            users = torch._C._storage_Use_Count(storage._cdata)
            shared = value._use_count() > 1 or users > STORAGE_USERS
            return Memory(storage.data_ptr(), storage, shared) if storage.nbytes() else None

    def loads_data(self, frame: FrameType) -> bool:
        """Methods of data sets, what a data loader runs, and the usual libraries' transforms."""
        module = frame.f_globals.get("__name__", "")
        if module == FETCH or module.startswith(TRANSFORMS):
            return True
        code = frame.f_code
        if code.co_name not in READERS or not code.co_argcount:
            return False
        owner = frame.f_locals.get(code.co_varnames[0])
        return isinstance(owner, torch.utils.data.Dataset | torch.utils.data.Sampler)

    def default_device(self) -> str:
        """The current accelerator, where one is in use."""
        if torch.cuda.is_initialized():
            device = torch.device("cuda", torch.cuda.current_device())
            return self._label(device) or STAND_IN
        return STAND_IN

    def accelerator_in_use(self) -> bool:
        """Whether CUDA has been initialised: being available is not being used."""
        return bool(torch.cuda.is_initialized())

    def index_operators(self, args: tuple[Any, ...]) -> frozenset[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        with torch._C.DisableTorchFunction():
            return indexing.operators(args, _PLACE)

    def deepen(self) -> Undo:
        """Enter a dispatch mode, which sees every operator that runs in this thread.

        But for those in compiled functions, which run as they do without it.
        """
        if not hasattr(TorchDispatchMode, "is_infra_mode"):
            warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)
        mode = _Operators(self)
        mode.__enter__()
        return mode.leave

    def operator_hook(self, func: Any) -> Callable[..., Any] | None:
        """For who sees the operators of a thread anyway: what runs one that may wait, and reports.

        It is called with the frame that runs the operator, what does, and that one's arguments.
        """
        operators = self._operators = self._operators or _Operators(self)
        point = operators.point(func)
        return None if point is None else functools.partial(operators.watched, point)

    def loaded(self, module: str) -> None:
        """Have torch.compile leave the hooks' own frames alone, as it does torch's."""
        from torch._dynamo import trace_rules

        if _RUNTIME_DIRECTORY not in trace_rules.SKIP_DIRS:
            trace_rules.add("asyncguard.runtime")

    def install(self, clock: Clock) -> Undo:
        """Mark a step after each optimizer update, through torch's own global hook."""
        self._labels.clear()  # a simulated device comes and goes
        handle = register_optimizer_step_post_hook(hub.mark)
        loaders = [takeover.target(function) for function in LOADERS]
        layer = takeover.Layer(loading_hook)
        for loader in loaders:
            loader.add(layer)

        def undo() -> None:
            handle.remove()
            for loader in loaders:
                loader.remove(layer)

        return undo


class _Operators(TorchDispatchMode):  # type: ignore[misc]
    """Counts the operators that the catalogue says wait, unless a hook above counts already."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        self._adapter = adapter
        self._points = {
            name: point
            for point in adapter.framework.sync
            if point.runtime is not None
            for name in point.runtime.dispatch
        }
        self._known: dict[Any, SyncPoint | None] = {}  # operator -> its entry
        self._blockers: dict[tuple[str, str], Blocker] = {}
        self._broken_in = 0  # the generation of listeners in which it failed

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It only looks on: torch.compile need not give way to it, in the trace and after it."""
        return True

    def leave(self) -> None:
        """Leave this thread's stack; in another thread, or below another mode, only go quiet."""
        if _get_current_dispatch_mode() is self:
            self.__exit__(None, None, None)
        self._points.clear()
        self._known.clear()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        try:
            point = self._known[func]
        except KeyError:
            point = self._known[func] = self.point(func)
        if point is None or state.doing.waiting or hub.generation == self._broken_in:
            return func(*args, **kwargs) if kwargs else func(*args)
        return self.watched(point, sys._getframe(1), func, args, kwargs or {})

    def watched(
        self, point: SyncPoint, caller: FrameType | None, func: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run an operator that may wait, and report it if it does."""
        doing, site = state.doing, None
        try:
            site = self._site(point, args, caller)
            if site is not None and hub.scope is not None:
                site = hub.scope(site)
            sink = hub.sink
            began = sink.begin()
        except SyncLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001  the user's call must go on
            self._fail(error)
            site = None
        doing.waiting = site is not None
        try:
            result = func(*args, **kwargs)
        finally:
            doing.waiting = False
        if site is not None:
            try:
                sink.end(site, began)
            except Exception as error:  # noqa: BLE001
                self._fail(error)
        return result

    def _fail(self, error: Exception) -> None:
        self._broken_in = hub.generation
        hub.fail("torch's operators", error)

    def point(self, func: Any) -> SyncPoint | None:
        """The entry of an operator that may wait."""
        name = func._schema.name
        return self._points.get(f"{name}.{func._overloadname}") or self._points.get(name)

    def _site(
        self, point: SyncPoint, args: tuple[Any, ...], caller: FrameType | None
    ) -> Site | None:
        tensor = next((arg for arg in args if isinstance(arg, torch.Tensor)), None)
        device = self._adapter.device_of(tensor)
        if device is None or not _waits(args):
            return None
        key = point.id, device
        blocker = self._blockers.get(key)
        if blocker is None:
            blocker = self._blockers[key] = self._adapter.blocker(point, device)
        asker = _caller(caller)
        if blocker.stand_in and (state.doing.loading or self._adapter.copies.holds(tensor, asker)):
            return None
        return blocker.site_of_caller(asker)


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who ran the operator, below the frames that torch puts around dispatch modes."""
    while frame is not None and frame.f_globals.get("__name__") in _AROUND_MODES:
        frame = frame.f_back
    return frame


def _waits(args: tuple[Any, ...]) -> bool:
    """Whether an operator that takes indices has a mask among them; others always may wait."""
    indices = args[1] if len(args) > 1 else None
    if not isinstance(indices, list | tuple):
        return True
    return any(isinstance(index, torch.Tensor) and _is_mask(index) for index in indices)


def _is_mask(value: torch.Tensor) -> bool:
    return value.dtype in _MASKS


def _is_away(value: Any, owner: Any) -> bool:
    """Whether a tensor is in host memory, and the one that it is written into or chooses from not.

    (No value's: a number, a list.)
    """
    return bool(isinstance(value, torch.Tensor) and value.is_cpu and not owner.is_cpu)


def _fills(value: Any, owner: Any) -> bool:
    """Whether a mask fills this in without a wait: a number, or one that the host can read."""
    if isinstance(value, torch.Tensor):
        return _is_away(value, owner) and value.numel() == 1
    return True


_PLACE = indexing.Place(torch.is_tensor, _is_mask, _is_away, _fills)


# ---- calls of which no single value tells whether they wait


def _waits_for_work(args: Args, kwargs: Kwargs) -> bool:
    """`Work.wait` holds the host, unless it is the stream that it holds."""
    work, *rest = args
    timeout = rest[0] if rest else kwargs.get("timeout")
    return bool(timeout) or not _only_streams_wait(work)


def _reads_found_inf(args: Args, kwargs: Kwargs) -> bool:
    """`GradScaler.step` reads whether to step, unless the optimizer does that on the device."""
    optimizer = _argument(args, kwargs, 1, "optimizer")
    return not getattr(optimizer, "_step_supports_amp_scaling", False)


def _reads_range(args: Args, kwargs: Kwargs) -> bool:
    """`histc` takes its range from the data where both ends are the same, as by default."""
    low, high = _argument(args, kwargs, 2, "min", 0), _argument(args, kwargs, 3, "max", 0)
    return isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor) or bool(low == high)


def _is_spectral(args: Args, kwargs: Kwargs) -> bool:
    """Whether a norm is one of singular values: of a matrix, not of a vector."""
    order = _argument(args, kwargs, 1, "ord")
    matrix = args[0] if args else next(iter(kwargs.values()))
    dim = _argument(args, kwargs, 2, "dim")
    of_vector = isinstance(dim, int) or (dim is None and matrix.ndim < 2)
    if isinstance(order, str):
        return order == "nuc"
    return isinstance(order, int | float) and abs(order) == 2 and not of_vector


def _inverts(args: Args, kwargs: Kwargs) -> bool:
    """A negative power is one of the inverse, whose existence is checked."""
    power = _argument(args, kwargs, 1, "n", 0)
    return isinstance(power, int) and power < 0


def _argument(args: Args, kwargs: Kwargs, at: int, name: str, default: Any = None) -> Any:
    return args[at] if len(args) > at else kwargs.get(name, default)


_WORK = "torch.distributed.Work.wait"
_CALLS: dict[str, Callable[[Args, Kwargs], bool]] = {
    _WORK: _waits_for_work,
    "torch.amp.GradScaler.step": _reads_found_inf,
    "torch.histc": _reads_range,
    "torch.Tensor.histc": _reads_range,
    "torch.linalg.norm": _is_spectral,
    "torch.linalg.matrix_power": _inverts,
}


def _only_streams_wait(work: Any) -> bool:
    """Whether `work.wait()` holds the stream and not the host, as that of NCCL's collectives does.

    A work does not say whose it is. Those of accelerators can tell how long they took on the
    device; where others are asked that, they raise and say that they do not support it.
    """
    if not torch.cuda.is_initialized() or _is_set(_BLOCKING_WAIT) or _is_barrier(work):
        return False
    if present.model is not None:  # its collectives are those of gloo, in NCCL's stead
        return True
    try:
        work._get_duration()
    except RuntimeError as error:
        return "support" not in str(error)
    except AttributeError:  # an older torch: what the default group does with CUDA is believed
        return "cuda:nccl" in torch.distributed.get_backend_config()
    return True


def _is_barrier(work: Any) -> bool:
    """NCCL's barrier holds the host."""
    kind = torch._C._distributed_c10d.OpType.BARRIER
    return hasattr(work, "_get_op_type") and work._get_op_type() == int(kind)


def _is_set(names: tuple[str, ...]) -> bool:
    values = (os.environ.get(name, "0").lower() for name in names)
    return any(value not in ("", "0", "n", "no", "f", "false") for value in values)


def _has_no_data(value: torch.Tensor) -> bool:
    """Whether the tensor only stands for one, while a compiler traces."""
    return isinstance(value, torch._subclasses.FakeTensor)
