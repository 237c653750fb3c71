"""A process of its own for each call: bounded in time and output, and ended with its children.

Its streams are files, not pipes: a grandchild that keeps one open holds nobody up. The group that
it leads is killed; what has left the group is known by a mark in its environment, where the system
shows that (Linux).
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import anyio

MARK = "ASYNCGUARD_MCP_CALL"
MOST = 1 << 26  # bytes that a program may write to one of its streams
PAUSE = 0.02  # seconds between looks at a process
SWEEPS = 20  # looks for processes that were started meanwhile


class Ended(NamedTuple):
    """How a process ended. `status` is None where it was stopped: for its time, or its output."""

    status: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    too_late: bool = False
    too_much: bool = False


async def _silent(seconds: float) -> None:
    """Say nothing."""


async def ended(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    given: bytes = b"",
    tell: Callable[[float], Awaitable[None]] = _silent,
    clock: Callable[[], float] = time.monotonic,
) -> Ended:
    """Run a command in a folder to its end, at most for so many seconds.

    It reads what is `given`; `tell` hears again and again for how many seconds it has run.
    Cancelled, it leaves no process behind. Raises OSError where the command cannot be started.
    """
    mark = f"{os.getpid()}-{uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="asyncguard-mcp-") as scratch:
        streams = [Path(scratch, name) for name in ("stdin", "stdout", "stderr")]
        streams[0].write_bytes(given)
        begin = clock()
        process = _started(command, folder, streams, mark)
        late = much = False
        try:
            while process.poll() is None and not (late or much):
                await anyio.sleep(PAUSE)
                took = clock() - begin
                await tell(took)
                late = took > seconds
                much = any(stream.stat().st_size > MOST for stream in streams[1:])
            stopped = process.poll() is None
        finally:
            _end(process, mark)
        took = clock() - begin
        status = None if stopped else process.returncode
        out, err = _read(streams[1]), _read(streams[2])
        return Ended(status, out, err, took, stopped and late, stopped and much)


def _started(
    command: Sequence[str], folder: Path, streams: Sequence[Path], mark: str
) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a group of its own."""
    with streams[0].open("rb") as given, streams[1].open("wb") as out, streams[2].open("wb") as err:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, MARK: mark},
            stdin=given,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def _read(stream: Path) -> bytes:
    with stream.open("rb") as file:
        return file.read(MOST)


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill a process, its group, and what else it has started."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for _ in range(SWEEPS):
            found = list(_marked(mark))
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                break
    else:
        process.kill()
    process.wait()


def _marked(mark: str) -> Iterator[int]:
    """Yield the living processes that have the mark; none where the system does not show it."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
