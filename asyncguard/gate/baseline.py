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
from typing import Annotated, Any

import msgspec

from asyncguard import files
from asyncguard.model import AsyncguardError, Finding, SiteStats, TraceRecord

VERSION = 2  # 1 had neither visits nor a basis
MOST = 64 << 20  # bytes of a file, which holds some 300 a finding
UPDATE = "asyncguard gate --update"
PRUNE = "asyncguard gate --prune"
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
    """How often a site waited: `count` times in `steps` steps (0 steps: in the whole run).

    `visits` is in how many of the steps it waited, `most` how often in one of them: a validation
    that follows each epoch waits in one step of each. Both are 0 where that is not known. A site
    with a count of 0 waited only before the second step, or after the last one.
    """

    count: int
    steps: int
    visits: int = 0
    most: int = 0

    @property
    def per_step(self) -> float:
        """Waits a step; the waits of the whole run where no step was marked."""
        return self.count / self.steps if self.steps else float(self.count)


@dataclass(frozen=True)
class Baseline:
    """What is accepted: how many findings of each key, and the rate of each site."""

    findings: Mapping[FindingKey, int] | None = None
    sites: Mapping[SiteKey, Rate] | None = None
    basis: str = ""  # of the traces: see `TraceRecord.basis`


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    function: str
    api: str
    source: str
    count: Count


class _FindingRow(_Row):
    code: str


class _SiteRow(_Row):
    framework: str
    steps: Count
    visits: Count = 0
    most: Count = 0


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    findings: list[_FindingRow] | None
    sites: list[_SiteRow] | None
    basis: str = ""


def of_findings(findings: Iterable[Finding], root: str | Path = "") -> dict[FindingKey, int]:
    """Count findings by key, with their paths as seen from `root`."""
    return dict(Counter(finding_key(finding, root) for finding in findings))


def of_traces(records: Iterable[TraceRecord]) -> dict[SiteKey, Rate]:
    """The highest rate of each site over the traces; sites that were allowed are left out."""
    rates: dict[SiteKey, Rate] = {}
    for record in records:
        for key, rate in _rates(record).items():
            if key not in rates or rate.per_step > rates[key].per_step:
                rates[key] = rate
    return rates


def finding_key(finding: Finding, root: str | Path = "") -> FindingKey:
    """The key of one finding, with its path as seen from `root`, else the working directory."""
    path = portable(finding.path, root)
    return FindingKey(path, finding.function, finding.code, finding.api, finding.source.strip())


def site_key(site: SiteStats, root: str = "") -> SiteKey:
    """The key of one site; `root` is where a relative path starts."""
    path = os.path.join(root, site.path) if root else site.path
    return SiteKey(portable(path), site.function, site.framework, site.api, site.source.strip())


def portable(path: str, root: str | Path = "") -> str:
    """The path relative to `root`, else the working directory, where it lies below it.

    With forward slashes.
    """
    relative = os.path.relpath(path, root or os.curdir) if path else path
    outside = relative == os.pardir or relative.startswith(os.pardir + os.sep)
    return Path(path if outside else relative).as_posix()


def default(path: Path) -> bool:
    """Whether `asyncguard gate` takes this file where none is named."""
    return Path(portable(str(path))) == DEFAULT_PATH


def _rates(record: TraceRecord) -> dict[SiteKey, Rate]:
    steady = bool(record.steady_steps)
    steps = record.steady_steps if steady else record.step_count
    rates: dict[SiteKey, Rate] = {}
    for site in record.sites:
        if site.allowed is None:
            key = site_key(site, record.root)
            before = rates.get(key, Rate(0, steps))
            rates[key] = Rate(
                before.count + (site.steady_count if steady else site.count),
                steps,
                before.visits + (site.steady_visits if steady else 0),
                max(before.most, site.steady_most if steady else 0),
            )
    return rates


def load(path: Path, remedy: str = UPDATE) -> Baseline:
    """Read a baseline file; raises AsyncguardError if it is missing or not a baseline.

    `remedy` is the command that writes one.
    """
    try:
        data = files.parse_json(files.read(path, MOST))
    except FileNotFoundError:
        raise AsyncguardError(f"{path}: no such baseline; write one with `{remedy}`") from None
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot read the baseline: {error.strerror}") from error
    except ValueError as error:
        raise AsyncguardError(
            f"{path}: not a readable baseline: {error}; write one with `{remedy}`"
        ) from error
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and not 1 <= version <= VERSION:
        raise AsyncguardError(
            f"{path}: baseline version {str(version)[:20]}, this asyncguard reads {VERSION}; "
            f"write it anew with `{remedy}`"
        )
    try:
        return _baseline(msgspec.convert(data, _File))
    except (ValueError, RecursionError) as error:
        raise AsyncguardError(
            f"{path}: not a baseline of asyncguard: {error}; write one with `{remedy}`"
        ) from error


def save(baseline: Baseline, path: Path) -> None:
    """Write the file whole or not at all; raises AsyncguardError."""
    data = {
        "version": VERSION,
        "findings": _rows(baseline.findings, lambda count: {"count": count}),
        "sites": _rows(baseline.sites, asdict),
        "basis": baseline.basis,
    }
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    try:  # what UTF-8 lacks, such as the odd bytes of a file name, JSON writes as Python does
        files.replace(path, [text.encode("utf-8", "backslashreplace")])
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot write the baseline: {error.strerror}; name another file"
        ) from error


def update(
    path: Path,
    findings: Mapping[FindingKey, int] | None,
    sites: Mapping[SiteKey, Rate] | None,
    remedy: str = UPDATE,
    basis: str = "",
) -> None:
    """Replace the sections that are given; keep the others as they stand in the file.

    Raises AsyncguardError, which names the command `remedy`, where that file is not a baseline.
    """
    baseline = load(path, remedy) if os.path.lexists(path) else Baseline()
    if findings is not None:
        baseline = replace(baseline, findings=findings)
    if sites is not None:
        baseline = replace(baseline, sites=sites, basis=basis)
    save(baseline, path)


def _rows(section: Mapping[Any, Any] | None, values: Any) -> list[dict[str, Any]] | None:
    if section is None:
        return None
    return [asdict(key) | values(value) for key, value in sorted(section.items())]


def _baseline(file: _File) -> Baseline:
    findings: Counter[FindingKey] | None = None
    if file.findings is not None:
        findings = Counter()
        for row in file.findings:
            findings[FindingKey(row.path, row.function, row.code, row.api, row.source)] += row.count
    sites: dict[SiteKey, Rate] | None = None
    if file.sites is not None:
        sites = {}
        for site in file.sites:
            key = SiteKey(site.path, site.function, site.framework, site.api, site.source)
            sites[key] = Rate(site.count, site.steps, site.visits, site.most)
    return Baseline(findings, sites, file.basis)
