"""Saves a trace again and again while the program runs, so that a killed one loses little.

The thread is not one of `threading`'s: programs that count or join theirs do not meet it. It steps
aside while the program forks: from Python 3.12 on that warns where there is another thread.
"""

from __future__ import annotations

import _thread
import gc
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

Wait = Callable[[float], bool]  # seconds; True: it is over
PATIENCE = 1.0  # seconds that a fork waits for a save under way
_LOOKS = 10_000  # at whether the system's thread has gone, once Python's is over


class Keeper:
    """Calls `save` every `seconds` from `start` to `stop`. `wait` sleeps, or says that it is over.

    `seconds` may differ from one time to the next. What `save` raises is up to it: here it would
    end the thread.
    """

    def __init__(
        self,
        save: Callable[[], None],
        seconds: float | Iterator[float],
        wait: Wait | None = None,
    ) -> None:
        self._save = save
        self._seconds = itertools.repeat(seconds) if isinstance(seconds, (int, float)) else seconds
        self._saves = seconds != 0
        self._over = threading.Event()
        self._wait = wait or self._over.wait
        self._stopped = False
        self._running = _thread.allocate_lock()  # held by the thread
        self._thread = -1  # as the system knows it

    def start(self) -> None:
        """Begin, where there is anything to do."""
        if self._saves and not self._stopped:
            self._over.clear()
            self._running.acquire()
            _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Save no more; one that is under way goes on."""
        self._stopped = True
        self._over.set()

    def pause(self) -> None:
        """Have no thread until `resume`; one that saves for longer than PATIENCE goes on."""
        if self._collecting in gc.callbacks:
            gc.callbacks.remove(self._collecting)
        self._over.set()
        if self._running.acquire(timeout=PATIENCE):
            self._running.release()
            for _ in range(_LOOKS):
                if not os.path.exists(f"/proc/self/task/{self._thread}"):
                    break
                time.sleep(0)

    def resume(self) -> None:
        """Go on after `pause`, once the fork has returned.

        Python 3.13 counts threads after it has called this, so the next garbage collection starts
        it there, if the program has any.
        """
        if self._running.locked() and not self._stopped:
            self._over.clear()
        elif sys.version_info >= (3, 13) and gc.isenabled():
            gc.callbacks.append(self._collecting)
        else:
            self.start()

    def _collecting(self, phase: str, info: object) -> None:
        gc.callbacks.remove(self._collecting)
        self.start()

    def run(self) -> None:
        """Save until it is over."""
        while not self._wait(next(self._seconds)) and not self._over.is_set():
            self._save()

    def _run(self) -> None:
        self._thread = threading.get_native_id()
        try:
            self.run()
        finally:
            self._running.release()
