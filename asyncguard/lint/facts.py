"""One file, from bytes to `FileFacts`: the work of a worker process.

Reads, screens, parses, interprets, runs the checks and finds the places of what they report.
Whatever goes wrong in here becomes an ASG000 finding of this file alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import libcst as cst

from asyncguard.lint import registry, tree
from asyncguard.lint.analysis import FileAnalysis
from asyncguard.lint.frames import Site
from asyncguard.lint.linking import Call, Candidate, FileFacts
from asyncguard.lint.notebook import read_notebook
from asyncguard.lint.project import Project, module_name
from asyncguard.lint.reports import CONFIDENCES, Report, Source
from asyncguard.lint.source import SourceError, check_syntax, decode, frameworks_in
from asyncguard.lint.suppress import suppressions
from asyncguard.lint.worker import unreadable
from asyncguard.model import Finding, Loop


def of_source(
    data: bytes, path: str, project: Project, codes: Sequence[str] | None = None
) -> FileFacts:
    """Analyse one file's bytes; never raises for what the file holds."""
    try:
        return _of_source(data, path, project, codes)
    except SourceError as error:
        return unreadable(path, error.reason, error.line, error.column)
    except cst.ParserSyntaxError as error:
        reason = error.message.splitlines()[0] if error.message else "syntax error"
        return unreadable(path, reason, error.editor_line, error.editor_column)
    except (RecursionError, tree.TooDeepError, MemoryError):
        return unreadable(path, "nested too deeply to be analysed")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not hide other files
        return unreadable(path, f"could not be analysed: {type(error).__name__}: {error}")


def _of_source(data: bytes, path: str, project: Project, codes: Sequence[str] | None) -> FileFacts:
    if path.endswith(".ipynb"):
        return _of_notebook(data, path, project, codes)
    return _of_text(decode(data), path, project, codes)


def _of_notebook(
    data: bytes, path: str, project: Project, codes: Sequence[str] | None
) -> FileFacts:
    try:
        notebook = read_notebook(data)
    except ValueError as error:
        return unreadable(path, str(error))
    if notebook is None:
        return FileFacts(path)
    try:
        facts = _of_text(notebook.source, path, project, codes)
    except SourceError as error:
        facts = unreadable(path, error.reason, error.line, error.column)
    return replace(facts, notebook=notebook)


def _of_text(text: str, path: str, project: Project, codes: Sequence[str] | None) -> FileFacts:
    frameworks = frameworks_in(text, project.knowledge.module_framework)
    check_syntax(text)
    comments = suppressions(text)
    if not frameworks:
        return FileFacts(path, suppressions=comments)
    analysis = analyse(text, path, project, frameworks)
    rules = [r for r in registry.rules() if r.check and (codes is None or r.code in codes)]
    reports = [report for rule in rules if rule.check for report in rule.check(analysis)]
    return FileFacts(
        path,
        tuple(_candidates(reports, analysis, text)),
        tuple(_calls(analysis)),
        tuple(_hooks(analysis)),
        comments,
    )


def analyse(text: str, path: str, project: Project, frameworks: tuple[str, ...]) -> FileAnalysis:
    """Parse and interpret a text."""
    name, is_package = module_name(Path(path).absolute())
    analysis = FileAnalysis(
        path, name, tree.parse(text), project.knowledge, frameworks, project, is_package=is_package
    )
    if name in project.modules:
        project.loaded[name] = analysis
    analysis.run_all()
    return analysis


def _calls(analysis: FileAnalysis) -> Iterator[Call]:
    seen: set[Call] = set()
    for info in analysis.infos():
        if info.compiled or info.summary is None:
            continue
        for edge in info.summary.edges:
            callee = edge.callee
            call = Call(info.qualname, callee.module.path, callee.qualname, edge.loop, edge.guarded)
            if call not in seen:
                seen.add(call)
                yield call


def _hooks(analysis: FileAnalysis) -> Iterator[tuple[str, Loop]]:
    for info in analysis.functions:
        if info.hook != Loop.NONE:
            yield info.qualname, info.hook


# ---- reports to findings


def _candidates(
    reports: Sequence[Report], analysis: FileAnalysis, text: str
) -> Iterator[Candidate]:
    wanted = [n for r in reports for n in (r.node, *r.extra_nodes, *_some(r.subject))]
    found = tree.places(analysis.tree, wanted)
    source = Source(text.split("\n"))
    inside = _via_places(reports, analysis, found)
    for report in reports:
        place = found.get(id(report.node))
        if place is not None:
            yield _candidate(report, analysis, place, found, source, inside)


def _some(node: cst.CSTNode | None) -> tuple[cst.CSTNode, ...]:
    return () if node is None else (node,)


def _via_places(
    reports: Iterable[Report], analysis: FileAnalysis, known: dict[int, tree.Place]
) -> dict[int, tuple[str, int, int]]:
    """Find the places of the reads inside helpers, whichever file these are in."""
    by_module: dict[FileAnalysis, list[Site]] = {}
    for report in reports:
        site = report.via
        while site is not None:
            by_module.setdefault(site.function.module, []).append(site)
            site = site.via
    result: dict[int, tuple[str, int, int]] = {}
    for module, sites in by_module.items():
        for site_id, place in tree.places(module.tree, [s.node for s in sites]).items():
            result[site_id] = (module.path, place[0], place[1] + 1)
    return result


def _candidate(
    report: Report,
    analysis: FileAnalysis,
    place: tree.Place,
    found: dict[int, tree.Place],
    source: Source,
    inside: dict[int, tuple[str, int, int]],
) -> Candidate:
    message = report.message.replace("{site}", _short(source.text(place)))
    via = None
    if report.via is not None:
        via = inside.get(id(report.via.node))
        message += _reading(report.via, inside)
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
    return Candidate(finding, report.reads_parameter, via)


def _reading(site: Site, inside: dict[int, tuple[str, int, int]]) -> str:
    """Name the place inside the helpers where the value is read in the end."""
    name = site.function.name
    while site.via is not None:
        site = site.via
    where = inside.get(id(site.node))
    return f" ({name} reads it at {Path(where[0]).name}:{where[1]})" if where else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
