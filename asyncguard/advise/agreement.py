"""Do the linter and a trace agree? Findings and counted waits, joined by place.

Pure functions over findings and a record. Each half shows the holes of the other: a wait that was
counted where the linter finds nothing, a finding whose line ran and was not counted.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asyncguard.catalogue import SyncPoint, load
from asyncguard.model import Confidence, Finding, Loop, SiteStats, TraceRecord
from asyncguard.runtime.lines import KEY

WAITS = ("ASG1", "ASG2", "ASG302")  # starts of the codes of rules that are about single waits


class Verdict(str, enum.Enum):
    """What became of a finding, or of a wait that no finding is about."""

    CONFIRMED = "confirmed"  # found, and counted
    UNCOUNTED = "executed, not counted"
    NEVER = "never executed"
    UNKNOWN = "not counted"  # the trace does not tell which lines ran
    UNFOUND = "counted, not found"


@dataclass(frozen=True, slots=True)
class Row:
    """One place. `reported` says whether `check` shows the finding under the present settings.

    `sites` are the record's sites at the place; `why` says why only one half knows of it, where
    that is known.
    """

    verdict: Verdict
    path: str
    line: int
    finding: Finding | None
    sites: tuple[SiteStats, ...]
    reported: bool
    why: str = ""

    @property
    def count(self) -> int:
        """How often the host waited here."""
        return sum(site.count for site in self.sites)

    @property
    def cpu_stall_ns(self) -> int:
        """For how long, in nanoseconds."""
        return sum(site.cpu_stall_ns for site in self.sites)

    @property
    def api(self) -> str:
        """What waits."""
        return self.finding.api if self.finding is not None else self.sites[0].api

    @property
    def source(self) -> str:
        """The text of the place."""
        return self.finding.source if self.finding is not None else self.sites[0].source


@dataclass(frozen=True, slots=True)
class Agreement:
    """All places, by verdict and then by place.

    `elsewhere` is how often the program waited in files that were not checked.
    """

    rows: tuple[Row, ...]
    elsewhere: int = 0

    def of(self, verdict: Verdict) -> tuple[Row, ...]:
        """The places with this verdict."""
        return tuple(row for row in self.rows if row.verdict is verdict)


def join(
    findings: Iterable[Finding],
    reported: Collection[Finding],
    record: TraceRecord,
    points: Mapping[str, SyncPoint],
    checked: Iterable[str],
    folder: str,
) -> Agreement:
    """Join findings and the sites of a record.

    findings: all that the linter knows, those included that it does not report by default;
    reported: those that it does (where several rules know of one wait, the reported one stands for
    all); points: the catalogue's entries by id; checked: the files that were checked; folder: what
    paths of findings and files are relative to.
    """
    return _Join(record, points, reported, folder).of(findings, checked)


_Read = tuple[str, int, int, int, int, str]


def _read(finding: Finding) -> _Read:
    """Where a wait stands, and what waits: several rules may know of the same."""
    ends = (finding.end_line, finding.end_column)
    return (finding.path, finding.line, finding.column, *ends, finding.api)


class _Join:
    """The sites of a record by place, and which of them a finding is about."""

    def __init__(
        self,
        record: TraceRecord,
        points: Mapping[str, SyncPoint],
        reported: Collection[Finding],
        folder: str,
    ) -> None:
        self._record = record
        self._points = points
        self._reported = {_read(finding): finding for finding in reported}
        self._folder = folder
        self._at: dict[tuple[str, int], list[SiteStats]] = {}
        self._through: dict[tuple[str, int], list[SiteStats]] = {}
        for site in record.sites:
            self._at.setdefault((self._full(record.root, site.path), site.line), []).append(site)
            for path, line in _ways(site):
                self._through.setdefault((self._full(record.root, path), line), []).append(site)
        lines = record.extra.get(KEY)
        self._ran: dict[str, set[int]] | None = None
        if isinstance(lines, dict):
            self._ran = {self._full(record.root, path): set(ran) for path, ran in lines.items()}
        self._met: set[int] = set()  # ids of sites that a finding is about

    def of(self, findings: Iterable[Finding], checked: Iterable[str]) -> Agreement:
        about = self._about(findings)
        # The sites of the line itself first, so that a caller does not take them.
        rows = [self._row(finding, self._here(finding)) for finding in about]
        rows = [
            row if row.sites else self._row(finding, self._called(finding))
            for finding, row in zip(about, rows, strict=True)
        ]
        files = {self._full(self._folder, path) for path in checked}
        left = [site for site in self._record.sites if id(site) not in self._met]
        inside = [s for s in left if self._full(self._record.root, s.path) in files]
        elsewhere = sum(site.count for site in left) - sum(site.count for site in inside)
        rows += self._unfound(inside)
        order = list(Verdict)
        return Agreement(
            tuple(sorted(rows, key=lambda row: (order.index(row.verdict), row.path, row.line))),
            elsewhere,
        )

    def _about(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings about waits, one for each: the one that is reported, or else the first."""
        found: dict[_Read, Finding] = {}
        for finding in findings:
            if finding.code.startswith(WAITS) and finding.cell is None:
                found.setdefault(_read(finding), self._reported.get(_read(finding), finding))
        return list(found.values())

    def _full(self, root: str, path: str) -> str:
        """An absolute path; that of a trace from another machine is looked for here."""
        full = os.path.normpath(os.path.join(root, path))
        return full if os.path.exists(full) else os.path.normpath(os.path.join(self._folder, path))

    def _lines(self, finding: Finding) -> Iterator[tuple[str, int]]:
        path = self._full(self._folder, finding.path)
        return ((path, line) for line in range(finding.line, finding.end_line + 1))

    def _here(self, finding: Finding) -> list[SiteStats]:
        """The sites in the finding's lines: those of its API, or else all."""
        sites = [site for place in self._lines(finding) for site in self._at.get(place, ())]
        return [site for site in sites if site.api == finding.api] or sites

    def _called(self, finding: Finding) -> list[SiteStats]:
        """The sites that were reached through the finding's lines, and have no finding."""
        sites = [site for place in self._lines(finding) for site in self._through.get(place, ())]
        return [site for site in sites if id(site) not in self._met]

    def _row(self, finding: Finding, sites: Sequence[SiteStats]) -> Row:
        self._met.update(map(id, sites))
        verdict, why = (Verdict.CONFIRMED, "") if sites else self._uncounted(finding)
        reported = _read(finding) in self._reported
        return Row(verdict, finding.path, finding.line, finding, tuple(sites), reported, why)

    def _uncounted(self, finding: Finding) -> tuple[Verdict, str]:
        if self._ran is None:
            return Verdict.UNKNOWN, "record the trace with --lines to know whether it was executed"
        path = self._full(self._folder, finding.path)
        ran = self._ran.get(path)
        if ran is None:
            return Verdict.NEVER, "nothing of the file was"
        if not any(line in ran for _, line in self._lines(finding)):
            return Verdict.NEVER, ""
        return Verdict.UNCOUNTED, self._why_uncounted(finding)

    def _why_uncounted(self, finding: Finding) -> str:
        point = self._points.get(finding.api)
        if finding.framework and finding.framework not in self._record.frameworks:
            return f"{finding.framework} was not traced"
        if point is not None and point.runtime is None:
            return point.one_sided or "a trace cannot see it"
        if any("stand-in" in site.device for site in self._record.sites):
            return "no accelerator was in use: copies between host and device are not counted then"
        if finding.confidence is Confidence.LOW:
            return "the linter was not sure that the value is on the device"
        return ""

    def _unfound(self, sites: Iterable[SiteStats]) -> Iterator[Row]:
        for site in sites:
            path = os.path.relpath(self._full(self._record.root, site.path), self._folder)
            why = self._why_unfound(site)
            yield Row(Verdict.UNFOUND, path, site.line, None, (site,), False, why)

    def _why_unfound(self, site: SiteStats) -> str:
        point = self._points.get(site.api)
        if point is not None and point.source is None:
            return point.one_sided or "the linter cannot see it"
        inner = next((path.library[0] for path in site.call_paths if path.library), "")
        return f"it waits in a library: {_short(inner)}" if inner else ""


def _short(entry: str) -> str:
    """An entry of a call path, without the folder that packages are installed in."""
    return entry.replace(os.sep, "/").rpartition("-packages/")[2]


def hidden(finding: Finding) -> str:
    """Why `check` does not report a finding that it knows of."""
    if why := load().inherent.get(finding.api):
        return why
    if finding.guarded:
        return "behind a condition that seldom holds"
    if finding.loop is not Loop.STEP:
        return "not in every step"
    if finding.confidence is Confidence.LOW:
        return "the value may be on the host"
    return "the settings leave it out"


def _ways(site: SiteStats) -> set[tuple[str, int]]:
    """Path and line of all entries on the ways to a wait, "path:line function"."""
    entries = {e for path in site.call_paths for e in (*path.callers, *path.library)}
    places = set()
    for entry in entries:
        path, _, rest = entry.rpartition(":")
        number = rest.partition(" ")[0]
        if number.isdigit():
            places.add((path, int(number)))
    return places
