"""How every command is parsed and helped with: usage, examples, where to read more, colours."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from asyncguard import screens

WIDEST = 100  # columns of a help text
LIKE = 0.75  # how like an option a word must be to be a mistyped one
COLORS = ("auto", "always", "never")


class Help(argparse.HelpFormatter):
    """Help in lines of at most 100 columns; lines of a description or an epilog stay lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)
        self._width = min(self._width, WIDEST)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = [self._split_lines(line, width) or [""] for line in text.splitlines()]
        return "\n".join(f"{indent}{line}" for wrapped in lines for line in wrapped)

    def _split_lines(self, text: str, width: int) -> list[str]:
        lead = text[: len(text) - len(text.lstrip())]
        return textwrap.wrap(
            text, width, subsequent_indent=lead, break_long_words=False, break_on_hyphens=False
        )

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        joint = "" if value.startswith(("=", "[=")) else " "
        return f"{', '.join(action.option_strings)}{joint}{value}"


class Parser(argparse.ArgumentParser):
    """A parser that answers for its own mistakes: a wrong option shows the usage of its command."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse what is left over: nobody above knows it either."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            from difflib import get_close_matches  # for those who mistype alone

            known = [option for action in self._actions for option in action.option_strings]
            close = get_close_matches(unknown[0].partition("=")[0], known, 1, LIKE)
            meant = f"; did you mean {close[0]}?" if close else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return parsed, []

    def _print_message(self, message: str, file: Any = None) -> None:
        screens.write(file or sys.stderr, message)

    def error(self, message: str) -> NoReturn:
        """Show the usage and the message on stderr, and exit with status 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {message}\nSee `{self.prog} --help`.\n")


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    usage: str,
    *,
    help: str,
    description: str,
    examples: Sequence[str] = (),
    page: str,
) -> Parser:
    """Add a command to the parser's `commands`, and return its parser.

    `usage` is what follows the command's name; `examples` are arguments, and `page` is the file of
    the documentation, below `docs/` of the sources, that has more.
    """
    shown = "".join(f"\n  asyncguard {name} {example}".rstrip() for example in examples)
    more = f"Read more: docs/{page} of asyncguard's sources"
    parser: Parser = commands.add_parser(
        name,
        help=help,
        description=description,
        usage=f"asyncguard {name} {usage}".rstrip(),
        epilog=f"examples:{shown}\n\n{more}" if examples else more,
        formatter_class=Help,
    )
    parser.set_defaults(command=run)
    parser.add_argument(
        "--color",
        metavar="WHEN",
        choices=COLORS,
        default=COLORS[0],
        help="use colours: auto (default: on a terminal), always or never",
    )
    return parser
