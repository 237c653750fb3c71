"""How findings are shown: their order, groups and limit, and the format that fits the stream."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard import screens
from asyncguard.cli.output import Output, tell
from asyncguard.model import AsyncguardError, Finding

if TYPE_CHECKING:
    from asyncguard.gate.accepted import Place
    from asyncguard.lint.report.impact import Group

HOTSPOTS = 10  # functions that open a large result
IN_DETAIL = ("text", "json", "jsonl")
FOR_PEOPLE = ("text", "concise", "grouped", "markdown")  # the others hold findings alone
FORMATS = (
    "text (default on a terminal, or where COLUMNS is set), concise (default elsewhere), grouped, "
    "json, jsonl, github, gitlab, sarif, junit or markdown"
)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the options that say in which format findings are shown, and where."""
    group = parser.add_argument_group("output")
    group.add_argument("--output-format", "--format", metavar="FORMAT", help=FORMATS)
    group.add_argument(
        "-o", "--output", metavar="FILE", type=Path,
        help="write to FILE instead of standard output, replacing a regular file",
    )  # fmt: skip
    group.add_argument(
        "-q", "--quiet", action="store_true", help="show findings alone: no summary and no notes"
    )


def add_order(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what comes first, and how much is shown."""
    group = parser.add_argument_group("order and detail")
    group.add_argument(
        "--sort", choices=("impact", "path"), default="impact",
        help="impact (default: most frequent, most call sites, most certain first) or path",
    )  # fmt: skip
    group.add_argument(
        "--group-by", choices=("rule", "function", "file", "cause"),
        help="group findings by rule, function, file or cause (the API that waits)",
    )  # fmt: skip
    group.add_argument("--limit", metavar="N", type=int, help="show only the first N findings")
    group.add_argument("--statistics", action="store_true", help="show counts by rule")
    group.add_argument(
        "--show-reasons", action="store_true",
        help="show why each value counts as a device value and each site as hot (text)",
    )  # fmt: skip
    group.add_argument(
        "--show-fixes", action="store_true",
        help="show the code of each repair, also of those for you to decide and complete (text)",
    )  # fmt: skip


def require_sense(arguments: argparse.Namespace) -> None:
    """Raise AsyncguardError for options that make no sense together or alone."""
    if arguments.limit is not None and arguments.limit < 1:
        raise AsyncguardError(
            f"--limit {arguments.limit}: name how many findings to show, 1 or more"
        )
    for option, wanted in (
        ("--show-reasons", arguments.show_reasons),
        ("--show-fixes", arguments.show_fixes),
    ):
        if wanted and (arguments.output_format or "text") not in IN_DETAIL:
            raise AsyncguardError(
                f"{option}: {arguments.output_format} has no place for them; use text, json or "
                "jsonl"
            )
    if arguments.show_reasons or arguments.show_fixes:
        arguments.output_format = arguments.output_format or "text"


class How(NamedTuple):
    """How to show findings: where, in which format ("": as fits there), order and groups."""

    output: Output = Output()
    format: str = ""
    sort: str = "impact"
    group_by: str | None = None
    limit: int | None = None
    statistics: bool = False
    reasons: bool = False
    fixes: bool = False
    quiet: bool = False
    brief: bool = False  # the summary alone, on one line

    @classmethod
    def of(cls, arguments: argparse.Namespace, output: Output) -> How:
        """Return what the command line asks for."""
        return cls(
            output,
            arguments.output_format or ("text" if arguments.diff else output.format),
            arguments.sort,
            arguments.group_by,
            arguments.limit,
            arguments.statistics,
            arguments.show_reasons,
            arguments.show_fixes,
            arguments.quiet,
        )


def stale_note(place: Place, entries: Sequence[object]) -> list[str]:
    """Say how many entries of a baseline are stale, and what prunes them."""
    if not entries:
        return []
    from asyncguard.gate.baseline import PRUNE, default

    number = len(entries)
    what = "1 entry is stale: it" if number == 1 else f"{number:,} entries are stale: they"
    remedy = f"{PRUNE}{'' if default(place.path) else f' --baseline {place.shown}'} PATHS"
    return [
        f"{place.shown}: {what} no longer occur{'s' if number == 1 else ''}; prune with `{remedy}`"
    ]


def show(
    how: How,
    found: Iterable[Finding],
    files_checked: int,
    hidden: int = 0,
    notes: Sequence[str] = (),
    given: Mapping[str, bytes] = {},
    accepted: Mapping[str, int] = {},
) -> None:
    """Write findings in the order and format, and to the place, that were asked for.

    `given` are sources that are not files, by name, and `accepted` the numbers of findings that
    are left out by baselines.
    """
    from asyncguard.lint.labels import labels
    from asyncguard.lint.report import impact
    from asyncguard.render import FindingsReport, RuleText
    from asyncguard.render.closing import closing, not_shown

    name = how.format or how.output.format
    render = screens.renderer(name, "findings")
    findings = impact.ordered(found, how.sort)
    hotspots = impact.groups(findings, "function")
    groups = impact.groups(findings, how.group_by) if how.group_by else []
    if groups:
        findings = [finding for group in groups for finding in group.findings]
    shown = findings[: how.limit]
    report = FindingsReport(
        tuple(shown),
        files_checked,
        how.statistics,
        {r.code: RuleText(r.name, r.summary, r.explanation, r.url) for r in labels()},
        tuple(_within(groups, len(shown))),
        len(findings) - len(shown),
        hidden,
        tuple((group.title, len(group.findings)) for group in _largest(hotspots)),
        tuple(notes),
        how.reasons,
        how.quiet,
        accepted,
        tuple(f.fix for f in findings[len(shown) :] if f.fix is not None),
        _previews(shown, given) if how.fixes else {},
    )
    if how.brief:
        how.output.write(" ".join(closing(report, screens.plain(), lambda text, _: text)) + "\n")
        return
    how.output.write(render(report, how.output.screen))
    if name not in FOR_PEOPLE and not how.statistics:
        for note in not_shown(report if report.held_back else replace(report, hidden=0)):
            tell(note)


def _previews(
    found: Sequence[Finding], given: Mapping[str, bytes]
) -> dict[Finding, tuple[str, ...]]:
    """Return the lines that each repair takes away and adds."""
    from asyncguard.lint.source.fixes import Sources, preview

    sources = Sources(given)
    return {
        finding: tuple(preview(finding, sources.around(finding)))
        for finding in found
        if finding.fix is not None and finding.fix.edits
    }


def _largest(groups: Sequence[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: (-len(group.findings), group.title))[:HOTSPOTS]


def _within(groups: Iterable[Group], limit: int) -> Iterator[tuple[str, int]]:
    """Yield the title of each group, and how many of its findings are within the limit."""
    for group in groups:
        size = min(len(group.findings), limit)
        if size:
            yield group.title, size
        limit -= size
