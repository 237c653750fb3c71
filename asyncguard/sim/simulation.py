"""`simulate_cuda`: puts the simulated device in place, and torch back as it was."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from types import FrameType, TracebackType
from typing import Any

import torch

from asyncguard import catalogue
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime.hub import hub, state
from asyncguard.runtime.patch import Place
from asyncguard.runtime.registry import registry
from asyncguard.runtime.simulated import MARK, present
from asyncguard.sim import (
    children,
    collectives,
    cuda,
    devices,
    factories,
    graphs,
    libraries,
    profiles,
    settings,
    storages,
    tensors,
)
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import HOST_TIMES, Machine
from asyncguard.sim.mode import Simulated, Watched
from asyncguard.sim.selftest import selftest
from asyncguard.sim.standins import StandIns
from asyncguard.sim.waits import Waits, cuda_call

_FRAMEWORKS = frozenset({"torch"})


class Simulation:
    """See `asyncguard.simulate_cuda`. Enter it before traces and limits; a simulation is used once.

    Raises AsyncguardError for an unknown profile or way to tell host times, and where it is
    entered with a real CUDA device at hand, within another simulation, or within a trace.
    """

    is_inherited = False  # whether it is that of the process that started this one

    def __init__(
        self, profile: str | profiles.Profile, devices: int, host: str, races: str = "raise"
    ) -> None:
        if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
            raise AsyncguardError(f"devices must be a whole number from 1 up, not {devices!r}")
        if host not in HOST_TIMES:
            raise AsyncguardError(f"unknown host {host!r}; one of {', '.join(HOST_TIMES)}")
        self.machine = Machine(profiles.load(profile), devices, host, races)
        self._costs = Costs(self.machine.profile)
        self._waits = Waits(self.machine)
        self._stand_ins = StandIns()
        self._left = contextlib.ExitStack()

    def now(self) -> int:
        """The host's virtual time in ns."""
        self.machine.arrive()
        return self.machine.timeline.now

    def settle(self) -> None:
        """A trace ends: tell it of the idle time of the waits so far."""
        with self.machine.lock:
            self._waits.settle(self.machine.idle.close())

    def __enter__(self) -> Simulation:
        self._check()
        selftest.run(lambda: Simulation("h200", 1, "fixed"))
        self.machine.begin()
        with contextlib.ExitStack() as undo:
            undo.callback(self._stand_ins.restore)
            self._stand_ins.place(list(self.replacements()))
            present.model = self
            undo.callback(setattr, present, "model", None)
            self.machine.is_running = True
            undo.callback(setattr, self.machine, "is_running", False)
            registry.acquire(_FRAMEWORKS, self.now)
            undo.callback(registry.release, _FRAMEWORKS, self.now)
            hub.add(self._waits)
            undo.callback(hub.remove, self._waits)
            undo.callback(self.machine.debug.set, 0)
            undo.callback(graphs.forget)
            undo.enter_context(self._mode())
            self._left = undo.pop_all()
        self.machine.leave()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._left.close()

    def _check(self) -> None:
        if isinstance(present.model, Simulation) and present.model.is_inherited:
            present.model.__exit__(None, None, None)  # this process begins its own
        if present.model is not None:
            raise AsyncguardError("simulate_cuda() is entered within another simulate_cuda()")
        if hub.generation:
            raise AsyncguardError(
                "enter simulate_cuda() before traces and limits: they run on its virtual clock;"
                " in tests, give the marker max_syncs device='sim'; of a whole program,"
                " `asyncguard run --sim cuda`"
            )
        if torch.cuda.is_available():
            raise AsyncguardError(
                "simulate_cuda() is for where no CUDA device is, and here is one: hide it"
                " (CUDA_VISIBLE_DEVICES=)"
            )

    def replacements(self) -> Iterator[tuple[Place, Any]]:
        """What takes the place of torch's own."""
        machine, costs = self.machine, self._costs
        mover = tensors.Mover(machine, costs)
        return chain(
            devices.replacements(),
            tensors.replacements(machine, mover),
            factories.replacements(machine, mover),
            storages.replacements(machine, costs),
            cuda.replacements(machine, costs),
            graphs.replacements(machine),
            children.replacements(machine),
            collectives.replacements(),
            settings.replacements(machine),
            libraries.replacements(machine, self._mode, lambda undo: self._left.callback(undo)),
        )

    def _mode(self) -> Simulated:
        return Simulated(self.machine, self._costs, self._below)

    def _below(self, func: Any) -> Watched | None:
        """Who reports the waits of an operator that nothing above it has counted."""
        adapter = next((a for a in registry.adapters() if a.framework.name == "torch"), None)
        watch: Callable[..., Watched | None] | None = getattr(adapter, "operator_hook", None)
        hook = watch(func) if watch is not None else None
        return functools.partial(_watched, hook) if hook is not None else None

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, saying that its times are modelled, and which CUDA call each wait is."""
        machine = self.machine
        profile = machine.profile
        note = (
            f"Modelled: {len(machine.devices)} simulated {profile.device_name} (profile"
            f" {profile.name}); waits are counted as on CUDA, all times are of a virtual clock with"
            f" {machine.host} host times."
        )
        points = {point.id: point for point in catalogue.load()}
        calls = {
            site.api: cuda_call(site.api, site.kind.value, points[site.api].waits_for)
            for site in record.sites
            if site.device.endswith(MARK) and site.api in points
        }
        about = {
            "profile": profile.name,
            "device": profile.device_name,
            "devices": len(machine.devices),
            "host": machine.host,
            "cuda_calls": dict(sorted(calls.items())),
        }
        found = machine.races.to_list()
        return replace(
            record,
            notes=(*record.notes, note),
            extra={**record.extra, "simulated": about, **({"races": found} if found else {})},
            basis="modelled",
            device=f"{profile.device_name} (simulated)",
        )


def _watched(
    hook: Callable[..., Any], caller: FrameType, run: Callable[..., Any], op: Any, args: Any,
    kwargs: Any,
) -> Any:  # fmt: skip
    """Run an operator within its hook, unless a hook above counts already."""
    if state.doing.waiting and state.doing.around is None:
        return run(op, args, kwargs)
    return hook(caller, lambda *given, **named: run(op, given, named), args, kwargs)


def _forked() -> None:
    """A child of this process begins, in which a simulation goes on."""
    if isinstance(present.model, Simulation):
        present.model.machine.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
