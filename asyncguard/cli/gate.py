"""`asyncguard gate`: traces and source against a baseline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard.cli import check, findings, options
from asyncguard.cli.output import Output
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError, Finding, TraceRecord

if TYPE_CHECKING:
    from asyncguard.gate.baseline import Baseline
    from asyncguard.lint.check import LintResult


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
        help="baseline to compare with (default: asyncguard-baseline.json)",
    )  # fmt: skip
    parser.add_argument(
        "--update", action="store_true", help="rewrite the baseline with the current state"
    )
    findings.add_format(parser)
    options.add_selection(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare with the baseline, or update it."""
    from asyncguard.gate import baseline, basis, compare
    from asyncguard.lint.check import LintResult
    from asyncguard.render import gate as render
    from asyncguard.runtime import store

    output = Output.of(arguments, arguments.paths)
    path = arguments.baseline or baseline.DEFAULT_PATH
    traces = [p for p in arguments.paths if p.suffix == ".json"]
    records = [store.load(p) for p in traces]
    of_traces = _basis(traces, records)
    source_paths = [p for p in arguments.paths if p.suffix != ".json"]
    result = LintResult((), 0)
    if source_paths:
        result = check.find(source_paths, options.configuration(arguments), quiet=arguments.quiet)
    if arguments.update:
        found = result.findings if source_paths else None
        output.write(_update(path, found, records, of_traces))
        return 0
    accepted = baseline.load(path)
    _require_accepted(path, accepted, bool(source_paths), bool(records))
    if records:
        remedy = f"record it as the baseline's was, or accept it with `{baseline.UPDATE}`"
        basis.require_same(str(traces[0]), of_traces, str(path), accepted.basis, remedy)
    new = compare.new_findings(result.findings, accepted.findings or {})
    grown = compare.grown_sites(records, accepted.sites or {})
    notes = findings.stale(_stale(accepted, result, records), path, f"{baseline.UPDATE} PATHS")
    name = arguments.output_format or (output.format if output.path else "text")
    if name == "text":
        if new or grown or not arguments.quiet:
            output.write(render.verdict(path, new, grown, _advice(), output.screen, notes))
    else:
        everything = (*new, *render.as_findings(grown, _codes(), _advice()))
        how = findings.How(output, name, quiet=arguments.quiet)
        findings.show(how, everything, result.files_checked, notes=notes)
    return 1 if new or grown else 0


def _require_accepted(path: Path, accepted: Baseline, source: bool, traces: bool) -> None:
    """Raise AsyncguardError for a baseline without what is to be compared."""
    if source and accepted.findings is None:
        raise AsyncguardError(f"{path} has no lint findings yet; add them with --update")
    if traces and accepted.sites is None:
        raise AsyncguardError(f"{path} has no trace yet; add one with --update")


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
    path: Path, found: Sequence[Finding] | None, records: Sequence[TraceRecord], basis: str
) -> str:
    """Write findings and traces into the baseline; what is not given stays in it as it is.

    Returns what to say about it.
    """
    from asyncguard.gate import baseline
    from asyncguard.render import gate as render

    baseline.update(
        path,
        None if found is None else baseline.of_findings(found),
        baseline.of_traces(records) if records else None,
        basis=basis,
    )
    return render.updated(path, found, records)


def _stale(accepted: Baseline, result: LintResult, records: Sequence[TraceRecord]) -> list[object]:
    """What the baseline holds and is gone."""
    from asyncguard.gate import compare

    stale: list[object] = list(
        compare.stale_findings(result.findings, accepted.findings or {}, result.files)
    )
    if records:
        stale += compare.stale_sites(records, accepted.sites or {})
    return stale


def _advice() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.advice for point in catalogue.load()}


def _codes() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.rule for point in catalogue.load()}
