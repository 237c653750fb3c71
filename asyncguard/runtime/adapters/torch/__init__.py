"""torch: which tensors are device values, what marks a step, which index needs a wait.

CPU tensors are reported as the stand-in device; whether they count is for the session to say.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import register_optimizer_step_post_hook

import asyncguard.runtime
from asyncguard.catalogue import SyncPoint
from asyncguard.model import STAND_IN
from asyncguard.runtime import indexing, takeover
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapter import HOST, Clock, Undo
from asyncguard.runtime.adapter import Adapter as Base
from asyncguard.runtime.adapters.torch import ddp, selftest
from asyncguard.runtime.adapters.torch import moves as copying
from asyncguard.runtime.adapters.torch.calls import CALLS, TIMES, WORK
from asyncguard.runtime.adapters.torch.deferred import Copier
from asyncguard.runtime.adapters.torch.operators import Operators, is_mask
from asyncguard.runtime.adapters.torch.racewatch import RaceWatch
from asyncguard.runtime.boundaries import loading_hook
from asyncguard.runtime.copies import Memory
from asyncguard.runtime.hub import updated
from asyncguard.runtime.probes import Args, Kwargs
from asyncguard.runtime.races import Races, Tell
from asyncguard.runtime.simulated import MARK, present
from asyncguard.runtime.sites import Blocker

__warningregistry__ = None  # see `warned`
UNCOMPILED = (
    "depth='full': in this version of torch, compiled functions run uncompiled from here on, also"
    " after the trace; depth='light' leaves them compiled"
)
_RUNTIME_DIRECTORY = os.path.dirname(asyncguard.runtime.__file__) + os.sep
_TENSOR, _PARAMETER = torch.Tensor, torch.nn.Parameter
_takes_over = private.has_torch_function_unary  # asked for every read
# What takes data from a data set: data loaders, and methods of data sets and samplers.
LOADERS = (private.next_of_one, private.next_of_many, private.reset_of_many)
FETCH: str = private.fetching.__name__
READERS = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
TRANSFORMS = ("torchvision.transforms", "torchaudio.transforms", "albumentations.")
SUBSCRIPTS = ("torch.Tensor.__getitem__.", "torch.Tensor.__setitem__.")


class Adapter(Base):
    """torch, on CUDA or any other accelerator, or on the CPU standing in for one."""

    watched = frozenset({private.DYNAMO})
    plain = frozenset(
        {torch.Size, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator}
    )
    _labels: dict[Any, str]

    def __init__(self, framework: Any) -> None:
        """Raises AsyncguardError where hooks would not see what this torch does."""
        selftest.check()
        super().__init__(framework)
        self._labels = {}
        self._alone, self._hidden = _holders()
        self._operators: Operators | None = None
        loading = takeover.Layer(loading_hook)
        passes = takeover.Layer(ddp.Passes(self.blocker).forward_hook)
        self._around = takeover.Batch(
            takeover.Hold(takeover.target(function), layer)
            for function, layer in (
                *((each, loading) for each in LOADERS),
                (DistributedDataParallel.forward, passes),
            )
        )

    @classmethod
    def copier(cls) -> Copier:
        """Through pinned memory, on streams of their own."""
        return Copier()

    def device_of(self, value: Any) -> str | None:
        """The tensor's device; a scaler's or distribution's is that of its work."""
        kind = type(value)
        if (kind is not _TENSOR and kind is not _PARAMETER) or _takes_over(value):
            return self._of_other(value)
        return STAND_IN if value.is_cpu else self._label(value.device)

    def _of_other(self, value: Any) -> str | None:
        if isinstance(value, torch.Tensor):
            if _has_no_data(value):
                return None
            with private.DisableTorchFunction():
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
        if not CALLS[api](args, kwargs):
            return None
        if api == WORK:
            return HOST
        value = args[0] if args else next(iter(kwargs.values()), None)
        return self._of_any(value) if isinstance(value, list | tuple) else self.device_of(value)

    def times_of(self, point: SyncPoint, path: str) -> Callable[[Args, Kwargs], int] | None:
        """Of an index, each part is waited for; some calls are looked at in whole."""
        if point.id.startswith(SUBSCRIPTS):
            return lambda args, kwargs: indexing.times(self.index_operators(_waited_for(args)))
        return TIMES.get(path) or super().times_of(point, path)

    def destination_of(
        self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        """Where `to`, `cuda`, `copy_`, `type_as` and indices leave their result."""
        place = copying.destination(path, args, kwargs)
        return self.device_of(place) if isinstance(place, torch.Tensor) else self._named(place)

    def _named(self, device: torch.device | None) -> str | None:
        if device is None or device.type == "cpu":
            return device and STAND_IN
        if device.index is None and device.type == "cuda":
            return self.default_device() if torch.cuda.is_initialized() else None
        return self._label(device)

    def is_empty(self, value: Any) -> bool:
        """Whether a tensor has no elements."""
        with private.DisableTorchFunctionSubclass():  # one without a shape yet has no `numel`
            return isinstance(value, torch.Tensor) and not value.numel()

    def is_device_set(self) -> bool:
        """Whether `set_default_device` or `with torch.device(...)` is in force in this thread."""
        return private.default_device() is not None

    def held(
        self, moves: str, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        """Tell by where the host's side lies, and how."""
        with private.DisableTorchFunctionSubclass():
            return copying.held(moves, path, args, kwargs)

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
            if type(value) is not _TENSOR or _takes_over(value):
                return None
            return known.get(STAND_IN if value.is_cpu else labels.get(value.device, ""))

        return judge

    def has_one_device(self) -> bool:
        """Whether torch was built for the host alone: all tensors of the plain type are there.

        (But for those without data, whose reads raise.)
        """
        packages = [name for each in self.framework.extensions for name in each.modules]
        return (
            private.accelerator().type == "cpu"
            and private.private_backend() == "privateuseone"
            and not any(map(sys.modules.__contains__, packages))
        )

    def memory_of(self, value: Any) -> Memory | None:
        """A tensor's storage; that of one which nothing in C++ holds either is not shared."""
        if not isinstance(value, torch.Tensor):
            return None
        with private.DisableTorchFunction():
            if value.layout is not torch.strided:
                return None
            storage = value.untyped_storage()
            within = private.use_count(value) > 1  # C++ holds the tensor, as it does a gradient
            shared = within or _users(storage) > self._alone
            held = self._hidden if within else 0
            return Memory(storage.data_ptr(), storage, shared, held) if storage.nbytes() else None

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

    def device_names(self) -> tuple[str, ...]:
        if not torch.cuda.is_initialized():  # asking would initialise it
            return ()
        return tuple(map(torch.cuda.get_device_name, range(torch.cuda.device_count())))

    def default_device(self) -> str:
        """The current accelerator, where one is in use."""
        if torch.cuda.is_initialized():
            device = torch.device("cuda", torch.cuda.current_device())
            return self._label(device) or STAND_IN
        return STAND_IN

    def accelerator_in_use(self) -> bool:
        """Whether CUDA has been initialised: being available is not being used."""
        return bool(torch.cuda.is_initialized())

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """What sort of index makes `x[index]` or `x[index] = value` wait."""
        with private.DisableTorchFunction():
            return indexing.operators(args, _PLACE)

    def deepen(self) -> Undo:
        """Enter a dispatch mode, which sees every operator that runs in this thread.

        But for those in compiled functions, which run as they do without it.
        """
        if not private.keeps_compiled():
            warnings.warn(UNCOMPILED, RuntimeWarning, stacklevel=2)
        mode = Operators(self)
        mode.enter()
        return mode.leave

    def operator_hook(self, func: Any) -> Callable[..., Any] | None:
        """For who sees the operators of a thread anyway: what runs one that may wait, and reports.

        It is called with the frame that runs the operator, what does, and that one's arguments.
        """
        operators = self._operators = self._operators or Operators(self)
        point = operators.point(func)
        return None if point is None else functools.partial(operators.watched, point)

    def watch_races(self, tell: Tell) -> tuple[Races, Undo] | None:
        """By an event behind each copy."""
        watch = RaceWatch(tell)
        watch.start()
        return watch.races, watch.stop

    def loaded(self, module: str) -> None:
        """Have torch.compile leave the hooks' own frames alone, as it does torch's."""
        rules = private.trace_rules
        if _RUNTIME_DIRECTORY not in rules.SKIP_DIRS:
            rules.add("asyncguard.runtime")

    def install(self, clock: Clock) -> Undo:
        """Mark a step after each optimizer update, and watch what has no attribute to hook."""
        self._labels.clear()  # a simulated device comes and goes
        with ExitStack() as undo:
            undo.callback(register_optimizer_step_post_hook(updated).remove)
            self._around.put()
            undo.callback(self._around.take_off)
            return undo.pop_all().close


def _waited_for(args: Args) -> Args:
    """The arguments of a subscript, without what the host can read at once.

    A table on the host that an accelerator's number chooses from waits for that number alone.
    """
    if len(args) < 2 or not isinstance(args[1], tuple) or not _is_on_host(args[0]):
        return args
    parts = [part for part in args[1] if isinstance(part, torch.Tensor)]
    if all(map(_is_on_host, parts)):
        return args
    index = tuple(0 if _is_on_host(part) else part for part in args[1])
    return args[0], index, *args[2:]


def _is_on_host(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.is_cpu)


def _users(storage: Any) -> int:
    return int(private.storage_use_count(private.address(storage)))


def _holders() -> tuple[int, int]:
    """How many users a storage has that is one tensor's alone, and who else holds a gradient.

    Both differ between releases of torch: whether the object that asks is a user, and whether it is
    one of the references to a Python object that C++ holds its tensor.
    """
    with private.DisableTorchDispatch(), private.DisableTorchFunction():
        value, owner = torch.ones(1, device=HOST), torch.ones(1, device=HOST)
        owner.grad = torch.ones(1, device=HOST)
        alone, gradient = sys.getrefcount(value.view(1)), sys.getrefcount(owner.grad)
        return _users(value.untyped_storage()), int(gradient <= alone)


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


def _is_read(value: Any) -> bool:
    """Whether a tensor can be read: not within a vmap, where it stands for many."""
    while private.is_wrapped(value):
        if private.is_batched(value):
            return False
        value = private.unwrapped(value)
    return True


def _sends_numbers(owner: Any) -> bool:
    """Whether a tensor is on an accelerator, where no CPU stands in: that fills by itself."""
    return not owner.is_cpu


_PLACE = indexing.Place(torch.is_tensor, is_mask, _is_away, _fills, _is_read, _sends_numbers)


def _has_no_data(value: torch.Tensor) -> bool:
    """Whether the tensor only stands for one, while a compiler traces."""
    return isinstance(value, private.FakeTensor)
