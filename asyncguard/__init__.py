"""asyncguard finds the places where a deep-learning program silently waits for its device.

The names below are loaded when first used: importing asyncguard imports no framework, no NumPy
and no libcst, and patches nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from asyncguard.version import __version__ as __version__

if TYPE_CHECKING:
    from asyncguard.advise.replay import Prediction as Prediction
    from asyncguard.api import Trace as Trace
    from asyncguard.api import load_trace as load_trace
    from asyncguard.api import trace as trace
    from asyncguard.model import AsyncguardError as AsyncguardError
    from asyncguard.notebook import load_ipython_extension as load_ipython_extension
    from asyncguard.runtime.benchmark import Benchmark as Benchmark
    from asyncguard.runtime.later import Handle as Handle
    from asyncguard.runtime.later import Later as Later
    from asyncguard.runtime.later import later as later
    from asyncguard.runtime.limits import SyncLimitExceeded as SyncLimitExceeded
    from asyncguard.runtime.limits import SyncLimitWarning as SyncLimitWarning
    from asyncguard.runtime.limits import allow_syncs as allow_syncs
    from asyncguard.runtime.limits import forbid_syncs as forbid_syncs
    from asyncguard.runtime.limits import limit_syncs as limit_syncs
    from asyncguard.runtime.schedule import Schedule as Schedule
    from asyncguard.runtime.session import step as step
    from asyncguard.runtime.session import steps as steps
    from asyncguard.sim.entry import simulate_cuda as simulate_cuda

_HOMES = {
    "AsyncguardError": "asyncguard.model",
    "Benchmark": "asyncguard.runtime.benchmark",
    "Handle": "asyncguard.runtime.later",
    "Later": "asyncguard.runtime.later",
    "Prediction": "asyncguard.advise.replay",
    "Schedule": "asyncguard.runtime.schedule",
    "SyncLimitExceeded": "asyncguard.runtime.limits",
    "SyncLimitWarning": "asyncguard.runtime.limits",
    "Trace": "asyncguard.api",
    "allow_syncs": "asyncguard.runtime.limits",
    "forbid_syncs": "asyncguard.runtime.limits",
    "later": "asyncguard.runtime.later",
    "limit_syncs": "asyncguard.runtime.limits",
    "load_ipython_extension": "asyncguard.notebook",
    "load_trace": "asyncguard.api",
    "simulate_cuda": "asyncguard.sim.entry",
    "step": "asyncguard.runtime.session",
    "steps": "asyncguard.runtime.session",
    "trace": "asyncguard.api",
}

if not TYPE_CHECKING:  # checkers know the names above, and that there are no others
    __all__ = sorted(_HOMES)

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'asyncguard' has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value

    def __dir__():
        return sorted({*__all__, "__version__"})


if os.environ.get("ASYNCGUARD_GUARD"):
    from asyncguard.runtime.limits import guard_process

    guard_process()
