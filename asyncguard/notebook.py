"""The IPython extension: `%load_ext asyncguard`, then `%%asyncguard` at the head of a cell.

The cell runs under a trace, which is shown below it and kept in a variable. Imports no IPython: the
shell hands itself over.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

from asyncguard import screens
from asyncguard.api import trace
from asyncguard.model import AsyncguardError

VARIABLE = "trace"  # where the trace of a cell is kept


class _Arguments(argparse.ArgumentParser):
    """Raises AsyncguardError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise AsyncguardError(f"%%asyncguard: {message}; {self.format_usage().strip()}")


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic to a shell of IPython's."""

    def cell_magic(line: str, body: str) -> None:
        run(shell, line, body)

    cell_magic.__doc__ = _parser().format_help()
    shell.register_magic_function(cell_magic, "cell", "asyncguard")


def run(shell: Any, line: str, body: str) -> None:
    """Run a cell under a trace and show it; what the cell raises is raised again."""
    try:
        arguments = _parser().parse_args(line.split())
        made = trace(timeline=arguments.timeline, depth=arguments.depth)
    except AsyncguardError as error:
        screens.write(sys.stderr, f"asyncguard: {screens.one_line(str(error))}\n")
        return
    with made:
        result = shell.run_cell(body, store_history=False)
    shell.user_ns[arguments.name] = made
    made.show()
    _raise_shown(result)


def _raise_shown(result: Any) -> None:
    """Raise what a cell raised, so that the cells after it do not run; its traceback is shown."""
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        error._render_traceback_ = list  # what IPython asks: no lines
        raise error


def _parser() -> argparse.ArgumentParser:
    parser = _Arguments(
        prog="%%asyncguard",
        description="Count and time the waits of this cell.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", nargs="?", default=VARIABLE, type=_name,
        help=f"the variable that the trace is kept in (default: {VARIABLE})",
    )  # fmt: skip
    parser.add_argument("--timeline", action="store_true", help="keep the newest events")
    parser.add_argument("--depth", choices=("light", "full"), default="light")
    return parser


def _name(text: str) -> str:
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a variable")
    return text
