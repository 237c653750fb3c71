"""`asyncguard gate`: traces and source against a baseline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import screens
from asyncguard.cli import check, findings
from asyncguard.model import AsyncguardError, Finding, TraceRecord

if TYPE_CHECKING:
    from asyncguard.gate.baseline import Baseline
    from asyncguard.lint.check import LintResult


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "gate",
        help="fail if a site is new or waits more often",
        description=(
            "Compare traces (.json) or source (files, directories) with a baseline, and fail for "
            "each site that is new or waits more often per step."
        ),
    )
    parser.set_defaults(command=run)
    parser.add_argument("paths", metavar="TRACE|PATH", nargs="+", type=Path)
    parser.add_argument(
        "--baseline",
        metavar="F",
        type=Path,
        help="baseline to compare with (default: asyncguard-baseline.json)",
    )
    parser.add_argument(
        "--update", action="store_true", help="rewrite the baseline with the current state"
    )
    findings.add_format(parser)
    check.add_selection(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare with the baseline, or update it."""
    from asyncguard.gate import baseline, compare
    from asyncguard.lint.check import LintResult
    from asyncguard.render import gate as render
    from asyncguard.runtime import store

    path = arguments.baseline or baseline.DEFAULT_PATH
    records = [store.load(p) for p in arguments.paths if p.suffix == ".json"]
    source_paths = [p for p in arguments.paths if p.suffix != ".json"]
    result = LintResult((), 0)
    if source_paths:
        result = check.find(source_paths, check.configuration(arguments))
    if arguments.update:
        _update(path, result.findings if source_paths else None, records)
        return 0
    accepted = baseline.load(path)
    _require_accepted(path, accepted, bool(source_paths), bool(records))
    new = compare.new_findings(result.findings, accepted.findings or {})
    grown = compare.grown_sites(records, accepted.sites or {})
    notes = findings.stale(_stale(accepted, result, records), path, f"{baseline.UPDATE} PATHS")
    if arguments.output_format in (None, "text"):
        text = render.verdict(path, new, grown, _advice(), screens.screen(sys.stdout), notes)
        screens.write(sys.stdout, text)
    else:
        everything = (*new, *render.as_findings(grown, _codes(), _advice()))
        how = findings.How(arguments.output_format)
        findings.show(how, everything, result.files_checked, notes=notes)
    return 1 if new or grown else 0


def _require_accepted(path: Path, accepted: Baseline, source: bool, traces: bool) -> None:
    """Raise AsyncguardError for a baseline without what is to be compared."""
    if source and accepted.findings is None:
        raise AsyncguardError(f"{path} has no lint findings yet; add them with --update")
    if traces and accepted.sites is None:
        raise AsyncguardError(f"{path} has no trace yet; add one with --update")


def _update(path: Path, found: Sequence[Finding] | None, records: Sequence[TraceRecord]) -> None:
    """Write findings and traces into the baseline; what is not given stays in it as it is."""
    from asyncguard.gate import baseline
    from asyncguard.render import gate as render

    baseline.update(
        path,
        None if found is None else baseline.of_findings(found),
        baseline.of_traces(records) if records else None,
    )
    screens.write(sys.stdout, render.updated(path, found, records))


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
