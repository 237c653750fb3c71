"""torch: which tensors are device values, what marks a step, which index needs a wait.

CPU tensors are reported as the stand-in device; whether they count is for the session to say.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import has_torch_function_unary
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

import asyncguard.runtime
from asyncguard.catalogue import SyncPoint
from asyncguard.runtime import indexing
from asyncguard.runtime.adapter import HOST, STAND_IN, Clock, Undo
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.hooks import SyncLimitExceeded
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.sites import Blocker, Site

__warningregistry__ = None  # see `warned`
_RUNTIME_DIRECTORY = os.path.dirname(asyncguard.runtime.__file__) + os.sep
_AROUND_MODES = frozenset({"torch._compile", "torch._dynamo.eval_frame"})
_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_MASKS = (torch.bool, torch.uint8)
_BLOCKING_WAIT = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")

UNCOMPILED = (
    "depth='full': in this version of torch, compiled functions run uncompiled from here on, also"
    " after the trace; depth='light' leaves them compiled"
)


class Adapter(Base):
    """torch, on CUDA or any other accelerator, or on the CPU standing in for one."""

    watched = frozenset({"torch._dynamo"})
    _labels: dict[Any, str]

    def __init__(self, framework: Any) -> None:
        super().__init__(framework)
        self._labels = {}

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
            parts = (self.device_of(v) for v in vars(value).values() if torch.is_tensor(v))
            return next((device for device in parts if device), None)
        return None

    def device_of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """`Work.wait` holds the host, unless it is the stream that it holds."""
        work, *rest = args
        timeout = rest[0] if rest else kwargs.get("timeout")
        return HOST if timeout or not _only_streams_wait(work) else None

    def _label(self, device: torch.device) -> str | None:
        label = self._labels.get(device)
        if label is None and device.type != "meta":
            label = self._labels[device] = str(device)
        return label

    def quick_judge(self, known: Mapping[str, Blocker]) -> Callable[[Any], Blocker | None]:
        """As the general one, for tensors that nothing takes over."""
        labels = self._labels

        def judge(value: Any) -> Blocker | None:
            if type(value) is not _TENSOR or has_torch_function_unary(value):
                return None
            return known.get(STAND_IN if value.is_cpu else labels.get(value.device, ""))

        return judge

    def data_of(self, value: Any) -> int | None:
        """The address of a tensor's first element: the same in a view of it."""
        if not isinstance(value, torch.Tensor):
            return None
        with torch._C.DisableTorchFunction():
            return int(value.data_ptr())

    def default_device(self) -> str:
        """The current accelerator, where one is in use."""
        if torch.cuda.is_initialized():
            return f"cuda:{torch.cuda.current_device()}"
        return STAND_IN

    def accelerator_in_use(self) -> bool:
        """Whether CUDA has been initialised: being available is not being used."""
        return bool(torch.cuda.is_initialized())

    def index_operators(self, args: tuple[Any, ...]) -> frozenset[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        with torch._C.DisableTorchFunction():
            return indexing.operators(args, torch.is_tensor, _is_mask)

    def deepen(self) -> Undo:
        """Enter a dispatch mode, which sees every operator that runs in this thread.

        But for those in compiled functions, which run as they do without it.
        """
        if not hasattr(TorchDispatchMode, "is_infra_mode"):
            warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)
        mode = _Operators(self)
        mode.__enter__()
        return mode.leave

    def loaded(self, module: str) -> None:
        """Have torch.compile leave the hooks' own frames alone, as it does torch's."""
        from torch._dynamo import trace_rules

        if _RUNTIME_DIRECTORY not in trace_rules.SKIP_DIRS:
            trace_rules.add("asyncguard.runtime")

    def install(self, clock: Clock) -> Undo:
        """Mark a step after each optimizer update, through torch's own global hook."""
        handle = register_optimizer_step_post_hook(hub.mark)
        return handle.remove  # type: ignore[no-any-return]


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
            point = self._known[func] = self._point(func)
        if point is None or state.doing.waiting or hub.generation == self._broken_in:
            return func(*args, **kwargs) if kwargs else func(*args)
        return self._watched(point, func, args, kwargs or {})

    def _watched(self, point: SyncPoint, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that may wait, and report it if it does."""
        doing, site = state.doing, None
        try:
            site = self._site(point, args)
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

    def _point(self, func: Any) -> SyncPoint | None:
        name = func._schema.name
        return self._points.get(f"{name}.{func._overloadname}") or self._points.get(name)

    def _site(self, point: SyncPoint, args: tuple[Any, ...]) -> Site | None:
        tensor = next((arg for arg in args if isinstance(arg, torch.Tensor)), None)
        device = self._adapter.device_of(tensor)
        if device is None or not _waits(args):
            return None
        key = point.id, device
        blocker = self._blockers.get(key)
        if blocker is None:
            blocker = self._blockers[key] = self._adapter.blocker(point, device)
        return blocker.site_of_caller(_caller(sys._getframe(3)))


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


def _only_streams_wait(work: Any) -> bool:
    """Whether `work.wait()` holds the stream and not the host, as that of NCCL's collectives does.

    A work does not say whose it is. Those of accelerators can tell how long they took on the
    device; where others are asked that, they raise and say that they do not support it.
    """
    if not torch.cuda.is_initialized() or _is_set(_BLOCKING_WAIT) or _is_barrier(work):
        return False
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
