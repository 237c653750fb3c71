"""Saves a trace again and again while the program runs, so that a killed one loses little.

The thread is not one of `threading`'s: programs that count or join theirs do not meet it.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

Wait = Callable[[float], bool]  # seconds; True: it is over


class Keeper:
    """Calls `save` every `seconds` from `start` to `stop`. `wait` sleeps, or says that it is over.

    What `save` raises is up to it: here it would end the thread.
    """

    def __init__(self, save: Callable[[], None], seconds: float, wait: Wait | None = None) -> None:
        self._save = save
        self._seconds = seconds
        self._over = threading.Event()
        self._wait = wait or self._over.wait

    def start(self) -> None:
        """Begin, where there is anything to do."""
        if self._seconds > 0:
            _thread.start_new_thread(self.run, ())

    def stop(self) -> None:
        """Save no more; one that is under way goes on."""
        self._over.set()

    def run(self) -> None:
        """Save until it is over."""
        while not self._wait(self._seconds) and not self._over.is_set():
            self._save()
