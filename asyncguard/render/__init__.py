"""One file an output format, found by walking this package.

A format module defines `findings(report, screen)`, `traces(report, screen)`,
`ranks(report, screen)` or several of them; each returns the whole text. Renderers only read: they
compute nothing that a record does not say.
"""

from __future__ import annotations

import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from asyncguard.model import AsyncguardError, Finding, Fix, SiteStats, Suggestion, TraceRecord
from asyncguard.render.visible import shown

if TYPE_CHECKING:
    from asyncguard.advise.ranks import RankReport
    from asyncguard.advise.repairs import Patch


@dataclass(frozen=True)
class Screen:
    """What the text is shown on: its width in columns, whether it takes colour, is a terminal.

    Where it is not `wrapped`, findings and places keep to their lines, for other programs to read.
    """

    width: int = 80
    color: bool = False
    wrapped: bool = False
    terminal: bool = False

    @property
    def line_width(self) -> int:
        """The columns after which a line that other programs may read is broken."""
        return self.width if self.wrapped else sys.maxsize


@dataclass(frozen=True)
class RuleText:
    """What a rule is called and says; `explanation` has paragraphs and indented examples."""

    name: str
    summary: str
    explanation: str = ""
    url: str = ""

    @property
    def description(self) -> str:
        """The first paragraph after the summary."""
        paragraphs = self.explanation.split("\n\n")
        return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else f"{self.summary}."


@dataclass(frozen=True)
class FindingsReport:
    """What `check` found, in the order to show. `statistics` asks for counts by rule instead.

    `groups` are the sizes of the groups that the findings come in, by their titles; empty: they are
    one. `held_back` findings come after these and are not shown; `hidden` ones are too cold or
    doubtful. `hotspots` are the functions with most findings, whether shown or not.
    """

    findings: tuple[Finding, ...]
    files_checked: int
    statistics: bool = False
    rules: Mapping[str, RuleText] = field(default_factory=dict)  # by code
    groups: tuple[tuple[str, int], ...] = ()
    held_back: int = 0
    hidden: int = 0
    hotspots: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()  # that close the report
    reasons: bool = False  # say why each finding is there
    quiet: bool = False  # show findings alone
    accepted: Mapping[str, int] = field(default_factory=dict)  # findings by their baseline
    held_fixes: tuple[Fix, ...] = ()  # those of the findings that are held back
    # the lines, with their signs, that the repairs to show take away and add
    fixes: Mapping[Finding, tuple[str, ...]] = field(default_factory=dict)

    def name(self, code: str) -> str:
        """The name of a rule."""
        return self.rules[code].name if code in self.rules else ""

    def counts(self) -> list[tuple[str, int]]:
        """The rules with their numbers of findings, the largest first."""
        numbers = Counter(finding.code for finding in self.findings)
        return sorted(numbers.items(), key=lambda item: (-item[1], item[0]))

    def sections(self) -> Iterator[tuple[str, tuple[Finding, ...]]]:
        """Yield the heading of each group ("" if there are none) and its findings."""
        start = 0
        for title, size in self.groups or (("", len(self.findings)),):
            heading = f"{title} ({size:,})" if title else ""
            yield heading, self.findings[start : start + size]
            start += size


@dataclass(frozen=True)
class TraceReport:
    """One traced run with what to do about it."""

    record: TraceRecord
    suggestions: tuple[Suggestion, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)  # api -> advice of the catalogue
    urls: Mapping[str, str] = field(default_factory=dict)  # api -> reference
    title: str = ""
    hints: tuple[str, ...] = ()  # what the user can do to learn more
    # innermost frame of a library, api -> what to do about waits there
    places: Mapping[tuple[str, str], str] = field(default_factory=dict)
    limit: int | None = None  # how many sites to show; None: as many as the format does
    processes: RankReport | None = None  # of the same run, this one first
    patches: Mapping[int, Patch] = field(default_factory=dict)  # by the index of the suggestion

    def advice_of(self, site: SiteStats) -> str:
        """What to do about the waits of a site; "" where nothing is known."""
        if site.library:
            return self.places.get((site.library[0], site.api), "")
        return self.advice.get(site.api, "")


Format = Callable[[Any, Screen], str]  # a report to its text


def find(name: str, what: str) -> Format:
    """The function of format `name` that shows `what`: "findings", "traces" or "ranks".

    Raises AsyncguardError naming the formats there are. Only the format asked for is imported.
    """
    found = _module(name)
    if found is not None and hasattr(found, what):
        return _escaping(found, what)
    raise AsyncguardError(f"unknown format {name!r}; one of {', '.join(formats(what))}")


def has(name: str, mark: str) -> bool:
    """Whether format `name` says so of itself: "PATCHES", that it shows repairs as patches, or
    "WHOLE", that each text is a whole document, so that two cannot stand in one file.
    """
    return bool(getattr(_module(name), mark, False))


def _module(name: str) -> ModuleType | None:
    module = _MODULES.get(name, name)
    return import_module(f"{__name__}.{module}") if module in _names() else None


def formats(what: str) -> dict[str, Format]:
    """All formats that can show `what`, by name."""
    modules = {name: import_module(f"{__name__}.{name}") for name in _names()}
    return {
        name.removesuffix("_"): _escaping(module, what)
        for name, module in sorted(modules.items())
        if hasattr(module, what)
    }


def _escaping(module: ModuleType, what: str) -> Format:
    """A format's function; unless it escapes control characters itself, it is given none."""
    function: Format = getattr(module, what)
    if getattr(module, "ESCAPES", False):
        return function
    return lambda report, screen: function(shown(report), screen)


_MODULES = {"json": "json_"}  # a module of that name would hide the standard library's


def _names() -> list[str]:
    return [info.name for info in pkgutil.iter_modules(__path__)]
