"""The command line: parse, call, render. No logic of its own.

Exit status: 0 clean, 1 findings or a regression, 2 usage, configuration or file error;
`asyncguard run` exits as the script does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from asyncguard import files, screens
from asyncguard.cli import check, explain, gate, others, parsing, report, rules, run, tune
from asyncguard.model import AsyncguardError
from asyncguard.version import __version__

EPILOG = """start with:
  asyncguard check .               find waits in source
  asyncguard run train.py          count and time them as a program runs
  asyncguard COMMAND --help        what a command can do

exit status: 0 clean, 1 findings or a regression, 2 a wrong call, configuration
or file; 'run' exits as the script does.

Read more: README.md and docs/ of asyncguard's sources"""
FAULT = "this is a fault of asyncguard; please report it with the lines above"
COLORS = {"always": True, "never": False}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words[:1] == ["run"]:  # its streams are the program's
            return _main(words)
        with screens.standing():
            return _main(words)
    except AsyncguardError as error:
        screens.write(sys.stderr, f"asyncguard: {screens.one_line(str(error))}\n")
        return 2
    except BrokenPipeError:
        # The reader (head, less) went away: say nothing, as other filters do.
        screens.forsake(sys.stdout)
        return 141
    except Exception:
        if words[:1] == ["run"]:
            raise
        import traceback

        # Python's own status would be 1, which means findings.
        screens.write(sys.stderr, f"{traceback.format_exc()}asyncguard: {FAULT}\n")
        return 2


def _main(words: list[str]) -> int:
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
        return 2
    arguments = parser.parse_args(check.prepared(words))
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        if command not in _ANYWHERE:
            files.require_directory()
        with screens.colored(COLORS.get(arguments.color)):
            return command(arguments)
    except KeyboardInterrupt:
        if command is run.run:  # the interpreter ends us as it would have ended python
            raise
        screens.write(sys.stderr, "asyncguard: interrupted\n")
        return 130


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = parsing.Parser(
        prog="asyncguard",
        usage="asyncguard [-h] [-V] COMMAND ...",
        description="Find, time, batch and gate the places where Python waits for the device.",
        epilog=EPILOG,
        formatter_class=parsing.Help,
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"asyncguard {__version__}",
        help="print the version and exit",
    )  # fmt: skip
    parser.set_defaults(parser=parser)  # for the completions of it all
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", prog="asyncguard"
    )
    for part in (check, run, report, gate, tune, explain, rules, others):
        part.add(commands)
    return parser


_ANYWHERE = (explain.run, rules.run)  # commands that need no working directory
