"""Whether hooks see what this torch calls, tried out once as its adapter is made.

A release may call its own functions past the objects that hooks take over. Then a trace would show
too few waits and a limit would pass: so the adapter refuses, and who listens is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from asyncguard.model import AsyncguardError
from asyncguard.runtime import takeover, torch_names
from asyncguard.runtime import torch_private as private

Trial = tuple[Callable[..., Any], Callable[[Any], Any], Any]  # watched, a call of it, its result
# One of each sort: a method and a function in C, and Python's own.
TRIALS: tuple[Trial, ...] = (
    (torch.Tensor.item, lambda value: value.item(), 1.0),
    (torch.is_nonzero, lambda value: torch.is_nonzero(value), True),
    (torch.Tensor.__format__, lambda value: f"{value:.1f}", "1.0"),
)


def check(trials: tuple[Trial, ...] = TRIALS) -> None:
    """Raise AsyncguardError unless each call passes a hook once, unchanged, and none afterwards."""
    faults = [fault for trial in trials for fault in _faults(*trial)]
    if faults:
        raise AsyncguardError(
            f"asyncguard cannot watch torch {torch.__version__}: {faults[0]}; take a torch from"
            f" {torch_names.OLDEST} to {torch_names.NEWEST}, or a newer asyncguard"
        )


def _faults(watched: Callable[..., Any], call: Callable[[Any], Any], result: Any) -> Iterator[str]:
    name = getattr(watched, "__name__", str(watched))
    with private.DisableTorchDispatch(), private.DisableTorchFunction():
        value = torch.tensor(1.0, device="cpu")
        seen: list[object] = []

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def hook(*args: Any, **kwargs: Any) -> Any:
                if args and args[0] is value:  # other threads call it, too
                    seen.append(value)
                return original(*args, **kwargs)

            return hook

        target, layer = takeover.target(watched), takeover.Layer(make)
        target.add(layer)
        try:
            found = call(value)
        finally:
            target.remove(layer)
        if len(seen) != 1:
            yield f"a call of {name} passes a hook {len(seen)} times"
        if found != result:
            yield f"{name} returns {found!r} under a hook"
        if call(value) != result or len(seen) > 1:
            yield f"{name} is not as it was before"
