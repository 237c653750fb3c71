"""Processes that a program starts anew while the device is simulated: it is for them as well.

multiprocessing sends such a child what it is to prepare before it imports the main module. What
begins the simulation there is sent along, and begins it by being read.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from multiprocessing import spawn
from typing import Any

from asyncguard.runtime.family import VARIABLE
from asyncguard.runtime.patch import Place
from asyncguard.sim.entry import begin
from asyncguard.sim.machine import Machine


class _Beginning:
    """Read by another process, it begins the simulation of a machine like this one."""

    def __init__(self, machine: Machine) -> None:
        self._like = machine.profile, len(machine.devices), machine.host, machine.races_told

    def __reduce__(self) -> tuple[Any, ...]:
        return begin, self._like


def replacements(machine: Machine) -> Iterator[tuple[Place, Any]]:
    """What takes the place of multiprocessing's preparation of children that are not forked."""
    own = spawn.get_preparation_data

    @functools.wraps(own)
    def prepared(name: str) -> dict[str, Any]:
        if VARIABLE in os.environ:  # there the trace begins with the simulation
            return own(name)
        return {"asyncguard": _Beginning(machine), **own(name)}

    yield Place(spawn, "get_preparation_data"), prepared
