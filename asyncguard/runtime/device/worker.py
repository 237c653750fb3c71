"""A thread that works when it is asked to: what must not be done where the asking happens."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Worker:
    """Calls `work` in a thread of its own soon after `ask`, one call at a time."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._asked = threading.Event()
        self._over = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="asyncguard-device", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Have the work done; from any thread, at once, and without a lock that work may hold."""
        self._asked.set()

    def stop(self) -> None:
        """End the thread; what it is doing is finished first."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._over = True
            self._asked.set()
            thread.join()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._over:
                return
            self._work()
