"""A trace of ours laid over a Kineto trace, as one file for Perfetto: both on Unix's clock.

Ours stands in processes of its own, whose numbers the other one leaves free.
"""

from __future__ import annotations

import json
from typing import Any

from asyncguard.advise.kineto import Kineto
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.render import perfetto
from asyncguard.render.visible import in_json


def merged(record: TraceRecord, other: Kineto) -> str:
    """Return the JSON text; raises AsyncguardError where the trace does not say when it began."""
    started = record.extra.get("started_ns")
    if not isinstance(started, int):
        raise AsyncguardError("the trace does not say when it began; record it again")
    if "simulated" in record.extra:
        raise AsyncguardError("the trace is of a simulated device, whose clock is no profiler's")
    shift = (started - other.base_ns) / 1e3
    taken = [event.get("pid") for event in other.events]
    first = max((pid for pid in taken if type(pid) is int and pid < 2**31), default=0)
    ours = [_moved(event, shift, first) for event in perfetto.events(record)]
    data = {**other.data, "traceEvents": [*other.events, *ours]}
    return in_json(json.dumps(data)) + "\n"


def _moved(event: dict[str, Any], shift: float, pid: int) -> dict[str, Any]:
    moved = {**event, "pid": pid + event["pid"]}
    if "ts" in event:
        moved["ts"] = event["ts"] + shift
    if event.get("name") == "process_name":
        moved["args"] = {"name": f"asyncguard: {event['args']['name']}"}
    return moved
