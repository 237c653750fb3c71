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
from asyncguard.lint.domain.values import NAMED
from asyncguard.lint.modules.analysis import FileAnalysis
from asyncguard.lint.modules.project import Project
from asyncguard.lint.program.definitions import is_telling
from asyncguard.lint.program.facts import (
    Call,
    Candidate,
    Class,
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


def of_source(
    data: bytes,
    path: str,
    project: Project,
    *,
    everything: bool,
    woken: frozenset[str] = frozenset(),
) -> FileFacts:
    """Check one file's bytes; never raises for what the file holds.

    Only functions from which a hot sync point may be reached are looked at, unless `everything`;
    or only those whose names are in `woken`, if any are.
    """
    try:
        if path.endswith(".ipynb"):
            return _of_notebook(data, path, project, everything, woken)
        return _of_text(decode(data), path, project, everything, woken)
    except SourceError as error:
        return unreadable(path, error.reason, error.line, error.column)
    except (RecursionError, tree.TooDeepError, MemoryError):
        return unreadable(path, "nested too deeply to be analysed")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not hide other files
        return unreadable(path, f"could not be analysed: {type(error).__name__}: {error}")


def _of_notebook(
    data: bytes, path: str, project: Project, everything: bool, woken: frozenset[str]
) -> FileFacts:
    try:
        notebook = read_notebook(data)
    except ValueError as error:
        return unreadable(path, str(error))
    if notebook is None:
        return FileFacts(path)
    try:
        facts = _of_text(notebook.source, path, project, everything, woken)
    except SourceError as error:
        facts = unreadable(path, error.reason, error.line, error.column)
    return facts._replace(notebook=notebook)


def _of_text(
    text: str, path: str, project: Project, everything: bool, woken: frozenset[str]
) -> FileFacts:
    analysis = project.file(path)
    comments = suppressions(text) if not woken else ()  # which the first look has told
    frameworks = project.frameworks(path, text)
    if not frameworks:
        project.validate(path, text)
        return FileFacts(path, suppressions=comments)
    _make_room(project)
    if analysis is None:
        analysis = project.add(path, text, project.syntax(path, text), frameworks)
    outline = analysis.outline
    dormant: frozenset[str] = frozenset()
    innocent: dict[str, frozenset[str]] = {}
    roots: set[int] | None = None
    if woken:
        roots = outline.called(woken)
    elif not everything:
        roots, dormant, innocent = outline.roots, outline.dormant, outline.innocent
    classes = {
        name: Class(bases, asleep)
        for name, bases in outline.bases.items()
        if (asleep := outline.methods.get(name, dormant) & dormant) or bases
    }
    if roots is not None and not roots and not outline.module_suspicious:
        analysis.let_go_of_syntax()
        return FileFacts(
            path, suppressions=comments, dormant=dormant, innocent=innocent, classes=classes
        )
    analysis.run_from(roots)
    run = [info for info in analysis.infos() if info.summary is not None]
    ran = {id(info.outlined) for info in run}  # some of them as what others call
    awake = frozenset(n for n in dormant if all(id(f) in ran for f in outline.by_name[n]))
    analysis.report([info for info in run if info.unit is not None])
    analysis.let_go_of_syntax()
    candidates = list(_candidates(analysis))
    calls, hooks, named = list(_calls(analysis)), list(_hooks(analysis)), list(_named(analysis))
    rounds = _rounds(analysis)
    defined = tuple((info.name, info.qualname) for info in run if info.name)
    bare = [info for info in run if info.unit is None]  # the rules have looked at them before
    for info in (*bare, *_reached(analysis, run)):
        told = _told(info)
        candidates += told.candidates
        calls += told.calls
        hooks += told.hooks
        named += told.named
        rounds |= told.rounds
    return FileFacts(
        path,
        tuple(candidates),
        tuple(calls),
        tuple(hooks),
        comments,
        named=tuple(named),
        defined=defined,
        dormant=dormant,
        awake=awake,
        innocent=innocent,
        classes=classes,
        rounds=rounds,
    )


def _reached(analysis: FileAnalysis, run: Iterable[FunctionInfo]) -> Iterator[FunctionInfo]:
    """Yield the functions of other files that the file's own lead to, as far as followed."""
    seen: set[int] = set()
    pending = list(run)
    while pending:
        info = pending.pop()
        for edge in info.summary.edges if info.summary is not None else ():
            callee = edge.callee
            if id(callee) not in seen and callee.summary is not None:
                seen.add(id(callee))
                pending.append(callee)
                if callee.module is not analysis:
                    yield callee


def _make_room(project: Project) -> None:
    """Let go of trees that seem done with; the rules first look at what others may ask about."""
    for analysis in project.overgrown():
        for info in (analysis.body, *analysis.asked_abroad()):
            _told(info)
        analysis.shed()


def _told(info: FunctionInfo) -> FileFacts:
    """Return what one function of another file told, found once however many files ask."""
    analysis: FileAnalysis = info.module
    known = cast("FileFacts | None", analysis.told.get(info))
    if known is None:
        analysis.report([info])
        known = analysis.told[info] = FileFacts(
            analysis.path,
            tuple(_candidates(analysis)),
            tuple(_calls(analysis)),
            tuple(_hooks(analysis)),
            named=tuple(_named(analysis)),
            rounds=_rounds(analysis),
        )
    return known


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
