"""The IPython extension: `%load_ext asyncguard` adds `%%asyncguard` and `%asyncguard`.

What runs under a trace is a cell, a statement, or the cells between `%asyncguard start` and `stop`;
the trace is shown below and kept in a variable. Imports no IPython: the shell hands itself over.
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import ExitStack
from typing import Any, NoReturn

from asyncguard import screens
from asyncguard.api import Trace, trace
from asyncguard.model import AsyncguardError
from asyncguard.runtime import shells

VARIABLE = "trace"  # where the trace of a cell is kept
_OPTIONS = re.compile(r"\s*((?:--(?:timeline|(?:depth|sim)[= ]\s*\S+)(?:\s+|$))*)")
USAGE = """
%%asyncguard [NAME] [OPTIONS]        at the head of a cell: the waits of the cell
%asyncguard [OPTIONS] STATEMENT      those of one statement, such as train(model)
%asyncguard start [NAME] [OPTIONS]   those of all cells from here on
%asyncguard stop                     until here: show them

"""


class _Arguments(argparse.ArgumentParser):
    """Raises AsyncguardError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise AsyncguardError(f"{self.prog}: {message}; {self.format_usage().strip()}")


class _Traced:
    """A trace that runs, on a simulated device where that is asked for, and will be kept."""

    def __init__(self, prog: str, line: str) -> None:
        arguments = _parser(prog).parse_args(line.split())
        self._name = arguments.name
        self._made: Trace = trace(timeline=arguments.timeline, depth=arguments.depth)
        with ExitStack() as undo:
            if arguments.sim is not None:
                undo.enter_context(simulated(arguments.sim))
            undo.enter_context(self._made)
            self._undo = undo.pop_all()

    def stop(self, shell: Any) -> None:
        """End the trace, keep it in its variable and show it."""
        self._undo.close()
        shell.user_ns[self._name] = self._made
        self._made.show()


class Magics:
    """The magics of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._running: _Traced | None = None  # from `start` to `stop`

    def cell(self, line: str, body: str) -> None:
        """Run a cell under a trace and show it; what the cell raises is raised again."""
        self._try(self._run, "%%asyncguard", line, _below_magic(body))

    def line(self, line: str) -> None:
        """Run a statement as a cell; or begin, or end, a trace over cells."""
        verb, _, rest = line.strip().partition(" ")
        if verb in ("start", "stop"):
            self._try(self._start if verb == "start" else self._stop, rest)
            return
        options = _OPTIONS.match(line)
        assert options is not None  # it may be empty
        self._try(self._run, "%asyncguard", options[1], line[options.end() :])

    def _try(self, do: Any, *arguments: str) -> None:
        try:
            result = do(*arguments)
        except AsyncguardError as error:
            screens.write(sys.stderr, f"asyncguard: {screens.one_line(str(error))}\n")
        else:
            _raise_shown(result)

    def _run(self, prog: str, options: str, body: str) -> Any:
        if not body.strip():
            raise AsyncguardError(f"{prog}: there is nothing to run")
        traced = _Traced(prog, options)
        try:
            return _run_as_part(self._shell, body)
        finally:
            traced.stop(self._shell)

    def _start(self, options: str) -> None:
        if self._running is not None:
            raise AsyncguardError("a trace runs already; `%asyncguard stop` ends it")
        self._running = _Traced("%asyncguard start", options)

    def _stop(self, rest: str) -> None:
        running, self._running = self._running, None
        if running is None:
            raise AsyncguardError("no trace runs; `%asyncguard start` begins one")
        running.stop(self._shell)


def load_ipython_extension(shell: Any) -> None:
    """Add the magics to a shell of IPython's."""
    magics = Magics(shell)
    for kind in ("cell", "line"):
        do = getattr(magics, kind)

        def magic(*arguments: str, do: Any = do) -> None:
            do(*arguments)

        magic.__doc__ = USAGE + _parser("%%asyncguard").format_help()
        shell.register_magic_function(magic, kind, "asyncguard")


def simulated(choice: str) -> Any:
    """The simulation that `cuda` or `cuda:PROFILE` names; raises AsyncguardError for others."""
    from asyncguard.sim.entry import profile_of, simulate_cuda

    return simulate_cuda(profile_of(choice))


def _run_as_part(shell: Any, body: str) -> Any:
    """Run code of a cell under that cell's number, which IPython may have counted up already."""
    before, number = shell.execution_count, shells.running()
    shell.execution_count = before if number is None else number
    try:
        return shell.run_cell(body, store_history=False)
    finally:
        shell.execution_count = before


def _below_magic(body: str) -> str:
    """A cell's body whose lines have the numbers that they have in the cell, the magic above."""
    if body.startswith("%%"):  # another magic has to be the first line
        return body
    margin = body[: len(body) - len(body.lstrip(" \t"))]
    return f"{margin}# %%asyncguard\n{body}"


def _raise_shown(result: Any) -> None:
    """Raise what a cell raised, so that the cells after it do not run; its traceback is shown."""
    error = result and (result.error_before_exec or result.error_in_exec)
    if error is not None:
        error._render_traceback_ = list  # what IPython asks: no lines
        raise error


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = _Arguments(
        prog=prog,
        description="Count and time waits.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", nargs="?", default=VARIABLE, type=_name,
        help=f"the variable that the trace is kept in (default: {VARIABLE})",
    )  # fmt: skip
    parser.add_argument("--timeline", action="store_true", help="keep the newest events")
    parser.add_argument("--depth", choices=("light", "full"), default="light")
    parser.add_argument("--sim", metavar="cuda[:PROFILE]", help="run on a simulated device")
    return parser


def _name(text: str) -> str:
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a variable")
    return text
