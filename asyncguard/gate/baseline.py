"""The baseline file: the accepted findings, and the accepted sync points a step.

One JSON file, sorted and indented, so that a reviewer can read its diff. It holds two independent
sections, `findings` (of `check`) and `sites` (of traces); each is None until it is written.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from asyncguard.model import AsyncguardError, Finding, SiteStats, TraceRecord

VERSION = 1
DEFAULT_PATH = Path("asyncguard-baseline.json")


@dataclass(frozen=True, order=True)
class FindingKey:
    """What a finding is recognised by."""

    path: str
    function: str
    code: str
    api: str
    source: str


@dataclass(frozen=True, order=True)
class SiteKey:
    """What a sync point of a trace is recognised by."""

    path: str
    function: str
    framework: str
    api: str
    source: str


@dataclass(frozen=True)
class Rate:
    """How often a site waited: `count` times in `steps` steps (0 steps: in the whole run)."""

    count: int
    steps: int

    @property
    def per_step(self) -> float:
        """Waits a step; the waits of the whole run where no step was marked."""
        return self.count / self.steps if self.steps else float(self.count)


@dataclass(frozen=True)
class Baseline:
    """What is accepted: how many findings of each key, and the rate of each site."""

    findings: Mapping[FindingKey, int] | None = None
    sites: Mapping[SiteKey, Rate] | None = None


def of_findings(findings: Iterable[Finding]) -> dict[FindingKey, int]:
    """Count findings by key."""
    return dict(Counter(map(finding_key, findings)))


def of_traces(records: Iterable[TraceRecord]) -> dict[SiteKey, Rate]:
    """The highest rate of each site over the traces; sites that were allowed are left out."""
    rates: dict[SiteKey, Rate] = {}
    for record in records:
        for key, rate in _rates(record).items():
            if key not in rates or rate.per_step > rates[key].per_step:
                rates[key] = rate
    return rates


def finding_key(finding: Finding) -> FindingKey:
    """The key of one finding, with its path as seen from the working directory."""
    return FindingKey(
        portable(finding.path), finding.function, finding.code, finding.api, finding.source.strip()
    )


def site_key(site: SiteStats, root: str = "") -> SiteKey:
    """The key of one site; `root` is where a relative path starts."""
    path = os.path.join(root, site.path) if root else site.path
    return SiteKey(portable(path), site.function, site.framework, site.api, site.source.strip())


def portable(path: str) -> str:
    """The path relative to the working directory where it lies below it, with forward slashes."""
    relative = os.path.relpath(path)
    return Path(path if relative.startswith("..") else relative).as_posix()


def _rates(record: TraceRecord) -> dict[SiteKey, Rate]:
    counts: Counter[SiteKey] = Counter()
    steady = bool(record.steady_steps)
    for site in record.sites:
        if site.allowed is None:
            counts[site_key(site, record.root)] += site.steady_count if steady else site.count
    steps = record.steady_steps if steady else record.step_count
    return {key: Rate(count, steps) for key, count in counts.items() if count}


def load(path: Path) -> Baseline:
    """Read a baseline file; raises AsyncguardError if it is missing or no baseline."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AsyncguardError(
            f"{path}: no such baseline; write one with `asyncguard gate --update`"
        ) from None
    except (OSError, ValueError) as error:
        raise AsyncguardError(f"{path}: not a readable baseline: {error}") from error
    try:
        if data["version"] != VERSION:
            raise AsyncguardError(
                f"{path}: baseline version {data['version']!r}, this asyncguard reads {VERSION}; "
                "write it anew with `asyncguard gate --update`"
            )
        return Baseline(_read_findings(data["findings"]), _read_sites(data["sites"]))
    except (KeyError, TypeError, ValueError) as error:
        raise AsyncguardError(
            f"{path}: not a baseline of asyncguard ({error!r}); "
            "write one with `asyncguard gate --update`"
        ) from error


def save(baseline: Baseline, path: Path) -> None:
    """Write the file whole or not at all."""
    data = {
        "version": VERSION,
        "findings": _rows(baseline.findings, lambda count: {"count": count}),
        "sites": _rows(baseline.sites, asdict),
    }
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot write the baseline: {error}") from error


def update(
    path: Path,
    findings: Mapping[FindingKey, int] | None,
    sites: Mapping[SiteKey, Rate] | None,
) -> None:
    """Replace the sections that are given; keep the others as they stand in the file."""
    baseline = load(path) if path.exists() else Baseline()
    if findings is not None:
        baseline = replace(baseline, findings=findings)
    if sites is not None:
        baseline = replace(baseline, sites=sites)
    save(baseline, path)


def _rows(section: Mapping[Any, Any] | None, values: Any) -> list[dict[str, Any]] | None:
    if section is None:
        return None
    return [asdict(key) | values(value) for key, value in sorted(section.items())]


def _read_findings(rows: list[dict[str, Any]] | None) -> dict[FindingKey, int] | None:
    if rows is None:
        return None
    return {FindingKey(**_without(row, "count")): int(row["count"]) for row in rows}


def _read_sites(rows: list[dict[str, Any]] | None) -> dict[SiteKey, Rate] | None:
    if rows is None:
        return None
    return {
        SiteKey(**_without(row, "count", "steps")): Rate(int(row["count"]), int(row["steps"]))
        for row in rows
    }


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in names}
