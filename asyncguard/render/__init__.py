"""One file an output format, found by walking this package.

A format module defines `findings(report, screen)`, `traces(report, screen)`,
`ranks(report, screen)` or several of them; each returns the whole text. Renderers only read: they
compute nothing that a record does not say.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from asyncguard.model import Finding, Suggestion, TraceRecord


@dataclass(frozen=True)
class Screen:
    """What the text is shown on: its width in columns, and whether it takes colour."""

    width: int = 80
    color: bool = False


@dataclass(frozen=True)
class FindingsReport:
    """What `check` found. `statistics` asks for counts by rule instead of places."""

    findings: tuple[Finding, ...]
    files_checked: int
    statistics: bool = False
    rule_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TraceReport:
    """One traced run with what to do about it."""

    record: TraceRecord
    suggestions: tuple[Suggestion, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)  # api -> advice of the catalogue
    urls: Mapping[str, str] = field(default_factory=dict)  # api -> reference
    title: str = ""


def formats(what: str) -> dict[str, Any]:
    """The formats that can show `what` ("findings", "traces", "ranks"), by name."""
    modules = {
        info.name: import_module(f"{__name__}.{info.name}")
        for info in pkgutil.iter_modules(__path__)
        if not info.name.startswith("_")
    }
    return {
        name.removesuffix("_"): getattr(module, what)
        for name, module in sorted(modules.items())
        if hasattr(module, what)
    }
