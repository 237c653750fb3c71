"""The copies in flight where a frame is: kept with its variables, whose paths part and join."""

from __future__ import annotations

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.contexts.variables import Variables
from asyncguard.lint.domain.copies import ANY, CURRENT, NOTHING, UNPINNED, InFlight, Stream
from asyncguard.lint.domain.values import UNKNOWN, Value

# As variables: no name in source is like these.
COPIES, STREAM = "<copies> ", "<stream> "


def in_flight(env: Variables) -> InFlight:
    """Return the copies that are in flight."""
    known = env.get(COPIES)
    return known.ref if known is not None and isinstance(known.ref, InFlight) else NOTHING


def become(env: Variables, copies: InFlight) -> None:
    """Note which copies are in flight from here on."""
    env[COPIES] = Value("copies", ref=copies)


def stream(env: Variables) -> Stream:
    """Return the stream that copies go to here."""
    known = env.get(STREAM)
    return CURRENT if known is None else of_value(known)


def of_value(value: Value) -> Stream:
    """Return what tells a stream from others, ANY of one that is not known."""
    return value.ref if value.kind == "stream" and value.ref is not None else ANY  # type: ignore[return-value]


def waited(env: Variables, point: SyncPoint, read: Value, held: str, guards: int) -> bool:
    """Note what is done once an operation has waited; return whether it is likely to.

    An upload that is held may, and need not; so may a number or a flag that callers hand. Events
    and streams are waited for by themselves.
    """
    source = point.source
    of_object = source is not None and source.receiver in ("event", "stream")
    handed = read.kind == UNKNOWN and not (source is not None and source.methods)
    if of_object or handed or held not in ("", UNPINNED):
        return False
    if COPIES in env:
        of_stream = point.waits_for in ("value", "stream")
        become(env, in_flight(env).after(stream(env) if of_stream else ANY, guards))
    return True
