"""Waits of the catalogue become waits on the virtual clock."""

from __future__ import annotations

from collections.abc import Iterable

from asyncguard.idle import Bubble, Wait
from asyncguard.model import SyncKind
from asyncguard.runtime.hub import hub
from asyncguard.runtime.simulated import MARK
from asyncguard.runtime.sinks import Sink
from asyncguard.runtime.sites import Site
from asyncguard.sim.captures import UNSUPPORTED, captures
from asyncguard.sim.machine import Machine

_DEVICE = frozenset({"device", "everything"})


class Waits(Sink):
    """A `hub.Sink`, ahead of all others: lets the host wait before they read the clock."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def begin(self) -> int:
        """A call that waits begins: it is told what for by the stand-ins, or at its end."""
        self._machine.current.deferred = None
        self._machine.arrive()
        return self._machine.timeline.now

    def end(self, site: Site, began: int) -> None:
        """The call is over: the host waits for what the catalogue says that it waits for."""
        if not site.blocker.device.endswith(MARK):
            return
        machine = self._machine
        capture = captures.of(machine.stream()) if captures.under_way else None
        if capture is not None:  # that nothing has refused: the end of the capture says it
            capture.fail(UNSUPPORTED, f"{site.path}:{site.line}: {site.blocker.point.id} waits")
            machine.current.deferred = None
            return
        if site.blocker.point.waits_for in _DEVICE:
            machine.finish_wait(site, lambda: machine.wait_device(owner=site))
        else:
            # Of an upload that was told not to block, CUDA says only that it may wait.
            is_sure = site.blocker.why is None or site.blocker.point.kind is not SyncKind.UPLOAD
            machine.finish_wait(site, lambda: machine.wait_stream(owner=site, is_sure=is_sure))
        hub.sink.idled(site, began, began)  # nothing so far, which is not the same as not known
        machine.timeline.take_bubbles()  # which begin where the host blocks
        with machine.lock:
            self.settle(machine.idle.waited(Wait(began, machine.timeline.now, site)))

    part = end

    def settle(self, bubbles: Iterable[Bubble]) -> None:
        """Tell recorders of idle time."""
        for bubble in bubbles:
            if isinstance(bubble.wait.owner, Site):
                hub.sink.idled(bubble.wait.owner, bubble.begin, bubble.end)


def cuda_call(site_api: str, kind: str, waits_for: str) -> str:
    """The call of CUDA's runtime that a wait stands for."""
    if kind == "barrier":
        if "Event" in site_api or waits_for == "value":
            return "cudaEventSynchronize"
        return "cudaDeviceSynchronize" if waits_for in _DEVICE else "cudaStreamSynchronize"
    direction = "HostToDevice" if kind == "upload" else "DeviceToHost"
    return f"cudaMemcpyAsync({direction}) + cudaStreamSynchronize"
