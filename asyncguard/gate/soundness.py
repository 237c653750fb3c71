"""Which traces a gate may judge: whole ones, of runs that ended well, in which no hook failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from asyncguard.gate.baseline import Rate, SiteKey
from asyncguard.model import AsyncguardError, TraceRecord


def require_sound(paths: Sequence[Path], records: Sequence[TraceRecord]) -> None:
    """Raise AsyncguardError for a trace that may lack waits, so that passing would mean nothing."""
    for path, record in zip(paths, records, strict=True):
        if record.troubles:
            raise AsyncguardError(
                f"{path}: not a trace to judge by: {record.troubles[0]} Record it again."
            )


def require_steps(
    paths: Sequence[Path], records: Sequence[TraceRecord], accepted: Mapping[SiteKey, Rate]
) -> None:
    """Raise AsyncguardError for a trace without steps where the baseline's sites have some."""
    has_steps = any(rate.steps for rate in accepted.values())
    for path, record in zip(paths, records, strict=True):
        if has_steps and not record.step_count:
            raise AsyncguardError(
                f"{path}: no step was marked, and the baseline has waits per step: record a run"
                " that gets as far as its steps, or write the baseline anew with --update"
            )
