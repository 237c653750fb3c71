"""One file, from bytes to `FileFacts`: the work of a worker process.

Reads, screens, parses, interprets, runs the checks and finds the places of what they report.
Whatever goes wrong in here becomes an ASG000 finding of this file alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import libcst as cst

from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.effects import Site
from asyncguard.lint.domain.reasons import NAMED
from asyncguard.lint.modules.analysis import FileAnalysis
from asyncguard.lint.modules.project import Project
from asyncguard.lint.program.definitions import is_telling
from asyncguard.lint.program.facts import (
    Call,
    Candidate,
    FileFacts,
    Hook,
    Key,
    NamedCall,
    unreadable,
)
from asyncguard.lint.report import registry
from asyncguard.lint.report.reports import CONFIDENCES, Report, Source
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.lint.source.notebook import read_notebook
from asyncguard.lint.source.suppress import suppressions
from asyncguard.lint.syntax import tree
from asyncguard.model import Finding, Loop


def of_source(data: bytes, path: str, project: Project) -> FileFacts:
    """Check one file's bytes; never raises for what the file holds."""
    try:
        if path.endswith(".ipynb"):
            return _of_notebook(data, path, project)
        return _of_text(decode(data), path, project)
    except SourceError as error:
        return unreadable(path, error.reason, error.line, error.column)
    except (RecursionError, tree.TooDeepError, MemoryError):
        return unreadable(path, "nested too deeply to be analysed")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not hide other files
        return unreadable(path, f"could not be analysed: {type(error).__name__}: {error}")


def _of_notebook(data: bytes, path: str, project: Project) -> FileFacts:
    try:
        notebook = read_notebook(data)
    except ValueError as error:
        return unreadable(path, str(error))
    if notebook is None:
        return FileFacts(path)
    try:
        facts = _of_text(notebook.source, path, project)
    except SourceError as error:
        facts = unreadable(path, error.reason, error.line, error.column)
    return facts._replace(notebook=notebook)


def _of_text(text: str, path: str, project: Project) -> FileFacts:
    comments = suppressions(text)
    frameworks = project.frameworks(path, text)
    if not frameworks:
        classes = project.own_classes(path, text)
        return FileFacts(
            path,
            suppressions=comments,
            bases={name: known.bases for name, known in classes.items()},
            bare={name: known.methods for name, known in classes.items()},
        )
    _make_room(project)
    analysis = project.file(path)
    if analysis is None:
        analysis = project.add(path, text, project.syntax(path, text), frameworks)
    facts = _facts(analysis)
    for info in _reached(analysis):
        facts = facts.with_guest(_of_guest(info))
    analysis.let_go_of_syntax()
    return facts._replace(suppressions=comments)


def _facts(analysis: FileAnalysis) -> FileFacts:
    """Return what a file's own functions tell, all of them run."""
    if analysis.told is None:
        analysis.run_all()
        known = [info for info in analysis.infos() if info.summary is not None]
        analysis.told = _tell(analysis, known)._replace(
            defined=tuple((info.name, info.qualname) for info in known if info.name),
            bases={name: bases for name, bases in analysis.outline.bases.items() if bases},
        )
    return cast(FileFacts, analysis.told)


def _reached(analysis: FileAnalysis) -> Iterator[FunctionInfo]:
    """Yield the functions that the file leads to in files of no framework, which tell nothing."""
    seen: set[int] = set()
    pending = [info for info in analysis.infos() if info.summary is not None]
    while pending:
        info = pending.pop()
        for edge in info.summary.edges:
            callee = edge.callee
            if id(callee) not in seen and callee.module.is_guest and callee.summary is not None:
                seen.add(id(callee))
                pending.append(callee)
                if callee.module is not analysis:
                    yield callee


def _make_room(project: Project) -> None:
    """Let go of trees that seem done with; the rules first look at what others may ask about."""
    for analysis in project.overgrown():
        if not analysis.is_guest:
            _facts(analysis)
        for info in (analysis.body, *analysis.asked_abroad()) if analysis.is_guest else ():
            _of_guest(info)
        analysis.shed()


def _of_guest(info: FunctionInfo) -> FileFacts:
    """Return what one function of a file of no framework told, found once."""
    analysis: FileAnalysis = info.module
    if info not in analysis.told_by:
        analysis.told_by[info] = _tell(analysis, [info])
    return cast(FileFacts, analysis.told_by[info])


def _tell(analysis: FileAnalysis, functions: list[FunctionInfo]) -> FileFacts:
    """Return what functions of one file tell."""
    analysis.report(functions)
    return FileFacts(
        analysis.path,
        tuple(_candidates(analysis)),
        tuple(_calls(analysis)),
        tuple(_hooks(analysis)),
        named=tuple(_named(analysis)),
        rounds=_rounds(analysis),
        compiled=_compiled(analysis),
    )


def _calls(analysis: FileAnalysis) -> Iterator[Call]:
    seen: set[Call] = set()
    for info in analysis.reported:
        if info.compiled or info.summary is None:
            continue
        for edge in info.summary.edges:
            callee = edge.callee
            call = Call(
                analysis.path,
                info.qualname,
                callee.module.path,
                callee.qualname,
                edge.loop,
                edge.guarded,
                edge.spared,
            )
            if call not in seen:
                seen.add(call)
                yield call


def _named(analysis: FileAnalysis) -> Iterator[NamedCall]:
    for info in analysis.reported:
        if not info.compiled and info.summary is not None:
            for name, loop, guarded in info.summary.named:
                if is_telling(name):
                    yield NamedCall(analysis.path, info.qualname, name, loop, guarded)


def _hooks(analysis: FileAnalysis) -> Iterator[Hook]:
    for info in analysis.reported:
        if info.entered != Loop.NONE:
            yield Hook(analysis.path, info.qualname, info.entered)


def _rounds(analysis: FileAnalysis) -> frozenset[Key]:
    """Return the functions that loop over training steps, and run none beside."""
    return frozenset(
        (analysis.path, info.qualname)
        for info in analysis.reported
        if info.summary is not None and info.summary.rounds and info.entered != Loop.STEP
    )


def _compiled(analysis: FileAnalysis) -> frozenset[Key]:
    """Return the functions that are compiled, or handed to a compiler: nothing in them waits."""
    own = (info for info in analysis.reported if info.compiled)
    others = (
        info for known in analysis.reported if known.summary for info in known.summary.compiles
    )
    return frozenset((info.module.path, info.qualname) for info in (*own, *others))


def _candidates(analysis: FileAnalysis) -> Iterator[Candidate]:
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
        candidate = _candidate(report, analysis, place, found, source, inside)
        if report.via is None or last[id(report.node), report.code] is report:
            yield candidate  # one for all that a call reads
        read = _innermost(report.via)
        if read is not None and id(read) in inside:
            yield _where_read(report, read, candidate, inside[id(read)])


def _places(
    wanted: Iterable[tuple[FunctionInfo, Iterable[cst.CSTNode]]],
) -> dict[int, tree.Place]:
    """Return where nodes stand, by their id."""
    return {
        id(node): place
        for function, nodes in wanted
        for node in nodes
        if function.unit is not None and (place := tree.place(function.unit, node)) is not None
    }


def _some(node: cst.CSTNode | None) -> tuple[cst.CSTNode, ...]:
    return () if node is None else (node,)


def _via_places(reports: Iterable[Report]) -> dict[int, tree.Place]:
    """Find the places of the reads inside helpers, whichever file these are in."""
    found = {}
    for site in (site for report in reports for site in _chain(report.via)):
        unit = site.function.unit
        place = site.place or (tree.place(unit, site.node) if unit is not None else None)
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
    place: tree.Place,
    found: dict[int, tree.Place],
    source: Source,
    inside: dict[int, tree.Place],
) -> Candidate:
    message = report.message.replace("{site}", _short(source.text(place)))
    if "{lines}" in message:
        lines = {found[id(node)][0] for node in report.extra_nodes if id(node) in found}
        message = message.replace("{lines}", ", ".join(map(str, sorted(lines))))
    via = tuple(
        (site.function.module.path, inside[id(site)][0], inside[id(site)][1] + 1)
        for site in _chain(report.via)
        if id(site) in inside
    )
    if report.via is not None:
        message += _reading(report.via.read, inside)
    finding = Finding(
        code=report.code,
        message=message,
        path=analysis.path,
        line=place[0],
        column=place[1] + 1,
        end_line=place[2],
        end_column=place[3] + 1,
        function=report.function.qualname,
        loop=report.loop,
        guarded=report.guarded,
        framework=report.framework,
        api=report.api,
        confidence=CONFIDENCES[report.confidence],
        advice=report.advice,
        source=source.lines[place[0] - 1].strip(),
        fix=report.fix(found, source) if report.fix is not None else None,
    )
    return Candidate(finding, report.params, via, report.confidence == NAMED)


def _where_read(report: Report, read: Site, candidate: Candidate, place: tree.Place) -> Candidate:
    """Return what a call of a helper causes, reported where the helper reads the value."""
    call = candidate.finding
    helper: FileAnalysis = read.function.module
    source = Source(helper.lines)
    finding = replace(
        call,
        path=helper.path,
        message=report.message.replace("{site}", _short(source.text(place))),
        line=place[0],
        column=place[1] + 1,
        end_line=place[2],
        end_column=place[3] + 1,
        function=read.function.qualname,
        source=source.lines[place[0] - 1].strip(),
        fix=None,
    )
    by = (call.path, call.function, call.line, call.column)
    return Candidate(finding, report.params, named=candidate.named, by=by)


def _reading(read: Site, inside: dict[int, tree.Place]) -> str:
    """Name the place inside the helpers where the value is read in the end."""
    where = inside.get(id(read))
    file = Path(read.function.module.path).name
    return f" ({read.function.name} reads it at {file}:{where[0]})" if where else ""


def _short(text: str) -> str:
    text = " ".join(text.split())  # what waits mostly stands at the end: `f(...).item()`
    return text if len(text) <= 60 else f"{text[:35]}...{text[-22:]}"
