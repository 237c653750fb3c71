"""From sites to reports: what a rule says about one place, before its position is known.

A check yields `Report`s over tree nodes; `facts` finds their places, all at once, and turns them
into `Candidate`s: findings whose loop context still waits for the callers of their function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from asyncguard.catalogue import SyncPoint
from asyncguard.lint.domain.definitions import FunctionInfo, Site
from asyncguard.lint.domain.dependence import INDEPENDENT, Dependence
from asyncguard.lint.domain.hotness import Context
from asyncguard.lint.evidence import items
from asyncguard.lint.report.reasons import of_site
from asyncguard.lint.syntax.unit import Place
from asyncguard.model import Confidence, FindingReason, Fix

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis


CONFIDENCES = (Confidence.LOW, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


class Source(NamedTuple):
    """The text that places refer to."""

    lines: list[str]

    def text(self, place: Place) -> str:
        """Return the text of a place."""
        line, column, end_line, end_column = place
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        middle = self.lines[line : end_line - 1]
        return "\n".join(
            [self.lines[line - 1][column:], *middle, self.lines[end_line - 1][:end_column]]
        )


WHEN = " {when}"  # in a message, what says how often it waits
FixMaker = Callable[[dict[int, Place], Source], Fix | None]


@dataclass(eq=False, slots=True)
class Report:
    """What a rule objects to, at which node.

    In its message `{site}`, `{when}` and `{lines}` (those of `extra_nodes`) are filled in.
    """

    code: str
    message: str
    node: cst.CSTNode
    function: FunctionInfo
    context: Context
    confidence: int
    framework: str = ""
    api: str = ""
    advice: str = ""
    subject: cst.CSTNode | None = None
    via: Site | None = None
    params: Dependence = INDEPENDENT  # of what it reads
    extra_nodes: tuple[cst.CSTNode, ...] = field(default=())
    fix: FixMaker | None = None
    reasons: tuple[FindingReason, ...] = ()
    evidence: tuple[str, ...] = ()
    if_handed: bool = False  # only where a call hands a device value
    how: str = ""  # what asks for the value, as `Site.how`
    measures: bool = False  # it waits for a timer, which is worth a word in a training alone


def report_site(site: Site, code: str, message: str) -> Report:
    """Make the report of one site."""
    return Report(
        code,
        message,
        site.node,
        site.function,
        site.context,
        site.confidence,
        site.point.framework,
        site.point.id,
        site.point.advice,
        site.subject,
        site.via,
        site.params,
        reasons=of_site(site),
        evidence=items.of_site(site),
        if_handed=site.if_handed,
        how=site.how,
    )


def code_of(site: Site) -> str:
    """Return the rule that a site belongs to."""
    if site.held:
        return "ASG108"
    return "ASG107" if site.sink else site.point.rule


def sites_of(analysis: FileAnalysis, code: str) -> Iterator[Site]:
    """Yield the file's sites of one rule."""
    for site in (*analysis.sites, *analysis.reads):
        if code_of(site) == code:
            yield site


def report_all(analysis: FileAnalysis, code: str, message: str) -> Iterator[Report]:
    """Report every site of one rule, in words of its entry where that has some."""
    for site in sites_of(analysis, code):
        yield report_site(site, code, _said(site.point, message))


def _said(point: SyncPoint, message: str) -> str:
    """Return a rule's message in the words of an entry."""
    if not point.fact:
        return message
    remedy = f": {point.remedy}" if point.remedy else message.partition(WHEN)[2]
    return f"`{{site}}` {point.fact}{WHEN}{remedy}"
