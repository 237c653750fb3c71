"""`asyncguard gate`: traces and source against a baseline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard.cli import check, findings, options
from asyncguard.cli.output import Output, tell
from asyncguard.cli.parsing import add_command
from asyncguard.model import Finding, TraceRecord

if TYPE_CHECKING:
    from asyncguard.gate.accepted import Place
    from asyncguard.gate.baseline import Baseline, SiteKey
    from asyncguard.gate.compare import Matched


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
        page="reference/baseline.md",
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
    from asyncguard.gate import judging
    from asyncguard.gate.accepted import Place, of_folder
    from asyncguard.lint.check import LintResult
    from asyncguard.render import gate as render

    output = Output.of(arguments, arguments.paths)
    settings = options.configuration(arguments)
    place = Place(arguments.baseline) if arguments.baseline else of_folder(settings, Path.cwd())
    given = judging.read(arguments.paths, settings)
    for note in given.notes:
        tell(note, quiet=arguments.quiet)
    result = LintResult((), 0)
    if given.sources:
        result = check.find(given.sources, settings, quiet=arguments.quiet)
    if arguments.update:
        found = result.findings if given.sources else None
        output.write(_update(place, found, given.records, given.basis))
        return 0
    accepted, matched, grown, gone = judging.judge(place, given, result)
    new = matched.new
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
