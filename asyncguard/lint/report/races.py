"""Reports of what uses host memory that an asynchronous copy may not be done with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import libcst as cst

from asyncguard.lint.domain.copies import Made, Race
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.domain.reasons import MEDIUM
from asyncguard.lint.report.reports import Report
from asyncguard.model import Loop

if TYPE_CHECKING:
    from asyncguard.lint.domain.definitions import FunctionInfo
    from asyncguard.lint.modules.analysis import FileAnalysis


def reports(
    analysis: FileAnalysis, code: str, message: str, advice: str, *, fills: bool
) -> Iterator[Report]:
    """Yield the races with copies that fill the host's memory, or with those that read it.

    In `message` `{use}` and `{copy}` stand for what happens, and for where the copy is started.
    """
    for info in analysis.reported:
        for race in info.summary.races if info.summary is not None else ():
            if race.copy.fills == fills and isinstance(race.node, cst.CSTNode):
                yield _report(analysis, info, race, race.node, code, message, advice)


def _report(
    analysis: FileAnalysis,
    info: FunctionInfo,
    race: Race,
    node: cst.CSTNode,
    code: str,
    message: str,
    advice: str,
) -> Report:
    use = "writes host memory" if race.writes else "reads host memory"
    said = message.format(use=use, copy=_place(analysis, race.copy.made))
    context = Context(Loop.NONE, race.guarded)
    report = Report(code, said, node, info, context, MEDIUM, "torch")
    report.advice = advice
    return report


def _place(analysis: FileAnalysis, made: Made) -> str:
    line = made.place[0]
    return f"line {line}" if made.path == analysis.path else f"{Path(made.path).name}:{line}"
