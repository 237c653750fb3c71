"""`asyncguard gate`: traces and source against a baseline."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard.cli import check, findings, options
from asyncguard.cli.output import Output, tell
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError, Finding, TraceRecord

if TYPE_CHECKING:
    from asyncguard.gate.accepted import Place
    from asyncguard.gate.baseline import Baseline, SiteKey
    from asyncguard.gate.compare import Matched
    from asyncguard.lint.run.configuration import Configuration


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "gate",
        run,
        "[OPTIONS] TRACE|PATH [TRACE|PATH ...]",
        help="fail if a site is new or waits more often",
        description="Compare traces (.json) or source (files, folders) with a baseline, and fail "
        "for each site that is new or waits more often per step.",
        examples=(
            "--update src/ asyncguard-trace.json   # accept what is there",
            "src/ asyncguard-trace.json",
        ),
        page="guides/ci.html",
    )
    parser.add_argument(
        "paths", metavar="TRACE|PATH", nargs="+", type=Path,
        help="traces, source files, or folders of either",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", metavar="FILE", type=Path,
        help="baseline to compare with (default: as the configuration says, else "
        "asyncguard-baseline.json)",
    )  # fmt: skip
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--update", action="store_true", help="rewrite the baseline with the current state"
    )
    choice.add_argument(
        "--prune", action="store_true",
        help="take out of the baseline what no longer occurs, and accept nothing new",
    )  # fmt: skip
    findings.add_format(parser)
    options.add_selection(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare with the baseline, update or prune it."""
    from asyncguard.gate import compare, soundness
    from asyncguard.gate.accepted import Place, of_folder
    from asyncguard.lint.check import LintResult
    from asyncguard.render import gate as render
    from asyncguard.runtime import store

    output = Output.of(arguments, arguments.paths)
    settings = options.configuration(arguments)
    place = Place(arguments.baseline) if arguments.baseline else of_folder(settings, Path.cwd())
    traces, sources = _sorted(arguments.paths, settings, quiet=arguments.quiet)
    records = [store.load(path) for path in traces]
    soundness.require_sound(traces, records)
    of_traces = _basis(traces, records)
    result = LintResult((), 0)
    if sources:
        result = check.find(sources, settings, quiet=arguments.quiet)
    if arguments.update:
        found = result.findings if sources else None
        output.write(_update(place, found, records, of_traces))
        return 0
    accepted = _accepted(place, sources, traces, records, of_traces)
    matched = compare.match_findings(
        result.findings, accepted.findings or {}, result.files, place.root
    )
    new = matched.new
    grown = compare.grown_sites(records, accepted.sites or {})
    gone = compare.stale_sites(records, accepted.sites or {}) if records else []
    if arguments.prune:
        notes = [_prune(place, accepted, matched, gone)]
    else:
        notes = findings.stale_note(place, [*matched.stale, *gone])
    name = arguments.output_format or (output.format if output.path else "text")
    if name != "text":
        everything = (*new, *render.as_findings(grown, _codes(), _advice()))
        how = findings.How(output, name, quiet=arguments.quiet)
        findings.show(how, everything, result.files_checked, notes=notes)
    elif new or grown or not arguments.quiet:
        shown = Path(place.shown)
        output.write(render.verdict(shown, new, grown, _advice(), output.screen, notes))
    return 1 if new or grown else 0


def _accepted(
    place: Place,
    sources: Sequence[Path],
    traces: Sequence[Path],
    records: Sequence[TraceRecord],
    of_traces: str,
) -> Baseline:
    """Load the baseline; raises AsyncguardError where it lacks what is to be compared with it."""
    from asyncguard.gate import baseline, basis, soundness

    accepted = baseline.load(place.path)
    _require_accepted(place, accepted, bool(sources), bool(records))
    if records:
        remedy = f"record it as the baseline's was, or accept it with `{baseline.UPDATE}`"
        soundness.require_steps(traces, records, accepted.sites or {})
        basis.require_same(str(traces[0]), of_traces, place.shown, accepted.basis, remedy)
    return accepted


def _sorted(
    paths: Sequence[Path], settings: Configuration, *, quiet: bool
) -> tuple[list[Path], list[Path]]:
    """Split paths into traces and sources; a folder without Python files is one of traces."""
    from asyncguard.lint.run.discover import choose
    from asyncguard.runtime import store

    traces: list[Path] = []
    sources: list[Path] = []
    for path in paths:
        folder = os.path.isdir(path)
        if folder and not choose([path], settings).files:
            traces += store.traces_below(path)
        elif folder or path.suffix != ".json":
            sources.append(path)
            for trace in store.traces_in(path) if folder else ():
                tell(f"{trace} is a trace: it is not compared unless you name it", quiet=quiet)
        else:
            traces.append(path)
    return traces, sources


def _require_accepted(place: Place, accepted: Baseline, source: bool, traces: bool) -> None:
    """Raise AsyncguardError for a baseline without what is to be compared."""
    if source and accepted.findings is None:
        raise AsyncguardError(f"{place.shown} has no lint findings yet; add them with --update")
    if traces and accepted.sites is None:
        raise AsyncguardError(f"{place.shown} has no trace yet; add one with --update")


def _basis(paths: Sequence[Path], records: Sequence[TraceRecord]) -> str:
    """How the figures of the traces came about, which has to be the same for all."""
    from asyncguard.gate import basis

    known = "", ""
    for path, record in zip(paths, records, strict=True):
        found = str(path), basis.of(record)
        basis.require_same(*found, *known, "compare one sort at a time")
        known = known if known[1] else found
    return known[1]


def _update(
    place: Place, found: Sequence[Finding] | None, records: Sequence[TraceRecord], basis: str
) -> str:
    """Write findings and traces into the baseline; what is not given stays in it as it is.

    Returns what to say about it.
    """
    from asyncguard.gate import baseline
    from asyncguard.render import gate as render

    baseline.update(
        place.path,
        None if found is None else baseline.of_findings(found, place.root),
        baseline.of_traces(records) if records else None,
        basis=basis,
    )
    return render.updated(Path(place.shown), found, records)


def _prune(place: Place, accepted: Baseline, matched: Matched, gone: Sequence[SiteKey]) -> str:
    """Take what is stale out of the baseline, and accept nothing new; returns what to say."""
    from asyncguard.gate import baseline, compare

    kept = compare.pruned_findings(matched, accepted.findings or {})
    sites = {key: rate for key, rate in (accepted.sites or {}).items() if key not in gone}
    baseline.update(
        place.path,
        None if accepted.findings is None else kept,
        None if accepted.sites is None else sites,
        basis=accepted.basis,
    )
    return f"{place.shown}: stale entries taken out: {len(matched.stale) + len(gone):,}"


def _advice() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.advice for point in catalogue.load()}


def _codes() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.rule for point in catalogue.load()}
