"""How a process that a followed program has started begins its trace."""

from __future__ import annotations

import os
import sys

from asyncguard.runtime.ending import STARTED, member
from asyncguard.runtime.family import VARIABLE, Family
from asyncguard.runtime.watch import Watcher


def begin_with(module: str) -> None:
    """Begin as soon as a framework's module has been imported, which is about to be."""
    watcher = Watcher(lambda name: _begin(name, watcher))
    watcher.watch(frozenset([module]))


def _begin(module: str, watcher: Watcher) -> None:
    watcher.watch(frozenset())
    spec = getattr(sys.modules[module], "__spec__", None)
    if spec is not None:
        spec._initializing = False  # importlib says so once we return, and it is so already
    family = Family.told(os.environ[VARIABLE])
    try:
        if family.simulated is not None:
            from asyncguard.sim.entry import begin

            begin(*family.simulated)
        member(family, STARTED)
    except Exception as error:  # noqa: BLE001  the program goes on
        print(f"asyncguard: cannot trace the process {os.getpid()}: {error!r}", file=sys.stderr)
