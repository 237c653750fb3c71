"""The dispatch mode under which operators run: it finds their device, marks results, takes time.

Every operator that reaches a backend passes here, those of the backward pass and of optimizers too.
It runs on the CPU as it would without us, on plain tensors, so results are the CPU's bit for bit.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapters.torch.accesses import HostMemory
from asyncguard.runtime.adapters.torch.operators import is_mask
from asyncguard.sim import collectives, kernels, operators
from asyncguard.sim.captures import captures
from asyncguard.sim.capturing import captured, check_operator
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import Device, Machine
from asyncguard.sim.memory import Block
from asyncguard.sim.operators import Operator
from asyncguard.sim.places import (
    CPU,
    OPEN,
    PINNED,
    bearer_of,
    device_of,
    mark_of,
    put_fresh,
    take_home,
    tensors_in,
)
from asyncguard.sim.transfers import Transfers

Below = Callable[[Any], "Watched | None"]  # an overload -> who reports its waits
Watched = Callable[..., Any]
_DEFAULT = torch.Tensor.__torch_dispatch__
_EACH_COPY = "aten::_foreach_copy_"
_COPIES = frozenset({"aten::copy_", "aten::copy", "aten::_to_copy"})


class Operands:
    """Where the operands of one call lie."""

    __slots__ = ("device", "odd", "opened", "other", "pinned")

    def __init__(self) -> None:
        self.device: Device | None = None
        self.odd = -1  # the position of the first operand on the host that is more than a scalar
        self.other: Device | None = None  # a second device
        self.opened: list[Tensor] = []
        self.pinned: list[tuple[int, Tensor]] = []  # by position, in pinned memory of the host's


class Simulated(private.TorchDispatchMode):  # type: ignore[misc]
    """One for each thread; all share the machine.

    below: tells which operators wait where nothing above them has counted it.
    """

    def __init__(self, machine: Machine, costs: Costs, below: Below) -> None:
        super().__init__()
        self._machine = machine
        self._costs = costs
        self._transfers = Transfers(machine, costs)
        self._host = HostMemory(machine.races, bearer_of)
        self._below = below
        self._known: dict[Any, tuple[Operator, Watched | None]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled while we are here, and the wrapper costs time

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        machine, kwargs = self._machine, kwargs or {}
        if not machine.is_running:
            return func(*args, **kwargs)
        if types and any(getattr(t, "__torch_dispatch__", None) is not _DEFAULT for t in types):
            return NotImplemented  # a tensor of another kind: what it does is seen by itself
        try:
            op, watched = self._known[func]
        except KeyError:
            op, watched = self._known[func] = operators.describe(func), self._below(func)
        machine.arrive()
        try:
            if captures.under_way:
                unseen = watched is not None and private.graph_task() != -1
                check_operator(machine, op, unseen, args, kwargs)
            if watched is not None and private.graph_task() != -1:
                return watched(sys._getframe(1), self._run, op, args, kwargs)
            if private.tracing_state() is not None:
                with private.tracing_paused() as recorded:
                    return self._run(replace(op, run=recorded(op.run)), args, kwargs)
            return self._run(op, args, kwargs)
        finally:
            machine.leave()

    def _run(self, op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = _locate(op, args, kwargs)
        device = found.device
        if op.name == _EACH_COPY and device is not None and _is_between(*args[:2]):
            return self._copy_each(*args, **kwargs)
        if found.pinned and not (op.name in _COPIES and self._leaves(device, kwargs)):
            self._use(op, found.pinned)
        if op.takes_device:
            return self._make(op, found, args, kwargs)
        self._check_generator(kwargs, device is not None)
        if op.is_collective and found.odd >= 0:
            collectives.refuse_host(op.name, args)
        if device is None:
            result = self._compute(op, None, args, kwargs)
            if found.opened and op.makes:
                _open(result)
            return result
        self._agree(op, found, args)
        if op.own_kernel is not None:
            with self:
                return op.own_kernel(*args, **kwargs)
        operators.refuse(op, args)
        return self._run_on(device, op, args, kwargs)

    def _run_on(
        self, device: Device, op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a kernel of the device's: what it makes lies there, and its time passes."""
        result = self._compute(op, device, args, kwargs)
        if op.makes or _bears_a_mark(result):
            _mark(result, device, op)
        self._take_time(op, device, args, kwargs, result)
        return result

    def _copy_each(
        self, targets: Sequence[Tensor], sources: Sequence[Tensor], non_blocking: bool = False
    ) -> None:
        """Copies of lists go one by one between the host and devices, as in CUDA's slow path."""
        with self:
            for target, source in zip(targets, sources, strict=True):
                target.copy_(source, non_blocking)

    def _leaves(self, device: Device | None, kwargs: dict[str, Any]) -> bool:
        """Whether a copy goes between the host and a device: who sends it looks at the memory."""
        return (
            device is not None
            or isinstance(self._machine.current.asked, Device)
            or (getattr(kwargs.get("device"), "type", "cpu") == "cuda")
        )

    def _use(self, op: Operator, pinned: list[tuple[int, Tensor]]) -> None:
        """The host uses tensors in pinned memory; raises CopyRace where a copy is at one."""
        for at, tensor in pinned:
            self._host.operated(op.access, len(op.arguments), at, tensor)

    def _compute(
        self, op: Operator, device: Device | None, args: Any, kwargs: Any, recorded: bool = False
    ) -> Any:
        """Run it on the CPU; what the CPU refuses and CUDA would not is run another way."""
        if captures.under_way and not recorded:
            capture = captured(self._machine, device)
            if capture is not None:
                run = functools.partial(_apply, self._compute, op, device)
                return capture.recording.run(op, run, args, kwargs)
        try:
            return op.run(*args, **kwargs)
        except RuntimeError as error:
            return kernels.recover(op.name, op.run, op.tensors, device, args, kwargs, error)

    def _agree(self, op: Operator, found: Operands, args: tuple[Any, ...]) -> None:
        """Check that the operands are on one device, as CUDA does; what is open is there then."""
        if not op.mixes and (
            found.other is not None or (found.odd >= 0 and not _is_filled(op, found.odd, args))
        ):
            self._refuse(op, found, args)
        assert found.device is not None
        for tensor in found.opened:
            put_fresh(tensor, found.device)

    def _check_generator(self, kwargs: dict[str, Any], on_device: bool) -> None:
        """Refuse a generator of the host's for the device, and the reverse, as CUDA does."""
        generator = kwargs.get("generator")
        if generator is None:
            return
        address = private.address(generator)
        if address == private.address(torch.default_generator):
            return  # the default one is everybody's
        if on_device != (address in self._machine.generators):
            kinds = ("cuda", "cpu") if on_device else ("cpu", "cuda")
            raise RuntimeError(
                "Expected a '{}' device type for generator but found '{}'".format(*kinds)
            )

    def _refuse(self, op: Operator, found: Operands, args: tuple[Any, ...]) -> NoReturn:
        assert found.device is not None
        if found.other is not None:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices,"
                f" {found.device.device} and {found.other.device}!"
            )
        if op.host_operands and found.odd == 0 and op.name.startswith(("aten::index", "aten::_u")):
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
            )
        raise RuntimeError(operators.mismatch(op, args, found.device.device, found.odd))

    def _make(
        self, op: Operator, found: Operands, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """An operator that can be told where to put its result."""
        target = self._target(found, args, kwargs)
        self._check_generator(kwargs, isinstance(target, Device))
        if isinstance(target, torch.device):
            return op.run(*args, **kwargs)
        if found.device is not None:
            self._agree(op, found, args)
        given = {name: value for name, value in kwargs.items() if name != "pin_memory"}
        if given.get("device") is not None:
            given["device"] = CPU
        place = target if isinstance(target, Device) else None
        result = self._compute(op, place, args, given)
        if isinstance(target, Device):
            _mark(result, target, op)
            if op.name == "aten::_to_copy" and found.device is not target:
                non_blocking = bool(kwargs.get("non_blocking"))
                self._send(result, args[0], target, found.device, non_blocking)
            else:
                self._take_time(op, target, args, given, result)
        elif target is not None:
            for tensor in tensors_in(result):
                if mark_of(tensor) is None:
                    take_home(tensor, target)
        return result

    def _target(
        self, found: Operands, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Device | torch.device | object | None:
        """Where the result goes: a device, elsewhere (a torch.device), OPEN, PINNED or None."""
        asked = self._machine.current.asked
        wanted = kwargs.get("device")
        if isinstance(asked, Device):
            return asked
        if wanted is not None and wanted.type == "cuda":
            return self._machine.device_at(wanted)
        if wanted is not None and wanted.type != "cpu":
            return wanted
        if kwargs.get("pin_memory"):
            return PINNED
        if asked is not None:
            return None  # the user has asked for the host
        if found.device is not None:
            return found.device
        return None if found.odd >= 0 else OPEN

    def _take_time(self, op: Operator, device: Device, args: Any, kwargs: Any, result: Any) -> None:
        if not op.launches and not op.is_read:
            self._machine.pass_host_time()
            return
        if op.is_read:
            duration = self._costs.transfer(args[0].element_size(), pinned=True)
            order = self._machine.races.order
            order.wait(order.record(self._machine.stream(device.index)))
        elif op.is_copy:
            self._copy(device, *args, **kwargs)
            return
        else:
            duration = self._costs.kernel(op.flops, args, kwargs, result)
        self._machine.enqueue(duration, op.name, device)

    def _copy(
        self, device: Device, target: Tensor, source: Any, non_blocking: bool = False
    ) -> None:
        """Let `target.copy_(source)` take its time."""
        place, origin = device_of(target), device_of(source)
        if place is origin:
            duration = self._costs.kernel(None, (target, source), {}, None)
            self._machine.enqueue(duration, "aten::copy_", device)
        else:
            self._send(target, source, place, origin, non_blocking)

    def _send(
        self, target: Any, source: Any, place: Device | None, origin: Device | None,
        non_blocking: bool,
    ) -> None:  # fmt: skip
        self._transfers.send(target, source, place, origin, non_blocking, "Tensor.copy_")


def _apply(
    compute: Callable[..., Any], op: Operator, place: Device | None, /, *args: Any, **kwargs: Any
) -> Any:
    return compute(op, place, args, kwargs, recorded=True)


def _locate(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operands:
    """Look at each operand."""
    found = Operands()
    for at, value in enumerate(args):
        if isinstance(value, Tensor):
            _look(found, op, at, value)
        elif type(value) is list or type(value) is tuple:
            for part in value:
                if isinstance(part, Tensor):
                    _look(found, op, at, part)
    for value in kwargs.values():
        for tensor in tensors_in(value):
            _look(found, op, len(op.arguments), tensor)
    return found


def _look(found: Operands, op: Operator, at: int, tensor: Tensor) -> None:
    mark = mark_of(tensor)
    if type(mark) is Block:
        if found.device is None:
            found.device = mark.device  # type: ignore[assignment]
        elif found.device is not mark.device:
            found.other = mark.device  # type: ignore[assignment]
    elif mark is OPEN:
        found.opened.append(tensor)
    else:
        if mark is PINNED:
            found.pinned.append((at, tensor))
        if found.odd < 0 and at not in op.host_operands and not _is_number(op, at, tensor):
            found.odd = at


def _is_between(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> bool:
    """Whether copies of lists go between the host and devices, or between devices."""
    pairs = zip(targets, sources, strict=False)
    return any(device_of(target) is not device_of(source) for target, source in pairs)


def _is_number(op: Operator, at: int, tensor: Tensor) -> bool:
    """Whether a tensor of the host goes as a number: it is a scalar, and not what is written to."""
    return op.takes_numbers and not tensor.dim() and not (at == 0 and op.writes)


def _is_filled(op: Operator, odd: int, args: tuple[Any, ...]) -> bool:
    """Whether `x[mask] = value` fills one value of the host's into the places of one mask."""
    if not op.name.startswith(operators.PUTS) or odd != 2 or any(args[3:]):
        return False
    given = [index for index in args[1] if index is not None]
    return args[2].numel() == 1 and len(given) == 1 and is_mask(given[0])


def _bears_a_mark(result: Any) -> bool:
    """Whether a tensor bears its own mark, being sparse: a view of one shares no storage."""
    return isinstance(result, Tensor) and result.layout is not torch.strided


def _mark(result: Any, device: Device, op: Operator) -> None:
    if isinstance(result, Tensor):
        put_fresh(result, device)
    elif isinstance(result, list | tuple):
        for at, part in enumerate(result):
            if at != op.host_result:
                for tensor in tensors_in(part):
                    put_fresh(tensor, device)


def _open(result: Any) -> None:
    for tensor in tensors_in(result):
        if mark_of(tensor) is None:
            take_home(tensor, OPEN)
