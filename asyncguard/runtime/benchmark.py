"""`Benchmark`: how long a block took, in one line.

It times what Python sees. On an asynchronous backend that is the enqueueing, unless the block
ends in a sync point: the difference is what the "Asynchronous Computation" experiments show.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO


class Benchmark:
    """Prints `name: 0.1234 sec` when the block ends; `seconds` keeps the figure.

    clock returns seconds; stream is where the line goes (default: stdout as it is then).
    """

    def __init__(
        self,
        name: str = "Done",
        clock: Callable[[], float] = time.perf_counter,
        stream: TextIO | None = None,
    ) -> None:
        self.name = name
        self.seconds = 0.0
        self._clock = clock
        self._stream = stream
        self._begin = 0.0

    def __enter__(self) -> Benchmark:
        self._begin = self._clock()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.seconds = self._clock() - self._begin
        if kind is None:
            print(f"{self.name}: {self.seconds:.4f} sec", file=self._stream or sys.stdout)
