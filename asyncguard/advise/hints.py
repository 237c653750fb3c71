"""What a record lacks, and how the user gets it: pure functions over a record."""

from __future__ import annotations

from asyncguard import catalogue
from asyncguard.model import TraceRecord
from asyncguard.runtime.faults import UNWATCHED


def hints(record: TraceRecord) -> tuple[str, ...]:
    """Return what to do so that the next trace says more; nothing where nothing is missing."""
    if record.troubles and not record.sites:
        return ()  # they say why there is nothing
    if not record.frameworks and not record.sites and (left_out := record.extra.get(UNWATCHED)):
        return (
            f"The program imported {', '.join(left_out)}, which this trace was not to watch, so"
            " there was nothing to count.",
        )
    if not record.frameworks and not record.sites:
        every = catalogue.load().frameworks.values()
        hooked = [each for each in every if any(point.runtime for point in each.sync)]
        known = ", ".join(sorted(each.modules[0] for each in hooked))
        return (
            f"The program imported none of the frameworks that asyncguard knows ({known}), so there"
            " was nothing to count.",
        )
    if record.sites and not record.step_count:
        return (
            "No step was marked, so the figures are those of the whole run. Loop over"
            " asyncguard.steps(loader), or call asyncguard.step() at the end of each step.",
        )
    return ()
