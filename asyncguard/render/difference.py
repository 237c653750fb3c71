"""The words and figures of two traces side by side, for all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncguard.render.words import duration

if TYPE_CHECKING:
    from asyncguard.gate.difference import Difference, SiteChange

Row = tuple[str, str, str, str]
OUTSIDE = "whole run, outside the steps"


def total_rows(found: Difference) -> list[Row]:
    """One row each for the time, the waits and the stall: a name, before, after, the change."""
    before, after, unit = found.before, found.after, found.unit
    return [
        (
            f"time a {unit}",
            duration(before.step_ns),
            duration(after.step_ns),
            _change(before.step_ns, after.step_ns),
        ),
        (
            f"waits a {unit}",
            number(before.total.waits),
            number(after.total.waits),
            _change(before.total.waits, after.total.waits),
        ),
        (
            f"stall a {unit}",
            duration(before.total.stall_ns),
            duration(after.total.stall_ns),
            _change(before.total.stall_ns, after.total.stall_ns),
        ),
    ]


def expectation(found: Difference) -> str:
    """What was predicted, beside what came; nothing where nothing was."""
    expected, actual = found.expected, found.after.step_ns
    if expected is None:
        return ""
    between = f"{duration(expected.low_ns)} to {duration(expected.high_ns)}"
    text = (
        f"Predicted from the trace before: {duration(expected.step_ns)} a step ({between}); "
        f"measured {duration(actual)}"
    )
    return f"{text}, {actual / expected.step_ns - 1:+.0%}." if expected.step_ns else f"{text}."


def figures(change: SiteChange, unit: str) -> tuple[str, str, str]:
    """The waits and the stall of one site, before and after, and its state.

    Where they are not those of the `unit` that the others are told by, they say so.
    """
    waits = f"{number(change.before.waits)} -> {number(change.after.waits)}"
    stall = f"{duration(change.before.stall_ns)} -> {duration(change.after.stall_ns)}"
    return waits, stall, change.state if change.unit == unit else f"{change.state} ({OUTSIDE})"


def number(value: float) -> str:
    """A rate: `3`, `0.10`."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _change(before: float, after: float) -> str:
    """`-40%`; `new` where there was nothing."""
    if before == after:
        return "same"
    return f"{after / before - 1:+.0%}" if before else "new"
