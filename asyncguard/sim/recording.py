"""What the nodes of a captured graph compute: recorded as the program runs them, and run again.

CUDA runs nothing while it captures. Here each operator runs once, which tells the shapes of its
results, and leaves no trace: what it writes to and its random numbers are put back, and memory of
the capture's own holds no values when that ends (NaN, 0 or False), as on a device, where a replay
is the first to write there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from asyncguard.runtime import torch_private as private
from asyncguard.sim.machine import NotSimulated
from asyncguard.sim.memory import Block
from asyncguard.sim.operators import Operator
from asyncguard.sim.places import PINNED, mark_of, tensors_in

Run = Callable[..., Any]
_copy = torch.ops.aten.copy_.default  # which no hook takes for the program's
_STATISTICS = ("running_mean", "running_var")
# Operators that write to operands of which their schemas do not say so.
_WRITTEN = dict.fromkeys(
    ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::batch_norm",
     "aten::_batch_norm_impl_index"),
    _STATISTICS,
)  # fmt: skip
_NOT_CAPTURED = (
    "Attempt to increase offset for a CUDA generator not in capture mode. (asyncguard simulates it:"
    " hand the generator to register_generator_state of the graph before the capture)"
)


class Work(NamedTuple):
    """One operator that a replay runs. `made` are the tensors that take its results."""

    run: Run
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    made: tuple[Tensor, ...]

    def do(self) -> None:
        """Run it, on the operands as they are now."""
        result = self.run(*self.args, **self.kwargs)
        for target, value in zip(self.made, tensors_in(result), strict=bool(self.made)):
            if target.data_ptr() != value.data_ptr():
                _copy(target, value)


class Recording:
    """What one capture has recorded.

    generators: those that it may draw from, beside the default one.
    """

    def __init__(self, generators: list[Any]) -> None:
        self.works: list[Work] = []
        self._generators = generators
        self._state: Any = None  # of dispatch, in which operators ran
        self._own: dict[int, Tensor] = {}  # memory of the capture's, by the storage's address
        self._before: dict[int, tuple[Tensor, Tensor]] = {}  # what was written to, and its bytes

    def run(self, op: Operator, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operator of the capture, which is recorded; returns its result."""
        self._state = self._state or private.dispatch_state()
        self._check_generator(kwargs)
        for tensor in _written(op, args, kwargs):
            self._keep(tensor)
        if op.is_collective:
            raise NotSimulated("a collective within a CUDA graph capture")
        given = _fixed(args), _fixed(kwargs)
        with _same_random_numbers(kwargs.get("generator")):
            result = _computed(op, run, args, kwargs)
        made = tuple(map(_alias, tensors_in(result))) if op.makes else ()
        if made:  # some hand an operand on, where there is nothing to compute
            operands = set(map(_storage, tensors_in((args, kwargs))))
            for tensor in made:
                if _storage(tensor) not in operands:
                    self._own.setdefault(_storage(tensor), tensor)
        if op.launches:
            self.works.append(Work(run, *given, made))
        return result

    def copied(self, source: Tensor, target: Tensor) -> None:
        """A copy between devices, or from pinned memory, has been made."""
        with private.DisableTorchDispatch():
            to, of = _alias(target), _alias(source)
        self._own.setdefault(_storage(to), to)
        self.works.append(Work(_copy, (to, of), {}, ()))

    def end(self) -> None:
        """The capture is over: leave memory as it would be if nothing had run."""
        with private.dispatching_as(self._state):
            for tensor in self._own.values():
                floats = tensor.is_floating_point() or tensor.is_complex()
                tensor.fill_(float("nan") if floats else 0)
            for tensor, before in self._before.values():
                _copy(tensor, before)
        self._own, self._before = {}, {}

    def replay(self) -> None:
        """Run all that was recorded."""
        with private.dispatching_as(self._state):
            for work in self.works:
                work.do()

    def _check_generator(self, kwargs: dict[str, Any]) -> None:
        generator = kwargs.get("generator")
        if generator is None:
            return
        known = (torch.default_generator, *self._generators)
        if all(private.address(generator) != private.address(each) for each in known):
            raise RuntimeError(_NOT_CAPTURED)

    def _keep(self, tensor: Tensor) -> None:
        """Keep the bytes of a storage that is not the capture's own, before they are changed."""
        if tensor.layout is not torch.strided:
            raise NotSimulated("writing to a sparse tensor within a CUDA graph capture")
        at = _storage(tensor)
        if at not in self._own and at not in self._before:
            whole = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
            self._before[at] = whole, whole.clone()


def _written(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """The operands that an operator writes to; all where it has no schema."""
    if not op.arguments:
        yield from tensors_in((args, kwargs))
        return
    names = (*op.written, *_WRITTEN.get(op.name, ()))
    if names:
        given = {**dict(zip(op.arguments, args, strict=False)), **kwargs}
        for name in names:
            yield from tensors_in(given.get(name))


def _fixed(value: Any) -> Any:
    """Operands as a graph has them: memory of devices, and values of the host.

    A copy from pinned memory reads it at each replay.
    """
    if isinstance(value, Tensor):
        mark = mark_of(value)
        return _alias(value) if mark is PINNED or type(mark) is Block else value.clone()
    if type(value) in (list, tuple):
        return type(value)(map(_fixed, value))
    if type(value) is dict:
        return {name: _fixed(part) for name, part in value.items()}
    return value


def _alias(tensor: Tensor) -> Tensor:
    """The tensor's memory, as it lies now, whatever becomes of the tensor."""
    with private.DisableTorchFunctionSubclass():
        return tensor.detach()


def _storage(tensor: Tensor) -> int:
    if tensor.layout is not torch.strided:
        return id(tensor)
    return private.address(tensor.untyped_storage())


def _computed(op: Operator, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result, for its shape: where values do not fit, since nothing ran yet, of any other."""
    try:
        return run(*args, **kwargs)
    except (IndexError, RuntimeError, ValueError) as error:
        try:
            result = run(*_plain(args), **_plain(kwargs))
        except Exception:  # noqa: BLE001  it is not the values: the first error tells
            raise error from None
        return args[0] if op.written and not op.makes else result


def _plain(value: Any) -> Any:
    """Operands with values that any operator takes."""
    if isinstance(value, Tensor):
        whole = not (value.is_floating_point() or value.is_complex())
        return torch.zeros_like(value) if whole else torch.ones_like(value)
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {name: _plain(part) for name, part in value.items()}
    return value


class _same_random_numbers:  # noqa: N801  reads as a function
    """Let a block draw what will be drawn again."""

    def __init__(self, generator: Any) -> None:
        self._of = generator if generator is not None else torch.default_generator

    def __enter__(self) -> None:
        self._state = self._of.get_state()

    def __exit__(self, *_: object) -> None:
        self._of.set_state(self._state)
