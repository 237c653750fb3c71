"""The suggestions as the page shows them: what each saves, its patch, and how to try it."""

from __future__ import annotations

from dataclasses import dataclass

from asyncguard.advise.repairs import Patch
from asyncguard.model import Suggestion
from asyncguard.render import TraceReport
from asyncguard.render.html.document import Detail, Shown, first
from asyncguard.render.summary import gain


@dataclass(frozen=True)
class Line:
    """One line of a patch: "add", "remove", "place" or "" for one that stays."""

    kind: str
    text: str


@dataclass(frozen=True)
class Action:
    """One suggestion: its number from 1, what it saves in words, and its patch, if there is one."""

    number: int
    item: Suggestion
    gain: str
    patch: Patch | None
    messages: Shown[str]
    lines: Shown[Line]
    is_open: bool  # whether the patch is shown at once


@dataclass(frozen=True)
class Actions:
    """What to do, what is not worth it, and the command that tries the patches on a copy."""

    follow: Shown[Action]
    leave: Shown[Action]
    trial: str


def actions(report: TraceReport, detail: Detail) -> Actions:
    """The suggestions that a page has room for, in their order."""
    numbered = list(enumerate(report.suggestions, 1))
    groups = (
        first([each for each in numbered if each[1].worth is worth], detail.items)
        for worth in (True, False)
    )
    follow, leave = (
        Shown([_action(report, number, item, detail) for number, item in group.items], group.hidden)
        for group in groups
    )
    return Actions(follow, leave, _trial(report))


def _action(report: TraceReport, number: int, item: Suggestion, detail: Detail) -> Action:
    patch = report.patches.get(number - 1)
    lines = [] if patch is None else [_line(text) for text in patch.text.splitlines()]
    is_open = number - 1 == min(report.patches, default=None)
    told = gain(item, report.record)
    messages = first(() if patch is None else patch.messages, detail.items)
    return Action(number, item, told, patch, messages, first(lines, detail.lines), is_open)


def _line(text: str) -> Line:
    if text.startswith(("---", "+++", "@@")):
        return Line("place", text)
    return Line({"+": "add", "-": "remove"}.get(text[:1], ""), text)


def _trial(report: TraceReport) -> str:
    """The command that makes the repairs in a copy and runs it; "" where none can be named."""
    record = report.record
    if not report.patches or not record.command.partition(" ")[0].endswith(".py"):
        return ""
    unsafe = "" if all(patch.safe for patch in report.patches.values()) else " --unsafe-fixes"
    simulated = " --sim cuda" if record.basis == "modelled" else ""
    return f"asyncguard tune{unsafe}{simulated} {record.command}"
