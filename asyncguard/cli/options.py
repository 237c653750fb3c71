"""The options of `asyncguard check`, some also of `gate`, and the settings that they mean."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from asyncguard.cli import findings
from asyncguard.model import AsyncguardError, Device

if TYPE_CHECKING:
    from asyncguard.lint.run.configuration import Configuration

ADD_IGNORE = "--add-ignore"


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is shown, and how."""
    findings.add_format(parser)
    findings.add_order(parser)
    group = parser.add_argument_group("instead of findings")
    group.add_argument(
        "--trace", metavar="TRACE", type=Path,
        help="compare with a trace: show which findings it confirms, which lines never ran, and "
        "what only one of the two knows (text, json)",
    )  # fmt: skip
    group.add_argument(
        "--show-allowed", action="store_true",
        help="show the findings that the source allows: in `allow_syncs`, or by what the "
        "configuration names",
    )  # fmt: skip
    group.add_argument(
        "--show-files", action="store_true", help="list the files that would be checked and exit"
    )
    group.add_argument(
        "--show-settings", action="store_true",
        help="print the settings for the first PATH, with their file, and exit",
    )  # fmt: skip


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change files."""
    group = parser.add_argument_group("repairs and comments")
    group.add_argument("--fix", action="store_true", help="apply the safe fixes")
    group.add_argument(
        "--unsafe-fixes", action="store_true", help="include unsafe fixes (with --fix or --diff)"
    )
    group.add_argument(
        "--diff", action="store_true",
        help="print what --fix would do as a patch and change no file; exit with status 1 if there "
        "is any",
    )  # fmt: skip
    group.add_argument(
        ADD_IGNORE, metavar="[=REASON]", dest="add_ignore", default=None,
        help="silence each finding with a comment on its line, and give REASON there",
    )  # fmt: skip


def add_accepted(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which findings are accepted."""
    group = parser.add_argument_group("accepted findings")
    group.add_argument(
        "--baseline", metavar="FILE", type=Path,
        help="hide findings already recorded in FILE (default: as the configuration says)",
    )  # fmt: skip
    group.add_argument("--no-baseline", action="store_true", help="show accepted findings as well")
    group.add_argument(
        "--write-baseline", metavar="FILE", type=Path,
        help="record all current findings in FILE and exit",
    )  # fmt: skip


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the check is run."""
    group = parser.add_argument_group("running")
    group.add_argument(
        "-j", "--jobs", metavar="N", type=int,
        help="number of worker processes (default: one per core; one for a program of one piece)",
    )  # fmt: skip
    group.add_argument("--no-cache", action="store_true", help="do not use the cache")
    group.add_argument(
        "-v", "--verbose", action="store_true",
        help="report on stderr where the analysis reached a limit (depth, rounds, sizes)",
    )  # fmt: skip
    group.add_argument(
        "--exit-zero", action="store_true", help="exit with status 0 even if there are findings"
    )
    group.add_argument(
        "--watch", action="store_true",
        help="check again whenever a file changes, until Ctrl-C; the exit status is the last "
        "result's (the extra 'watch' has the system tell of changes)",
    )  # fmt: skip


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which files are checked."""
    group = parser.add_argument_group("files")
    group.add_argument(
        "--extend-exclude", metavar="PATTERNS", type=_patterns,
        help="also skip these files and folders (comma-separated)",
    )  # fmt: skip
    group.add_argument(
        "--force-exclude", action="store_true",
        help="skip excluded files even if you name them on the command line",
    )  # fmt: skip
    group.add_argument(
        "--no-respect-gitignore", action="store_true", help="also check files that git ignores"
    )
    group.add_argument(
        "--stdin-filename", metavar="NAME",
        help="file name to report for source read from standard input",
    )  # fmt: skip


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which rules run, and where settings come from."""
    group = parser.add_argument_group("rules")
    for option, text in (
        ("--select", "run only these rules (codes, starts of codes or names, comma-separated); "
                     "ALL also shows low-confidence and guarded findings"),
        ("--ignore", "do not run these rules"),
        ("--extend-select", "run these rules as well"),
    ):  # fmt: skip
        group.add_argument(option, metavar="RULES", help=text)
    group.add_argument(
        "--config", metavar="FILE", type=Path,
        help="read the settings from FILE (default: the asyncguard.toml or pyproject.toml nearest "
        "to each checked file)",
    )  # fmt: skip
    group.add_argument(
        "--min-probability", metavar="P", type=_probability,
        help="show what waits with at least this probability, 0 to 1 (default: where precision "
        "and recall are in balance)",
    )  # fmt: skip
    group.add_argument(
        "--assume-device",
        choices=[device.value for device in Device],
        help="device to assume for tensors created without one: as-written (default: the CPU, "
        "and models run on an accelerator), accelerator, or cpu for everything (where PyTorch, "
        "Chainer and CuPy never wait)",
    )


def _probability(text: str) -> float:
    """Read a probability; argparse shows the error."""
    from asyncguard.lint.run.settings import probability

    try:
        return probability(float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1") from error


def configuration(arguments: argparse.Namespace) -> Configuration:
    """Return what the configuration files say, changed by the command line."""
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import override

    given = vars(arguments)
    change = partial(
        override,
        select=_selectors("--select", arguments.select),
        ignore=_selectors("--ignore", arguments.ignore),
        extend_select=_selectors("--extend-select", arguments.extend_select),
        extend_exclude=given.get("extend_exclude"),
        force_exclude=True if given.get("force_exclude") else None,
        respect_gitignore=False if given.get("no_respect_gitignore") else None,
        min_probability=given.get("min_probability"),
        assume_device=arguments.assume_device and Device(arguments.assume_device),
        jobs=given.get("jobs"),
        cache=False if given.get("no_cache") else None,
    )
    if arguments.config:
        return Configuration.from_file(arguments.config, change)
    return Configuration(change)


def _selectors(option: str, text: str | None) -> tuple[str, ...] | None:
    """Read the rules that an option names; raises AsyncguardError."""
    from asyncguard.lint import selectors

    if text is None:
        return None
    words = _patterns(text)
    if not words:
        raise AsyncguardError(f"{option}: name at least one rule; `asyncguard rules` lists them")
    try:
        return tuple(map(selectors.parse, words))
    except ValueError as error:
        raise AsyncguardError(f"{option}: {error}") from error


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(pattern.strip() for pattern in text.split(",") if pattern.strip())
