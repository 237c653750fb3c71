"""The command line: parse, call, render. No logic of its own.

Exit status: 0 clean, 1 findings or a regression, 2 usage, configuration or file error;
`asyncguard run` exits as the script does.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from asyncguard.prepared import kept_code
from asyncguard.version import __version__

with kept_code("cli"):
    from asyncguard import extras, files, screens
    from asyncguard.cli import check, explain, gate, report, rules, run, tune
    from asyncguard.model import AsyncguardError

EPILOG = """exit status: 0 clean, 1 findings or a regression, 2 usage, configuration or file error;
'run' exits as the script does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    checks = words[:1] == ["check"]
    arguments = build_parser().parse_args(check.prepared(words) if checks else words)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        if command not in _ANYWHERE:
            files.require_directory()
        return command(arguments)
    except AsyncguardError as error:
        screens.write(sys.stderr, f"asyncguard: {screens.one_line(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        if command is run.run:  # the interpreter ends us as it would have ended python
            raise
        print("asyncguard: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away: say nothing, as other filters do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="asyncguard",
        description="Find, time, batch and gate the places where Python waits for the device.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"asyncguard {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (
        check.add,
        run.add,
        report.add,
        gate.add,
        tune.add,
        explain.add,
        rules.add,
        _add_demo,
        _add_lsp,
    ):
        add(commands)
    return parser


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="show every command on real code",
        description="Lint a real library, trace real frameworks, and gate a new wait.",
    )
    parser.set_defaults(command=_demo)


def _add_lsp(commands: Any) -> None:
    parser = commands.add_parser(
        "lsp",
        help="start the language server for editors",
        description="Speak the Language Server Protocol over standard input and output: findings "
        "while you type, explanations, repairs. Needs the extra 'lsp'.",
    )
    parser.set_defaults(command=_lsp)


def _demo(arguments: argparse.Namespace) -> int:
    from asyncguard.demo import main as demo

    return demo()


def _lsp(arguments: argparse.Namespace) -> int:
    try:
        with extras.needs("lsp", "pygls", "lsprotocol"):
            from asyncguard import lsp
    except ModuleNotFoundError as error:
        raise AsyncguardError(f"lsp: {error}") from error
    return lsp.main()


_ANYWHERE = (explain.run, rules.run)  # commands that need no working directory
