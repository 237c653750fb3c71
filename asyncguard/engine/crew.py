"""The crew: worker threads, who of them sleeps, and how they are called.

A worker with nothing to do blocks on its bell. `_must_call` says that a push has to ring one: it is
true while no worker is searching for work and one could.
"""

from __future__ import annotations

import os
import threading
from abc import abstractmethod

from asyncguard.engine.bells import closed_bell, ring
from asyncguard.engine.core import Engine, Operation


class Worker(threading.Thread):
    """A worker thread: `bell` is released to wake it, `operation` is what it is running."""

    def __init__(self, crew: Crew, number: int) -> None:
        super().__init__(name=f"asyncguard-worker-{number}", daemon=True)
        self.engine = crew
        self.bell = closed_bell()
        self.operation: Operation | None = None

    def run(self) -> None:
        """Run operations until no more are to come."""
        self.engine._work(self)


class Crew(Engine):
    """An engine's threads, `_size` of them at most, started when first needed."""

    _size: int

    def _start_afresh(self) -> None:
        # The gate guards what pushes and sleeping workers must agree on: all that follows.
        self._gate = threading.RLock()
        self._threads: set[Worker] = set()
        self._idle: list[Worker] = []
        self._searching = 0  # workers awake and not running an operation
        self._must_call = True

    @abstractmethod
    def _work(self, worker: Worker) -> None:
        """What a worker does from its start to its end."""

    def _wake_someone(self) -> None:
        if self._must_call:
            self._call_worker()

    def _call_worker(self) -> None:
        """Wake a worker, or start one where the engine may have more; called at the gate.

        Ringing comes first and clearing `_must_call` last: interrupted, it is done twice.
        """
        if self._searching:
            pass
        elif self._idle:
            ring(self._idle[-1].bell)
        elif len(self._threads) < self._size:
            self._start_worker()
        self._must_call = False

    def _start_worker(self) -> None:
        worker = Worker(self, len(self._threads))
        self._threads.add(worker)
        try:
            worker.start()
        finally:
            if not worker.is_alive():
                self._threads.discard(worker)

    def _current_worker(self) -> Worker | None:
        thread = threading.current_thread()
        return thread if isinstance(thread, Worker) and thread.engine is self else None


def worker_count(workers: int | None) -> int:
    """The size of a crew: as given, else as ASYNCGUARD_ENGINE_WORKERS says, else 1."""
    source = "workers"
    if workers is None:
        source = "ASYNCGUARD_ENGINE_WORKERS"
        text = os.environ.get(source, "1")
        workers = int(text) if text.isdecimal() else 0
    if workers < 1:
        raise ValueError(f"{source} must be a whole number from 1 up")
    return workers
