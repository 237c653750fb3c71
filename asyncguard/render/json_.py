"""JSON: `check` prints a list of findings, `report` the record of each trace with suggestions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from asyncguard.model import SiteStats, to_plain
from asyncguard.render import FindingsReport, Screen, TraceReport
from asyncguard.render.summary import quantile
from asyncguard.render.visible import in_json

if TYPE_CHECKING:
    from asyncguard.advise.agreement import Agreement, Row
    from asyncguard.advise.ranks import RankReport, RankSite
    from asyncguard.gate.difference import Difference, Side, SiteChange


WHOLE = 64  # traces whose figures are told one by one
SHARES = (0.0, 0.5, 0.9, 0.99, 1.0)  # of the quantiles
ESCAPES = True  # control characters, as JSON writes them


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return a JSON list of objects, one a finding; with statistics, one a rule."""
    return _dump(counts(report) if report.statistics else [f.to_dict() for f in report.findings])


def counts(report: FindingsReport) -> list[dict[str, object]]:
    """Return one object a rule: its code, name and number of findings."""
    return [
        {"code": code, "name": report.name(code), "count": number}
        for code, number in report.counts()
    ]


def traces(report: TraceReport, screen: Screen) -> str:
    """Return the record's fields, its totals and its suggestions as one JSON object.

    `sites` of a suggestion are numbers of the record's sites, and `apis` says what to do about
    each API: of many sites nothing is written twice.
    """
    record = report.record
    data: dict[str, Any] = {
        "total_syncs": record.total_syncs,
        "syncs_per_step": record.syncs_per_step,
        "cpu_stall_ns": record.cpu_stall_ns,
        "gpu_stall_ns": record.gpu_stall_ns,
        **to_plain(replace(record, sites=())),
        "sites": [_site(site) for site in record.sites],
    }
    places = {id(site): at for at, site in enumerate(record.sites)}
    data["suggestions"] = [
        {**to_plain(replace(item, sites=())), "sites": [places[id(s)] for s in item.sites]}
        for item in report.suggestions
    ]
    data["apis"] = {
        api: {"advice": report.advice.get(api, ""), "url": report.urls.get(api, "")}
        for api in sorted({site.api for site in record.sites})
    }
    if report.processes is not None:
        data["processes"] = _ranks(report.processes)
    return _dump(data)


def _site(site: SiteStats) -> dict[str, Any]:
    """A site with its stacks in one piece: innermost frame first, its own line included."""
    data: dict[str, Any] = to_plain(replace(site, callers=(), library=(), paths=()))
    own = (site.place,) if site.line else ()
    for name in ("callers", "library", "paths"):
        del data[name]
    data["library"] = site.library[0] if site.library else ""
    data["stack"] = list(site.stack)
    data["paths"] = [
        {
            "stack": [*path.library, *own, *path.callers],
            "count": path.count,
            "cpu_stall_ns": path.cpu_stall_ns,
        }
        for path in site.paths
    ]
    return data


def ranks(report: RankReport, screen: Screen) -> str:
    """Return the ranks of one run, or many runs, beside each other, as one JSON object.

    Of more than `WHOLE` traces, a site has quantiles instead of a figure for each.
    """
    return _dump(_ranks(report))


def _ranks(report: RankReport) -> dict[str, Any]:
    data: dict[str, Any] = to_plain(replace(report, sites=(), advised=None))
    del data["advised"]
    data["identity"] = dict(report.identity)
    data["sites"] = [_rank_site(item) for item in report.sites]
    return data


def _rank_site(item: RankSite) -> dict[str, Any]:
    stalls, counts = sorted(item.stalls_ns), sorted(item.counts)
    data: dict[str, Any] = {
        "site": _site(item.site),
        "collective": item.collective,
        "total_ns": item.total_ns,
        "stall_quantiles_ns": [quantile(stalls, share) for share in SHARES],
        "count_quantiles": [quantile(counts, share) for share in SHARES],
    }
    if len(stalls) <= WHOLE:
        data |= {"counts": list(item.counts), "stalls_ns": list(item.stalls_ns)}
    return data


def differences(found: Difference, screen: Screen) -> str:
    """Return two traces side by side as one JSON object."""
    data = to_plain(found)
    for side in ("before", "after"):
        data[side] = _side(getattr(found, side))
    data["expected"] = found.expected and found.expected._asdict()
    data["sites"] = [_site_change(change) for change in found.sites]
    return _dump(data)


def agreements(found: Agreement, screen: Screen) -> str:
    """Return the places as one JSON object, with the waits in files that were not checked."""
    return _dump({"places": [_place(row) for row in found.rows], "elsewhere": found.elsewhere})


def _place(row: Row) -> dict[str, Any]:
    return {
        "verdict": row.verdict.value,
        "path": row.path,
        "line": row.line,
        "api": row.api,
        "count": row.count,
        "cpu_stall_ns": row.cpu_stall_ns,
        "why": row.why,
        "reported": row.reported,
        "finding": row.finding and row.finding.to_dict(),
        "sites": [to_plain(site) for site in row.sites],
    }


def _side(side: Side) -> dict[str, Any]:
    return {**side.total._asdict(), "step_ns": side.step_ns, "steps": side.steps}


def _site_change(change: SiteChange) -> dict[str, Any]:
    site = change.site
    return {
        "path": site.path,
        "line": site.line,
        "function": site.function,
        "api": site.api,
        "source": site.source,
        "unit": change.unit,
        "state": change.state,
        "before": change.before._asdict(),
        "after": change.after._asdict(),
    }


def _dump(data: Any) -> str:
    return in_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"
