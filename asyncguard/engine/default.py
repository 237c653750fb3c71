"""Which engine the array frontend uses: chosen once, by `ASYNCGUARD_ENGINE` or by `use`.

Stands above the engines and below the array frontend. `ASYNCGUARD_ENGINE=threaded|naive` chooses as
MXNET_ENGINE_TYPE does in MXNet, `ASYNCGUARD_ENGINE_WORKERS` sets the number of worker threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asyncguard.engine import hooks
from asyncguard.engine.core import Engine
from asyncguard.engine.naive import NaiveEngine
from asyncguard.engine.threaded import ThreadedEngine

__all__ = ["current", "use", "waitall"]

KINDS: dict[str, Callable[[], Engine]] = {"threaded": ThreadedEngine, "naive": NaiveEngine}


def create() -> Engine:
    """Return a new engine of the kind that ASYNCGUARD_ENGINE names; ValueError on another word."""
    name = os.environ.get("ASYNCGUARD_ENGINE", "threaded")
    if name not in KINDS:
        raise ValueError(f"ASYNCGUARD_ENGINE is {name!r}; it can be {' or '.join(KINDS)}")
    return KINDS[name]()


engine: Engine = create()
"""The engine in use. Read on every array operation; changed by `use` alone."""


def current() -> Engine:
    """Return the engine that array operations are pushed to."""
    return engine


@contextmanager
def use(other: Engine) -> Iterator[Engine]:
    """Push the array operations of all threads to `other` within the block.

    The engine that was in use finishes first, and `other` finishes at the end, so an array may
    be used on either side of the boundary.
    """
    global engine
    before = engine
    before.wait_for_all()
    engine = other
    try:
        yield other
        other.wait_for_all()
    finally:
        engine = before


def waitall() -> None:
    """Block until nothing is pending; raise the oldest failure that no wait has raised yet.

    A sync point of kind ``barrier``. As `mxnet.npx.waitall`.
    """
    if hooks.listeners:
        with hooks.sync_point(engine, "barrier", "engine.waitall"):
            engine.wait_for_all()
    else:
        engine.wait_for_all()
