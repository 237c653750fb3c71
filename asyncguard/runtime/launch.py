"""`asyncguard run`: a script or module, run as `python` runs it, under a session.

The script sees the `sys.argv`, `sys.path`, `__main__` and stdin that it would see without us, and
its exit status and traceback are its own. Where it ends by itself, with an exception, by `sys.exit`
or Ctrl-C, the trace is saved; and every so many seconds meanwhile, for signals, `os._exit` and
SIGKILL leave no chance. No signal is handled unless that is asked for: programs and libraries look
whether a handler is there already, and one of Python's waits for C code to return. A trace that
cannot be written is told once.
Processes that the script starts or forks write no trace unless they are to be followed (see
`family`). Of several ranks each writes its own.
"""

from __future__ import annotations

import importlib.machinery
import io
import os
import pkgutil
import runpy
import shlex
import signal
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from asyncguard.model import AsyncguardError
from asyncguard.runtime import ranks, warned
from asyncguard.runtime.ending import After, Ending, Live, require_writable
from asyncguard.runtime.family import Family
from asyncguard.runtime.neighbours import Neighbours
from asyncguard.runtime.session import Session


@dataclass(frozen=True)
class Follow:
    """How other processes of the program are traced: fields of `Options`, the simulated device."""

    options: Mapping[str, Any]
    simulated: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Target:
    """What to run: `argv` starts with the script's path or the module's name."""

    argv: tuple[str, ...]
    is_module: bool

    @classmethod
    def script(cls, argv: Sequence[str]) -> Target:
        """A script, a directory or zip file with a `__main__.py`; and its arguments."""
        return cls(tuple(argv), is_module=False)

    @classmethod
    def module(cls, argv: Sequence[str]) -> Target:
        """A module, as after `python -m`; and its arguments."""
        return cls(tuple(argv), is_module=True)

    @property
    def command(self) -> str:
        """The command line, for the record."""
        return ("-m " if self.is_module else "") + shlex.join(self.argv)


running: list[Target] = []  # what `run` runs in this process, for others to ask


def run(
    target: Target,
    output: Path,
    after: After | None = None,
    session: Session | None = None,
    saved: Callable[[], None] = lambda: None,
    every: float = 0.0,
    on_signal: bool = False,
    live: Live | None = None,
    children: Follow | None = None,
) -> int:
    """Run `target`, save its trace to `output`, call `after(output)`; return its exit status.

    `saved` is called last in any case: once the trace is saved, or could not be. `every`: seconds
    after which it is saved while the program runs; 0: only at its end. `on_signal`: whether it is
    saved at SIGTERM, SIGHUP and SIGUSR1 too, unless the program handles them itself. `live` shows
    how it does, while it runs. `children`: what processes that it forks and starts are to record.

    One of several ranks saves to `ranks.own_path`; `after` and `live` are for the first of them.
    Raises AsyncguardError where the script cannot be read, and KeyboardInterrupt where the script
    did not catch it, so that the process ends as python's does. SystemExit passes too.
    """
    seat = ranks.seat()
    output = Path(os.path.abspath(ranks.own_path(output, seat)))
    require_writable(output, None if target.is_module else target.argv[0], make=True)
    start = _prepare(target)
    neighbours = Neighbours(os.path.abspath(sys.path[0]))
    if seat is not None and seat.rank:
        after = live = None
    shown = after

    def report(path: Path) -> None:
        with neighbours.away():
            assert shown is not None
            shown(path)

    ending = Ending(
        session or Session(command=target.command),
        output,
        report if shown is not None else None,
        saved,
        every,
        on_signal,
        live,
        None
        if children is None
        else Family.founded(
            output,
            children.options,
            every=every,
            on_signal=on_signal,
            simulated=children.simulated,
        ),
    )
    with neighbours.away():
        ending.begin()
    neighbours.step_aside()
    running.append(target)
    try:
        start()
    except SystemExit as error:
        ending.failed(_status(error.code))
        if not _has_begun():  # there is no such module: there is nothing to save
            ending.give_up()
        raise error.with_traceback(None) from None
    except KeyboardInterrupt as error:
        ending.failed(128 + signal.SIGINT, error)
        _show_own_traceback(error)
        raise
    except BaseException as error:  # noqa: BLE001  shown as the interpreter would show it
        ending.failed(1, error)
        _print_as_interpreter(error)
        return 1
    finally:
        running.remove(target)
        ending.script_ended()
    return 0


warned.PROGRAM_STARTS.add(run.__code__)


def _status(code: object) -> int:
    """Return the exit status that the argument of SystemExit comes to."""
    return code & 0xFF if isinstance(code, int) else int(code is not None)


def _has_begun() -> bool:
    """Whether the program's main module has been found, and started."""
    main = vars(sys.modules["__main__"])
    return main.get("__file__") is not None or main.get("__spec__") is not None


def _prepare(target: Target) -> Callable[[], None]:
    """Set the stage as the interpreter does; return what starts the program."""
    name = target.argv[0]
    main = types.ModuleType("__main__")
    if target.is_module:
        start: Callable[[], None] = _module_starter(name)
        argv0, path0 = "-m", os.getcwd()
    elif os.path.isdir(name) or _is_zip(name):
        start = _module_starter("__main__", alter_argv=False)
        argv0, path0 = name, os.path.abspath(name)
    else:
        start = _script_starter(name, main)
        argv0, path0 = name, os.path.dirname(os.path.realpath(name))
    sys.argv[:] = [argv0, *target.argv[1:]]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = path0
    elif not target.is_module and argv0 is not name:
        sys.path.insert(0, path0)
    sys.modules["__main__"] = main
    return start


def _module_starter(name: str, alter_argv: bool = True) -> Callable[[], None]:
    # This is what `python -m` itself calls.
    run_as_main = runpy._run_module_as_main  # type: ignore[attr-defined]
    return lambda: run_as_main(name, alter_argv)


def _script_starter(name: str, main: types.ModuleType) -> Callable[[], None]:
    path = os.path.abspath(name)
    try:
        with io.open_code(path) as file:
            code = pkgutil.read_code(file)  # a .pyc file
        if code is None:
            with io.open_code(path) as file:
                source = file.read()
    except OSError as error:
        raise AsyncguardError(f"{name}: cannot read the script: {error.strerror}") from error
    vars(main).update(
        __file__=path,
        __cached__=None,
        __builtins__=sys.modules["builtins"],
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
    )
    if sys.version_info < (3, 14):
        main.__annotations__ = {}

    def start() -> None:
        exec(code or compile(source, path, "exec", dont_inherit=True), vars(main))

    return start


def _is_zip(name: str) -> bool:
    import zipfile

    return zipfile.is_zipfile(name)


def _own(traceback: TracebackType | None) -> TracebackType | None:
    """The script's part of a traceback: without the frames of this module on top."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def _print_as_interpreter(error: BaseException) -> None:
    error.__traceback__ = _own(error.__traceback__)
    sys.excepthook(type(error), error, error.__traceback__)


def _show_own_traceback(error: BaseException) -> None:
    """Have the interpreter print only the script's part when `error` has reached it."""
    own, show = _own(error.__traceback__), sys.excepthook

    def hook(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        if value is error:
            value.__traceback__ = traceback = own
        show(kind, value, traceback)

    sys.excepthook = hook
