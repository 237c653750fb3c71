"""From what the rules report to candidates: places found, messages filled in.

A read inside a helper is reported where it stands, once; the calls that lead to it are noted with
it. Only where that place is out of sight is the call itself reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import libcst as cst

from asyncguard.lint.domain.definitions import FunctionInfo, Module, Site
from asyncguard.lint.domain.reasons import NAMED
from asyncguard.lint.labels import lines_as_text
from asyncguard.lint.modules.analysis import FileAnalysis
from asyncguard.lint.program.facts import Candidate, Via
from asyncguard.lint.report import registry
from asyncguard.lint.report.reports import CONFIDENCES, Report, Source
from asyncguard.lint.syntax.unit import Place
from asyncguard.model import Finding, Fix


def candidates(analysis: FileAnalysis) -> Iterator[Candidate]:
    """Run the rules over the functions to report, and place what they report."""
    rules = [rule.check for rule in registry.rules() if rule.check]
    reports = [report for check in rules for report in check(analysis)]
    source = Source(analysis.lines)
    found = _places((r.function, (r.node, *r.extra_nodes, *_some(r.subject))) for r in reports)
    inside = _via_places(reports)
    last = {(id(report.node), report.code): report for report in reports}
    for report in reports:
        place = found.get(id(report.node))
        if place is None:
            continue
        read = _innermost(report.via)
        if read is not None and id(read) in inside and not report.extra_nodes:
            yield _where_read(report, read, place, analysis, inside)
        elif report.via is None or last[id(report.node), report.code] is report:
            yield _candidate(report, analysis, place, found, source, inside)


def _places(
    wanted: Iterable[tuple[FunctionInfo, Iterable[cst.CSTNode]]],
) -> dict[int, Place]:
    """Return where nodes stand, by their id."""
    return {
        id(node): place
        for function, nodes in wanted
        for node in nodes
        if function.unit is not None and (place := function.unit.place(node)) is not None
    }


def _some(node: cst.CSTNode | None) -> tuple[cst.CSTNode, ...]:
    return () if node is None else (node,)


def _via_places(reports: Iterable[Report]) -> dict[int, Place]:
    """Find the places of the reads inside helpers, whichever file these are in."""
    found = {}
    for site in (site for report in reports for site in _chain(report.via)):
        unit = site.function.unit
        place = site.place or (unit.place(site.node) if unit is not None else None)
        if place is not None:
            found[id(site)] = place
    return found


def _chain(site: Site | None) -> Iterator[Site]:
    """Yield a site, and those that it stands for, down to the read."""
    while site is not None:
        yield site
        site = site.via


def _innermost(site: Site | None) -> Site | None:
    """Return where a helper reads: the call of a lambda, if that does it."""
    named = (s for s in _chain(site) if type(s.function.node) is not cst.Lambda)
    return next(reversed([*named]), None)


def _candidate(
    report: Report,
    analysis: FileAnalysis,
    place: Place,
    found: dict[int, Place],
    source: Source,
    inside: dict[int, Place],
) -> Candidate:
    """Return what is reported at its own node; of a call, what it reads out of sight."""
    message = _filled(report.message, place, source)
    if "{lines}" in message:
        lines = {found[id(node)][0] for node in report.extra_nodes if id(node) in found}
        message = message.replace("{lines}", lines_as_text(sorted(lines)))
    if report.via is not None:
        message += _reading(report.via.read, inside)
    fix = report.fix(found, source) if report.fix is not None else None
    finding = _finding(report, message, analysis, place, report.function, fix)
    return _of(report, finding, None)


def _where_read(
    report: Report,
    read: Site,
    place: Place,
    analysis: FileAnalysis,
    inside: dict[int, Place],
) -> Candidate:
    """Return what a call of a helper causes, reported where the helper reads the value."""
    helper = read.function.module
    where = inside[id(read)]
    message = _filled(report.message, where, Source(helper.lines))
    finding = _finding(report, message, helper, where, read.function, None)
    via = tuple(
        (site.function.module.path, inside[id(site)][0], inside[id(site)][1] + 1)
        for site in _chain(report.via)
        if id(site) in inside
    )
    by = Via(analysis.path, report.function.qualname, place[0], place[1] + 1, via)
    return _of(report, finding, by)


def _of(report: Report, finding: Finding, by: Via | None) -> Candidate:
    return Candidate(
        finding,
        report.params,
        report.confidence == NAMED,
        by,
        report.context.switches,
        report.if_handed and (by is None or bool(report.params.kept)),
        report.context.graphs,
        report.how,
        report.measures,
    )


def _filled(message: str, place: Place, source: Source) -> str:
    return message.replace("{site}", _short(source.text(place)))


def _finding(
    report: Report,
    message: str,
    module: Module,
    place: Place,
    function: FunctionInfo,
    fix: Fix | None,
) -> Finding:
    return Finding(
        code=report.code,
        message=message,
        path=module.path,
        line=place[0],
        column=place[1] + 1,
        end_line=place[2],
        end_column=place[3] + 1,
        function=function.qualname,
        loop=report.context.loop,
        guarded=report.context.guarded,
        framework=report.framework,
        api=report.api,
        confidence=CONFIDENCES[report.confidence],
        advice=report.advice,
        source=module.lines[place[0] - 1].rstrip(),
        fix=fix,
        reasons=report.reasons,
        evidence=report.evidence,
    )


def _reading(read: Site, inside: dict[int, Place]) -> str:
    """Name the place inside the helpers where the value is read in the end."""
    where = inside.get(id(read))
    file = Path(read.function.module.path).name
    return f" ({read.function.name} reads it at {file}:{where[0]})" if where else ""


def _short(text: str) -> str:
    text = " ".join(text.split())  # what waits mostly stands at the end: `f(...).item()`
    return text if len(text) <= 60 else f"{text[:35]}...{text[-22:]}"
