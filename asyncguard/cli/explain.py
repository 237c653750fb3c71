"""`asyncguard explain`: what a rule means, or why a line has the findings that it has, or none."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import screens
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError, Finding

if TYPE_CHECKING:
    from asyncguard.lint.check import Progress
    from asyncguard.lint.labels import Label
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import Settings

PLACE = re.compile(r"(?P<path>.+?):(?P<line>[0-9]{1,9})(:[0-9]*)?")


def add(commands: Any) -> None:
    """Add the command to a parser's."""
    parser = add_command(
        commands,
        "explain",
        run,
        "[OPTIONS] CODE|PATH:LINE [PATH ...]",
        help="explain a rule, or why a line has a finding",
        description="Explain a rule, or why a line has its findings, or has none.",
        examples=("ASG102", "train.py:31", "src/model.py:12 src/ tools/"),
        page="guides/check.md",
    )
    parser.add_argument(
        "what", metavar="CODE|PATH:LINE", help="a rule or a place, such as ASG102 or train.py:31"
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=Path,
        help="files or directories that hold the callers of PATH:LINE (default: its "
        "project, as far as it concerns the file)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Explain; returns the exit status."""
    place = PLACE.fullmatch(arguments.what)
    if place is not None:
        return _explain_line(Path(place["path"]), int(place["line"]), arguments.paths)
    if arguments.paths:
        raise AsyncguardError(f"explain {arguments.what}: paths belong to PATH:LINE alone")
    return _explain_rule(arguments.what)


def _explain_rule(what: str) -> int:
    from asyncguard.render.rules import explanation

    screens.write(sys.stdout, explanation(rule(what), screens.screen(sys.stdout)))
    return 0


def rule(what: str) -> Label:
    """Return the rule of a code or a name; raises AsyncguardError."""
    from asyncguard.lint import selectors
    from asyncguard.lint.labels import labels

    try:
        code = selectors.parse(what)
    except ValueError as error:
        raise AsyncguardError(str(error)) from error
    known = {label.code: label for label in labels()}
    if code not in known:
        raise AsyncguardError(f"no rule {code!r}; the rules are {', '.join(known)}")
    return known[code]


def _explain_line(path: Path, line: int, paths: Sequence[Path]) -> int:
    from asyncguard.render.reasons import explained

    with screens.progress("checking", sys.stderr) as progress:
        found, none = explained_line(path, line, paths, progress)
    screens.write(sys.stdout, explained(found, none, screens.screen(sys.stdout)))
    return 0


def explained_line(
    path: Path, line: int, paths: Sequence[Path] = (), progress: Progress | None = None
) -> tuple[list[tuple[Finding, str]], str]:
    """Return the findings of a line, each with why it is hidden, and what to say without any.

    Raises AsyncguardError for a file or a line that is not there.
    """
    from asyncguard.lint.check import check_configured
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import override

    if not os.path.isfile(path):
        raise AsyncguardError(f"{path}: no such file; name one, and a line, as in train.py:31")
    _require_line(path, line)
    checked = list(paths) or [path]  # whose project is read as well
    everything = Configuration(lambda settings: override(settings, select=("ALL",)))
    result = check_configured(checked, everything, progress)
    if not _is_checked(path, checked, everything):
        result = check_configured([path], everything, progress)  # excluded, but named
    configuration = Configuration()
    settings = configuration.of(path.parent)
    at = [f for f in result.findings if _is_at(f, path, line)]
    enabled = _enabled(settings)
    hidden = {f: _why_hidden(f, settings, enabled) for f in result.findings if _is_in(f, path)}
    accepted = _accepted([f for f, why in hidden.items() if not why], configuration)
    found = [(f, hidden[f] or accepted.get(f, "")) for f in at]
    return found, f"{path}:{line}: {_why_none(path, line)}"


def _require_line(path: Path, line: int) -> None:
    from asyncguard import files

    lines = len(files.read(path).splitlines())
    if not 1 <= line <= lines:
        raise AsyncguardError(f"{path}:{line}: there is no such line; the file has {lines:,}")


def _is_checked(path: Path, paths: Sequence[Path], configuration: Configuration) -> bool:
    from asyncguard.lint.run.discover import choose

    chosen = choose(list(paths), configuration).files
    return path.resolve() in {Path(file).resolve() for file in chosen}


def _accepted(found: Sequence[Finding], configuration: Configuration) -> dict[Finding, str]:
    """Return the findings that the configured baseline accepts, with words for it."""
    from asyncguard.gate.accepted import configured, without_accepted

    place = configured(configuration)
    left = without_accepted(found, {f.path for f in found}, place).findings
    return {
        finding: f"{where.shown} accepts it"
        for finding in found
        if finding not in left and (where := place(finding.path)) is not None
    }


def _is_in(finding: Finding, path: Path) -> bool:
    return Path(finding.path).resolve() == path.resolve()


def _is_at(finding: Finding, path: Path, line: int) -> bool:
    return _is_in(finding, path) and finding.line <= line <= max(finding.end_line, finding.line)


def _enabled(settings: Settings) -> frozenset[str]:
    from asyncguard.lint.labels import labels
    from asyncguard.lint.run.settings import chosen_rules

    known = labels()
    return chosen_rules(settings, [r.code for r in known], [r.code for r in known if r.default])


def _why_hidden(finding: Finding, settings: Settings, enabled: frozenset[str]) -> str:
    """Say why a check does not report a finding by itself; "" if it does."""
    from asyncguard.catalogue import load
    from asyncguard.model import Confidence, Loop

    if finding.code not in enabled:
        return f"{finding.code} is not selected (`extend-select` in the configuration)"
    if settings.shows(finding):
        return ""
    if why := load().inherent.get(finding.api):
        return f"{why} (`--select ALL` shows it)"
    if finding.loop != Loop.STEP:
        often = "once an epoch" if finding.loop == Loop.EPOCH else "in no loop over steps"
        return f"it runs {often}, as far as is seen (`contexts` in the configuration)"
    if finding.guarded:
        return "a condition makes it rare (`guarded` in the configuration)"
    if settings.min_probability is not None or finding.confidence == Confidence.LOW:
        likely = f"it waits with a probability of {finding.probability:.0%}"
        return f"it is not sure enough: {likely} (`min-probability` in the configuration)"
    return "the configuration leaves it out"


def _why_none(path: Path, line: int) -> str:
    """Say what is known of a line without a finding."""
    from asyncguard import files
    from asyncguard.lint.knowledge import load
    from asyncguard.lint.source.decode import frameworks_in

    text = files.read(path).decode("utf-8", "replace")
    lines = text.splitlines()
    if "asyncguard:" in lines[line - 1] or "asyncguard: ignore-file" in text:
        return "no finding is left: a comment silences it"
    if not frameworks_in(text, load().module_framework):
        return "no finding: the file imports no framework that the catalogue knows"
    return "no finding: nothing on this line is known to wait for a device value"
