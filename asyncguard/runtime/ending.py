"""How a traced run ends: its session is over and its trace saved, once, whatever ended it.

Meanwhile the trace is saved every so many seconds, and what shows the run is asked for a picture
again and again.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from asyncguard import files
from asyncguard.model import AsyncguardError, TraceRecord
from asyncguard.runtime import store
from asyncguard.runtime.family import Family, before_leaving, pauses
from asyncguard.runtime.keeper import Keeper
from asyncguard.runtime.session import Session, described

After = Callable[[Path], None]
# Signals that end a program which does not handle them: Slurm sends SIGUSR1 ahead of the limit.
_DEADLY = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)
)


class Live(Protocol):
    """Shows how a session goes: a picture every so many seconds."""

    @property
    def seconds(self) -> float:
        """The seconds between two pictures."""

    def draw(self, session: Session) -> None:
        """Show it as it is now."""

    def end(self) -> None:
        """Leave nothing behind."""

    def forked(self) -> None:
        """This is a forked process: the one that forked it goes on showing."""


class Ending:
    """Ends the session and saves its trace, once, in the process that began it."""

    def __init__(
        self,
        session: Session,
        output: Path,
        after: After | None,
        saved: Callable[[], None],
        every: float,
        on_signal: bool = False,
        live: Live | None = None,
        family: Family | None = None,
        how: str = "",
    ) -> None:
        self._family = family
        self._how = how  # a child came about
        self._heir: Ending | None = None  # in a forked process: its own
        self._session = session
        self._output = output
        self._after = after
        self._saved = saved
        self._process = os.getpid()
        self._lock = threading.RLock()  # SIGTERM may come while it is held
        self._done = False
        self._told = ""  # what went wrong the last time
        self._kept = False  # meanwhile: what stands in the file is of this run
        self._status: int | None = None if how == STARTED else 0
        self._exception = ""
        self._keeper = Keeper(self.keep, pauses(every) if how and every else every)
        self._live = live
        self._painter = Keeper(self._draw, live.seconds if live is not None else 0)
        self._on_signal = on_signal
        self._handled: dict[int, Any] = {}  # signal -> who handled it before us

    def begin(self) -> None:
        """Start recording; from here on every way out saves the trace."""
        self._session.start()
        self._draw()  # which loads all that it needs before the program could be in its way
        threads = self._keeper, self._painter
        for thread in threads:
            thread.start()
        if hasattr(os, "register_at_fork"):
            for thread in threads:
                os.register_at_fork(before=thread.pause, after_in_parent=thread.resume)
            os.register_at_fork(after_in_child=self._forked)
        if self._family is not None:
            self._join(self._family)
        if not self._on_signal or not _in_main_thread():
            return
        for number in _DEADLY:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN and before is not None:
                self._handled[number] = before
                signal.signal(number, self._signalled)

    def _join(self, family: Family) -> None:
        """Be the process of its family that this is."""
        if not present:
            before_leaving(_save_present, _keep_present)
        present[:] = [self]
        self._family = family.tell()
        if self._how:
            atexit.register(self.save)

    def _forked(self) -> None:
        """A forked child has nothing to save of its parent's; in a family it begins its own."""
        self._lock = threading.RLock()  # another thread may have held it
        for number, before in self._handled.items():
            if signal.getsignal(number) == self._signalled:
                signal.signal(number, before)
        self._keeper.stop()
        self._painter.stop()
        if self._live is not None:
            self._live.forked()
        if self._family is not None and not self._done and present == [self]:
            try:
                self._heir = member(self._family, FORKED)
            except Exception as error:  # noqa: BLE001  the program goes on
                self._tell(f"cannot trace the forked process {os.getpid()}: {error!r}")
        self._done = True

    def failed(self, status: int, error: BaseException | None = None) -> None:
        """The program ends with a status other than 0, or by an exception."""
        if self._heir is not None:
            self._heir.failed(status, error)
            return
        self._status = status
        self._exception = described(error) if error is not None else ""

    def keep(self, *, complete: bool = False) -> None:
        """Save what there is so far; whatever goes wrong, the program goes on."""
        if self._done or os.getpid() != self._process:
            return
        try:
            if self._how and not self._session.totals().syncs:
                return
            # Before the lock: a signal handler may wait for it in the midst of recording.
            record = replace(self._record(), complete=complete)
        except Exception as error:  # noqa: BLE001
            self._tell(f"{self._output}: cannot save the trace meanwhile: {error!r}")
            return
        with self._lock:
            if not self._done:
                self._kept = self._write(record) or self._kept

    def _draw(self) -> None:
        """Show how it goes; where that fails, never again."""
        if self._live is None or self._done or os.getpid() != self._process:
            return
        try:
            self._live.draw(self._session)
        except Exception as error:  # noqa: BLE001  the program goes on
            self._stop_showing()
            self._tell(f"--live has ended: {error!r}")

    def _stop_showing(self) -> None:
        self._painter.stop()
        if self._live is not None:
            self._live.end()

    def _write(self, record: TraceRecord) -> bool:
        """Put the trace into its file; whether that went well."""
        try:
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            require_writable(self._output, main)
            store.save(record, self._output)
        except AsyncguardError as error:
            self._tell(str(error))
            return False
        return True

    def trouble(self, error: Exception) -> None:
        """Tell what went wrong at the end."""
        self._tell(f"{self._output}: cannot save the trace: {error!r}")

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
        self._stop_showing()
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
        self._stop_showing()
        self._session.stop()
        if self._how == STARTED and isinstance(
            error := getattr(sys, "last_value", None), Exception
        ):
            self.failed(1, error)
        record = replace(self._record(), exit_status=self._status, exception=self._exception)
        try:
            if self._how and not record.sites:
                if self._kept:
                    self._output.unlink(missing_ok=True)
            elif self._is_worthless(record):
                self._tell(f"nothing ran: {self._output} is left as it was")
            elif self._write(record) and self._after is not None:
                self._after(self._output)
        except AsyncguardError as error:
            print(f"asyncguard: {error}", file=sys.stderr)
        finally:
            self._saved()

    def _record(self) -> TraceRecord:
        record = self._session.record()
        if self._family is None:
            return record
        return replace(record, extra={**record.extra, **self._family.about(self._how)})

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


present: list[Ending] = []  # of this process, where it is one of a family
FORKED, STARTED = "forked", "started"


def member(family: Family, how: str) -> Ending:
    """Begin to trace this process, which has joined a family."""
    options = {**family.options}
    if how == FORKED:  # CUPTI does not outlive a fork
        options |= {"device_times": None, "driver": False}
    session = Session(command=shlex.join(sys.argv), **options)
    every, on_signal = family.every, family.on_signal
    ending = Ending(
        session, family.own_path, None, lambda: None, every, on_signal, None, family, how
    )
    ending.begin()
    return ending


def _save_present(status: int) -> None:
    """Save before the process is left without a word; whatever goes wrong, it is left."""
    for ending in present:
        try:
            ending.failed(status)
            ending.save()
        except Exception as error:  # noqa: BLE001, PERF203
            ending.trouble(error)


def _keep_present() -> None:
    for ending in present:
        ending.keep(complete=True)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def require_writable(path: Path, script: str | None, *, make: bool = False) -> None:
    """Raise AsyncguardError where no trace can stand, or the script does; `make` its folder."""
    try:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        files.require_replaceable(path, [script] if script else [])
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot write the trace: {error.strerror}; name another file with -o"
        ) from error
