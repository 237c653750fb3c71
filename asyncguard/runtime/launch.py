"""`asyncguard run`: a script or module, run as `python` runs it, under a session.

The script sees the `sys.argv`, `sys.path`, `__main__` and stdin that it would see without us, and
its exit status and traceback are its own. Where it ends by itself, with an exception, by `sys.exit`
or Ctrl-C, the trace is saved; and every so many seconds meanwhile, for signals, `os._exit` and
SIGKILL leave no chance. No signal is handled unless that is asked for: programs and libraries look
whether a handler is there already, and one of Python's waits for C code to return. A trace that
cannot be written is told once.
Processes that the script starts or forks write no trace. Of several ranks each writes its own.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import io
import os
import pkgutil
import runpy
import shlex
import signal
import sys
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from asyncguard import files
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import ranks, store, warned
from asyncguard.runtime.keeper import Keeper
from asyncguard.runtime.neighbours import Neighbours
from asyncguard.runtime.session import Session, described

After = Callable[[Path], None]
# Signals that end a program which does not handle them: Slurm sends SIGUSR1 ahead of the limit.
_DEADLY = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)
)


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
) -> int:
    """Run `target`, save its trace to `output`, call `after(output)`; return its exit status.

    `saved` is called last in any case: once the trace is saved, or could not be. `every`: seconds
    after which it is saved while the program runs; 0: only at its end. `on_signal`: whether it is
    saved at SIGTERM, SIGHUP and SIGUSR1 too, unless the program handles them itself.

    One of several ranks saves to `ranks.own_path`, and `after` is for the first of them.
    Raises AsyncguardError where the script cannot be read, and KeyboardInterrupt where the script
    did not catch it, so that the process ends as python's does. SystemExit passes too.
    """
    seat = ranks.seat()
    output = Path(os.path.abspath(ranks.own_path(output, seat)))
    _require_writable(output, target)
    start = _prepare(target)
    neighbours = Neighbours(os.path.abspath(sys.path[0]))
    shown = after if seat is None or seat.rank == 0 else None

    def report(path: Path) -> None:
        with neighbours.away():
            assert shown is not None
            shown(path)

    ending = _Ending(
        session or Session(command=target.command),
        output,
        report if shown is not None else None,
        saved,
        every,
        on_signal,
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


def _require_writable(path: Path, target: Target | None = None) -> None:
    """Refuse before a long run rather than after it."""
    main = getattr(sys.modules.get("__main__"), "__file__", None) if target is None else None
    script = main if target is None or target.is_module else target.argv[0]
    try:
        if target is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        files.require_replaceable(path, [script] if script else [])
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot write the trace: {error.strerror}; name another file with -o"
        ) from error


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


class _Ending:
    """Ends the session and saves its trace, once, in the process that began it."""

    def __init__(
        self,
        session: Session,
        output: Path,
        after: After | None,
        saved: Callable[[], None],
        every: float,
        on_signal: bool = False,
    ) -> None:
        self._session = session
        self._output = output
        self._after = after
        self._saved = saved
        self._process = os.getpid()
        self._lock = threading.RLock()  # SIGTERM may come while it is held
        self._done = False
        self._told = ""  # what went wrong the last time
        self._kept = False  # meanwhile: what stands in the file is of this run
        self._status = 0
        self._exception = ""
        self._keeper = Keeper(self.keep, every)
        self._on_signal = on_signal
        self._handled: dict[int, Any] = {}  # signal -> who handled it before us

    def begin(self) -> None:
        """Start recording; from here on every way out saves the trace."""
        self._session.start()
        self._keeper.start()
        if hasattr(os, "register_at_fork"):
            keeper = self._keeper
            os.register_at_fork(
                before=keeper.pause, after_in_parent=keeper.resume, after_in_child=self._forked
            )
        if not self._on_signal or not _in_main_thread():
            return
        for number in _DEADLY:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN and before is not None:
                self._handled[number] = before
                signal.signal(number, self._signalled)

    def _forked(self) -> None:
        """A forked child has nothing to save: it is as if we were not there."""
        self._lock = threading.RLock()  # another thread may have held it
        for number, before in self._handled.items():
            if signal.getsignal(number) == self._signalled:
                signal.signal(number, before)

    def failed(self, status: int, error: BaseException | None = None) -> None:
        """The program ends with a status other than 0, or by an exception."""
        self._status = status
        self._exception = described(error) if error is not None else ""

    def keep(self) -> None:
        """Save what there is so far; whatever goes wrong, the program goes on."""
        if self._done or os.getpid() != self._process:
            return
        try:
            # Before the lock: a signal handler may wait for it in the midst of recording.
            record = replace(self._session.record(), complete=False)
        except Exception as error:  # noqa: BLE001
            self._tell(f"{self._output}: cannot save the trace meanwhile: {error!r}")
            return
        with self._lock:
            if not self._done:
                self._kept = self._write(record) or self._kept

    def _write(self, record: TraceRecord) -> bool:
        """Put the trace into its file; whether that went well."""
        try:
            _require_writable(self._output)
            store.save(record, self._output)
        except AsyncguardError as error:
            self._tell(str(error))
            return False
        return True

    def _tell(self, trouble: str) -> None:
        """Say it on stderr, once as long as it stays the same."""
        if trouble != self._told:
            self._told = trouble
            print(f"asyncguard: {trouble}", file=sys.stderr)

    def script_ended(self) -> None:
        """The main module has ended: save now, or once the threads that it left behind end."""
        others = threading.enumerate()
        if any(t is not threading.current_thread() and not t.daemon for t in others):
            # atexit functions run when the interpreter has joined its threads.
            atexit.register(self.save)
        else:
            self.save()

    def give_up(self) -> None:
        """End without a trace."""
        self._done = True
        self._keeper.stop()
        self._session.stop()

    def save(self) -> None:
        """Save the trace. What goes wrong is told, and the script's own end goes on."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._done:
                return
            self._done = True
        self._keeper.stop()
        self._session.stop()
        record = replace(
            self._session.record(), exit_status=self._status, exception=self._exception
        )
        try:
            if self._is_worthless(record):
                self._tell(f"nothing ran: {self._output} is left as it was")
            elif self._write(record) and self._after is not None:
                self._after(self._output)
        except AsyncguardError as error:
            print(f"asyncguard: {error}", file=sys.stderr)
        finally:
            self._saved()

    def _is_worthless(self, record: TraceRecord) -> bool:
        """Whether a program that refused its arguments would replace an earlier trace."""
        nothing = not (record.sites or record.step_count or record.exception)
        return bool(self._status) and nothing and self._output.exists() and not self._kept

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        """Save; then do as without us: call who handled the signal before, or die of it."""
        before = self._handled[number]
        if callable(before):
            self.keep()
            before(number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        # torch's handler raises where a loader's worker dies of the same signal.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            self.failed(128 + number)
            self.save()
        finally:
            os.kill(os.getpid(), number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


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
