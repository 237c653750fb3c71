"""`asyncguard rules`: the list of rules, and the examples of a team's own catalogue."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from asyncguard import files, screens
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "rules",
        run,
        "[OPTIONS]",
        help="list the rules, or test your own catalogue",
        description="List the rules; with --test, run the examples of your own catalogue instead.",
        examples=("", "--output-format json", "--test"),
        page="guides/own-rules.md",
    )
    parser.add_argument(
        "--output-format", "--format", metavar="FORMAT", default="text",
        help="text (default) or json",
    )  # fmt: skip
    parser.add_argument(
        "--test", action="store_true",
        help="run the hit and miss examples of the files under 'catalogue' in the configuration",
    )  # fmt: skip
    parser.add_argument(
        "--config", metavar="FILE", type=Path,
        help="with --test: read the settings from FILE (default: the nearest configuration file)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """List the rules, or run the examples."""
    from asyncguard.lint.labels import labels
    from asyncguard.render import rules as render

    if arguments.test:
        return _test_rules(arguments)
    if arguments.config:
        raise AsyncguardError("--config does nothing by itself: add --test")
    shown = {"text": render.table, "json": render.as_json}.get(arguments.output_format)
    if shown is None:
        raise AsyncguardError(f"unknown format {arguments.output_format!r}; one of text, json")
    screens.write(sys.stdout, shown(labels(), screens.screen(sys.stdout)))
    return 0


def _test_rules(arguments: argparse.Namespace) -> int:
    from asyncguard.lint.run.settings import load_settings, read_settings
    from asyncguard.lint.trial import trial
    from asyncguard.render.rules import verdict

    files.require_directory()
    here = Path.cwd()
    config: Path | None = arguments.config
    settings = read_settings(config, here) if config else load_settings(here)
    if not settings.catalogue:
        raise AsyncguardError(
            f"{settings.source or 'no configuration file'}: names no catalogue of your own to "
            'test; add catalogue = ["syncs.toml"] to [tool.asyncguard] in pyproject.toml'
        )
    outcomes = tuple(trial(settings.catalogue))
    screens.write(sys.stdout, verdict(outcomes))
    return 1 if any(outcome.problem for outcome in outcomes) else 0
