"""What each tool does, in the process of its call. Paths are in the root, the working directory.

Nothing here executes a program: `run` has been over when `ran` reads what it left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncguard import catalogue, files, reports
from asyncguard.advise.replay import predict as replayed
from asyncguard.cli import explain as explaining
from asyncguard.cli import fixes
from asyncguard.gate import judging
from asyncguard.gate.accepted import Place, configured, of_folder, without_accepted
from asyncguard.lint import selectors
from asyncguard.lint.check import LintResult, check_configured
from asyncguard.lint.report import impact
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.settings import override
from asyncguard.mcp import results, shown
from asyncguard.mcp.root import AGAIN, OUTPUT, Root
from asyncguard.model import AsyncguardError, Finding, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render.words import count, duration
from asyncguard.reports import diff as compared
from asyncguard.runtime import store
from asyncguard.tune import outputs

PATCH = 20_000  # characters of a patch that are returned
NOTES = 10
STEP = 100  # the codes and names that `select` takes at most


def check(
    paths: Sequence[str],
    rules: Sequence[str],
    everything: bool,
    limit: int,
    offset: int,
    patch: str,
) -> results.Checked:
    """Check paths, and work out the patch if one is asked for; nothing is written."""
    chosen = _rules(rules)
    configuration = _configuration(chosen, everything)
    place = configured(configuration)
    counts: dict[Place, int] = {}

    def look(given: fixes.Given) -> fixes.Looked:
        result = check_configured([Path(path) for path in paths], configuration)
        names = {*result.files, *(finding.path for finding in result.findings)}
        found = _of_rules(_within(result.findings), chosen)
        left = without_accepted(found, names, place)
        counts.update(left.counts)
        return fixes.Looked(result, left.findings)

    seen = look({})
    accepted = sum(counts.values())
    ordered = impact.ordered(seen.found, "impact")
    page = ordered[offset : offset + limit]
    left = max(len(ordered) - offset - len(page), 0)
    repaired = fixes.repaired(seen, {}, look, unsafe=patch == "unsafe") if patch != "none" else None
    text, too_large = _patch(repaired) if repaired else (None, [])
    result = seen.result
    notes = [*result.notes, *_counted(result)]
    return results.Checked(
        verdict=_found(ordered, result.files_checked, left, repaired),
        total=len(ordered),
        findings=shown.findings(page),
        left=left,
        next_offset=offset + len(page) if left and page else None,
        hidden=result.hidden,
        accepted=accepted,
        files_checked=result.files_checked,
        patch=text,
        patch_repairs=repaired.fixed if repaired else 0,
        patch_left=too_large,
        notes=notes[:NOTES],
    )


def _rules(names: Sequence[str]) -> tuple[str, ...]:
    """Read codes, starts of codes and names; raises AsyncguardError."""
    try:
        return tuple(map(selectors.parse, names))
    except ValueError as error:
        raise AsyncguardError(f"rules: {error}; `explain` describes each") from error


def _configuration(chosen: tuple[str, ...], everything: bool) -> Configuration:
    """Return the settings of the project, with the rules that were asked for, if any were."""
    select = (selectors.ALL,) if everything else chosen or None
    return Configuration(lambda settings: override(settings, select=select))


def _of_rules(found: Iterable[Finding], chosen: tuple[str, ...]) -> list[Finding]:
    return [f for f in found if any(selectors.matches(c, f.code) for c in chosen or ("ALL",))]


def _within(found: Sequence[Finding]) -> list[Finding]:
    """Leave out files that are links to what lies outside of the root."""
    root = Root(Path())
    held = {path: root.holds(path) for path in {finding.path for finding in found}}
    return [finding for finding in found if held[finding.path]]


def _found(
    ordered: Sequence[Finding], checked: int, left: int, repaired: fixes.Repaired | None
) -> str:
    where = {finding.path for finding in ordered}
    said = f"{count(len(ordered), 'finding')} in {count(len(where), 'file')}"
    said += f" ({count(checked, 'file')} checked)"
    if left:
        said += f", {left:,} more behind `offset`"
    if repaired is not None:
        remaining = len(repaired.seen.found)
        said += f"; the patch repairs {repaired.fixed:,} and leaves {remaining:,}"
    return said


def _counted(result: LintResult) -> list[str]:
    told = []
    if result.allowed:
        told.append(f"{count(len(result.allowed), 'finding')} allowed in the source")
    if result.in_tests:
        told.append(f"{count(result.in_tests, 'finding')} in unit tests left out")
    return told


def _patch(repaired: fixes.Repaired) -> tuple[str, list[str]]:
    """Return the patch as far as it goes in whole files, and the files that do not fit."""
    text, left = "", []
    for path, change in repaired.changes.items():
        part = change.patch()
        if len(text) + len(part) > PATCH:
            left.append(path)
        else:
            text += part
    return text, left


def explain(what: str, path: str | None, line: int, limit: int) -> results.Explanation:
    """Explain a rule, or a line of a file."""
    if path is None:
        rule = explaining.rule(what)
        return results.Explanation(
            verdict=f"{rule.code} {rule.name}: {rule.summary}",
            code=rule.code,
            rule=rule.name,
            text=rule.explanation,
            findings=[],
        )
    found, none = explaining.explained_line(Path(path), line)
    told = shown.findings([finding for finding, _ in found[:limit]])
    reported = sum(not hidden for _, hidden in found)
    verdict = none
    if found:
        verdict = f"{path}:{line}: {count(len(found), 'finding')}, {reported:,} of them reported"
    return results.Explanation(
        verdict=verdict,
        code=None,
        rule=None,
        text="",
        findings=[
            results.Explained(finding=finding, hidden=hidden)
            for finding, (_, hidden) in zip(told, found, strict=False)
        ],
    )


def report(trace: str, limit: int) -> results.Report:
    """Show a saved trace."""
    return _report(store.load(Path(trace)), trace, limit)


def _report(record: TraceRecord, trace: str, limit: int) -> results.Report:
    told = reports.of(record)
    return shown.report(record, trace, told.suggestions, told.advice, limit)


def predict(
    trace: str,
    remove: Sequence[str],
    batch: Sequence[Sequence[str]],
    every: Sequence[Mapping[str, Any]],
) -> results.Predicted:
    """Predict a step without some waits."""
    record = store.load(Path(trace))
    sites = _Sites(record, trace)
    found = replayed(
        record,
        remove=[site for place in remove for site in sites.at(place)],
        batch=[[site for place in group for site in sites.at(place)] for group in batch],
        every=[(site, pair["every"]) for pair in every for site in sites.at(pair["place"])],
    )
    between = f"{duration(found.low_ns)} to {duration(found.high_ns)}"
    return results.Predicted(
        verdict=f"{duration(found.before_ns)} -> {duration(found.step_ns)} a step ({between}), "
        f"{found.basis}; then the {found.bottleneck} would take most of it",
        before_ms=shown.ms(found.before_ns),
        step_ms=shown.ms(found.step_ns),
        low_ms=shown.ms(found.low_ns),
        high_ms=shown.ms(found.high_ns),
        saving_ms=shown.ms(found.saving_ns),
        basis=found.basis,
        bottleneck=found.bottleneck,
    )


class _Sites:
    """The sites of a trace by their places."""

    def __init__(self, record: TraceRecord, trace: str) -> None:
        self._trace = trace
        self._by_place: dict[str, list[SiteStats]] = {}
        for site in record.sites:
            self._by_place.setdefault(place_of(site.path, site.line), []).append(site)

    def at(self, place: str) -> list[SiteStats]:
        """Return the sites of a line; raises AsyncguardError, with those that there are."""
        found = self._by_place.get(re.sub(r"^\./", "", place))
        if found is None:
            known = ", ".join([*self._by_place][:STEP]) or "none"
            raise AsyncguardError(
                f"{place}: nothing waited there in {self._trace}; places that did: {known}"
            )
        return found


def diff(before: str, after: str, limit: int) -> results.Diff:
    """Put two traces side by side."""
    old, new = store.load(Path(before)), store.load(Path(after))
    return shown.diff(compared(old, new, (before, after)), limit)


def gate(paths: Sequence[str], baseline: str | None, limit: int) -> results.Gated:
    """Hold source and traces against a baseline; nothing is written."""
    configuration = Configuration()
    place = Place(Path(baseline)) if baseline else of_folder(configuration, Path.cwd())
    given = judging.read([Path(path) for path in paths], configuration)
    result = LintResult((), 0)
    if given.sources:
        result = check_configured(given.sources, configuration)
    judged = judging.judge(place, given, result)
    new, grown = impact.ordered(_within(judged.matched.new), "impact"), judged.grown
    advice = {point.id: point.advice for point in catalogue.load()}
    return results.Gated(
        verdict=_judged(place, len(new), len(grown)),
        passed=not new and not grown,
        baseline=place.shown,
        findings=shown.findings(new[:limit]),
        findings_left=max(len(new) - limit, 0),
        grown=[shown.grown(item, advice) for item in grown[:limit]],
        grown_left=max(len(grown) - limit, 0),
        stale=len(judged.matched.stale) + len(judged.gone),
        notes=[*given.notes, *result.notes][:NOTES],
    )


def _judged(place: Place, new: int, grown: int) -> str:
    if not new and not grown:
        return f"passed: nothing is new or waits more often than in {place.shown}"
    parts = [count(new, "new finding")] if new else []
    parts += [f"{count(grown, 'site')} that waits more often or is new"] if grown else []
    return f"failed: {' and '.join(parts)}, against {place.shown}"


def ran(
    name: str,
    trace: str | None,
    status: int | None,
    compare_to: str | None,
    before: str | None,
    limit: int,
) -> Mapping[str, Any]:
    """Return the report of a run that is over, and how it compares with one before it."""
    if trace is None:
        return {"report": None, "comparison": None, "verdict": "no trace was left"}
    record = store.load(Path(trace))
    told = _report(record, trace, limit)
    if before is None or compare_to is None:
        return {"report": told.model_dump(), "comparison": None, "verdict": told.verdict}
    old = store.load(Path(before))
    try:
        found = compared(old, record, (compare_to, name))
    except AsyncguardError as error:  # the run itself is worth telling
        verdict = f"{told.verdict}; not compared: {error}"
        return {"report": told.model_dump(), "comparison": None, "verdict": verdict}
    printed, troubles = _printed(Path(before), Path(trace)), [*old.troubles, *record.troubles]
    statuses = old.exit_status, status
    result = shown.comparison(compare_to, found, printed, statuses, not troubles)
    verdict = shown.compared(found, result)
    if troubles:
        verdict += f"; waits may be missing: {troubles[0]}"
    return {"report": told.model_dump(), "comparison": result.model_dump(), "verdict": verdict}


def _printed(before: Path, after: Path) -> outputs.Comparison | None:
    """Compare what two runs printed; None where that of the first is not kept."""
    kept = [path.with_suffix(end) for path, end in
            ((before, OUTPUT), (after, OUTPUT), (before, AGAIN))]  # fmt: skip
    old, new, again = (_text(path) for path in kept)
    return None if old is None or new is None else outputs.compare(old, new, again)


def _text(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        return files.read(path).decode("utf-8", "replace")
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot be read: {error.strerror}; run again") from error


JOBS: Mapping[str, Callable[..., Any]] = {
    job.__name__: job for job in (check, explain, report, predict, diff, gate, ran)
}
