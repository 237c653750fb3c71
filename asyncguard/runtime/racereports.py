"""The races of copies that a trace finds on a real device."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from asyncguard.model import TraceRecord
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.races import Races, warn
from asyncguard.runtime.registry import registry

_ELSEWHERE = (
    "Races of copies were not looked for: torch was not imported in the thread that started the"
    " trace."
)


class RaceReports:
    """Has each framework's adapter watch between `start` and `stop`."""

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._found: list[Races] = []
        self._thread = 0

    def start(self) -> None:
        """Begin, with frameworks that are there and those to come."""
        self._thread = threading.get_ident()
        self._undo.callback(registry.each(self._watch))

    def stop(self) -> None:
        """End it."""
        self._undo.close()

    def _watch(self, adapter: Adapter) -> None:
        if threading.get_ident() != self._thread:
            return  # what is done to a thread has to be undone there
        watched = adapter.watch_races(warn)
        if watched is not None:
            races, undo = watched
            self._found.append(races)
            self._undo.callback(undo)

    def annotate(self, record: TraceRecord) -> TraceRecord:
        """The record, with the races that were found."""
        if not self._found:
            return replace(record, notes=(*record.notes, _ELSEWHERE))
        found: list[dict[str, Any]] = [race for races in self._found for race in races.to_list()]
        return replace(record, extra={**record.extra, "races": found}) if found else record
