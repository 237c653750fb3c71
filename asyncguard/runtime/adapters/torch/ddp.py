"""What `backward()` waits for the other ranks under DistributedDataParallel.

The reducer sends gradients while the backward pass runs, and at its end holds the host until all
ranks have sent theirs: where the collectives are the CPU's (gloo), below Python. The engine calls
back at the end of the pass, in the order in which callbacks are queued: one that is queued as the
gradient reaches the module's output comes before the reducer's, which waits, and one that is queued
by that one comes after it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch

from asyncguard import catalogue
from asyncguard.runtime import torch_private as private
from asyncguard.runtime.adapter import HOST
from asyncguard.runtime.detours import Function
from asyncguard.runtime.faults import forget_this_frame
from asyncguard.runtime.hub import hub
from asyncguard.runtime.sites import Blocker

__all__ = ["Passes"]

__warningregistry__ = None  # see `warned`
REDUCER = "torch.nn.parallel.DistributedDataParallel"


class _Pass(threading.local):
    """The backward pass of the calling thread that is being watched."""

    def __init__(self) -> None:
        self.task = -1


class Passes:
    """Watches the backward passes that start at the output of such a module."""

    def __init__(self, blocker: Callable[..., Blocker]) -> None:
        self._blocker = blocker(catalogue.load()[REDUCER], HOST)
        self._now = _Pass()

    def forward_hook(self, original: Function) -> Function:
        """Return a hook around the module's `forward`."""

        def hook(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            try:
                result = original(module, *args, **kwargs)
            except BaseException as error:
                forget_this_frame(error)
                raise
            if hub.generation and _waits_in_backward(module):
                try:
                    self._watch(result)
                except Exception as error:  # noqa: BLE001  the user's training must go on
                    hub.fail(REDUCER, error)
            return result

        return hook

    def _watch(self, result: Any) -> None:
        for tensor in _tensors(result):
            if tensor.requires_grad:
                tensor.register_hook(self._began)

    def _began(self, _: torch.Tensor) -> None:
        """A gradient has reached the module's output: the reducer has queued nothing yet."""
        task = private.graph_task()
        if hub.generation and task != self._now.task:
            self._now.task = task
            private.queue_callback(self._computed)

    def _computed(self) -> None:
        """The pass has computed all gradients; the reducer waits next."""
        try:
            site = self._blocker.site(_caller(sys._getframe(1)))
            if site is None:
                return
            allowed, sink = hub.allow(site, 1), hub.sink
            began = sink.begin()
            private.queue_callback(lambda: sink.end(allowed, began))
        except Exception as error:  # noqa: BLE001
            hub.fail(REDUCER, error)


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who called `backward()`."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("torch."):
        frame = frame.f_back
    return frame


def _waits_in_backward(module: Any) -> bool:
    """Whether the reducer will send the gradients of this pass by collectives of the CPU's."""
    return (
        torch.is_grad_enabled()
        and module.require_backward_grad_sync
        and module.device_type == "cpu"
        and not torch.compiler.is_compiling()
    )


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a module's output, however they are held."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _tensors(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
