"""The gate's judgement: traces and source, held against what a baseline accepts of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard.gate import baseline, basis, compare, soundness
from asyncguard.model import AsyncguardError, TraceRecord

if TYPE_CHECKING:
    from asyncguard.gate.accepted import Place
    from asyncguard.gate.baseline import Baseline, SiteKey
    from asyncguard.gate.compare import GrownSite, Matched
    from asyncguard.lint.check import LintResult
    from asyncguard.lint.run.configuration import Configuration


class Given(NamedTuple):
    """What is to be judged: traces that are sound, source, and the traces that were left out."""

    traces: Sequence[Path]
    records: Sequence[TraceRecord]
    sources: Sequence[Path]
    basis: str  # how the figures of the traces came about
    notes: Sequence[str]


class Judged(NamedTuple):
    """What the baseline accepts, what of it is new or has grown, and which sites are gone."""

    accepted: Baseline
    matched: Matched
    grown: Sequence[GrownSite]
    gone: Sequence[SiteKey]


def read(paths: Sequence[Path], configuration: Configuration) -> Given:
    """Load the traces among the paths; raises AsyncguardError for one that cannot be judged by."""
    from asyncguard.runtime import store

    traces, sources, notes = _sorted(paths, configuration)
    records = [store.load(path) for path in traces]
    soundness.require_sound(traces, records)
    return Given(traces, records, sources, _basis(traces, records), notes)


def judge(place: Place, given: Given, result: LintResult) -> Judged:
    """Compare findings and traces with a baseline.

    Raises AsyncguardError where it lacks what is to be compared with it.
    """
    accepted = baseline.load(place.path)
    _require_accepted(place, accepted, bool(given.sources), bool(given.records))
    sites = accepted.sites or {}
    if given.records:
        remedy = f"record it as the baseline's was, or accept it with `{baseline.UPDATE}`"
        soundness.require_steps(given.traces, given.records, sites)
        basis.require_same(str(given.traces[0]), given.basis, place.shown, accepted.basis, remedy)
    matched = compare.match_findings(
        result.findings, accepted.findings or {}, result.files, place.root
    )
    gone = compare.stale_sites(given.records, sites) if given.records else []
    return Judged(accepted, matched, compare.grown_sites(given.records, sites), gone)


def _sorted(
    paths: Sequence[Path], configuration: Configuration
) -> tuple[list[Path], list[Path], list[str]]:
    """Split paths into traces and sources; a folder without Python files is one of traces."""
    from asyncguard.lint.run.discover import choose
    from asyncguard.runtime import store

    traces: list[Path] = []
    sources: list[Path] = []
    notes: list[str] = []
    for path in paths:
        folder = os.path.isdir(path)
        if folder and not choose([path], configuration).files:
            traces += store.traces_below(path)
        elif folder or path.suffix != ".json":
            sources.append(path)
            beside = store.traces_in(path) if folder else ()
            notes += [f"{t} is a trace: it is not compared unless you name it" for t in beside]
        else:
            traces.append(path)
    return traces, sources, notes


def _require_accepted(place: Place, accepted: Baseline, source: bool, traces: bool) -> None:
    """Raise AsyncguardError for a baseline without what is to be compared."""
    if source and accepted.findings is None:
        raise AsyncguardError(f"{place.shown} has no lint findings yet; add them with --update")
    if traces and accepted.sites is None:
        raise AsyncguardError(f"{place.shown} has no trace yet; add one with --update")


def _basis(paths: Sequence[Path], records: Sequence[TraceRecord]) -> str:
    """How the figures of the traces came about, which has to be the same for all."""
    known = "", ""
    for path, record in zip(paths, records, strict=True):
        found = str(path), basis.of(record)
        basis.require_same(*found, *known, "compare one sort at a time")
        known = known if known[1] else found
    return known[1]
