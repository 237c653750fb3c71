"""The processes of one run: each is traced by itself, into a file beside that of the first.

Forked ones go on from where they were forked. Those that are started anew with the same Python are
told by their environment: `asyncguard/startup` stands first in PYTHONPATH, and begins a trace once
a framework is imported. What ends a process without a word to Python (`os._exit`, `os.exec*`) is
preceded by a save; of signals see `ending`.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from asyncguard.model import AsyncguardError
from asyncguard.runtime import ranks, store
from asyncguard.runtime.registry import homes

VARIABLE = "ASYNCGUARD_CHILDREN"
STARTUP = Path(__file__).parents[1] / "startup"
PYTHON = f"{sys.prefix} {sys.hexversion:x}"  # whose processes are followed
FIRST = 0.25  # seconds after which a child is first saved; then it is twice as long each time


@dataclass(frozen=True)
class Family:
    """What the processes of a run have in common.

    run: its name; output: the first process's trace; options: those of a session; every, on_signal:
    as for `launch.run`; seat: the rank of the process that tells of it; simulated: the arguments of
    `asyncguard.sim.entry.begin`, where a device is.
    """

    run: str
    output: str
    options: Mapping[str, Any]
    every: float = 0.0
    on_signal: bool = False
    seat: int | None = None
    simulated: tuple[Any, ...] | None = None

    @classmethod
    def founded(cls, output: Path, options: Mapping[str, Any], **fields: Any) -> Family:
        """The family of a run that begins: the traces of the one before go."""
        for path in siblings(output):
            with suppress(OSError, AsyncguardError):
                if "family" in store.load_figures(path).extra:
                    path.unlink()
        return cls(uuid4().hex, str(output), dict(options), seat=_rank(), **fields)

    @classmethod
    def told(cls, text: str) -> Family:
        """The family that a variable of the environment tells of."""
        return cls(**json.loads(text.partition("\n")[2]))

    def tell(self) -> Family:
        """Have processes that are started from here on join; returns what they are told."""
        told = replace(self, seat=_rank())
        modules = ",".join(home.module for home in homes().values())
        text = json.dumps(asdict(told))
        os.environ[VARIABLE] = f"{PYTHON},{modules}\n{text}"
        before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        after = [str(STARTUP), *(entry for entry in before if entry not in ("", str(STARTUP)))]
        os.environ["PYTHONPATH"] = os.pathsep.join(after)
        return told

    @property
    def own_path(self) -> Path:
        """The file of this process, which is not the first: by its rank if it is one."""
        output, seat = Path(self.output), ranks.seat()
        if seat is not None and seat.rank != self.seat:
            return ranks.own_path(output, seat)
        return output.with_name(f"{output.stem}.child{os.getpid()}{output.suffix}")

    def about(self, how: str) -> dict[str, Any]:
        """What the record of this process says of it; `how` it came about: "" of the first one."""
        process = {"pid": os.getpid(), "parent": os.getppid(), "name": _name(how), "how": how}
        return {"family": self.run, "process": process}


def siblings(output: Path) -> list[Path]:
    """The files beside a trace that are named as those of its children are, in order."""
    name = re.compile(
        rf"{re.escape(output.stem)}\.(child|rank)(\d+){re.escape(output.suffix)}", re.ASCII
    )
    try:
        inside = [path for path in output.absolute().parent.iterdir() if name.fullmatch(path.name)]
    except OSError:
        return []
    return sorted(inside, key=lambda path: (len(path.name), path.name))


def before_leaving(save: Callable[[int], None], keep: Callable[[], None]) -> None:
    """Save with the exit status before `os._exit`, and keep before another program takes over.

    Both are asked in whichever process leaves; what they raise is theirs to tell.
    """
    leave = os._exit

    @functools.wraps(leave)
    def leaving(status: int) -> None:
        save(status)
        leave(status)

    os._exit = leaving  # type: ignore[assignment]
    for name in ("execv", "execve"):
        setattr(os, name, _keeping(getattr(os, name), keep))


def _keeping(replace: Callable[..., Any], keep: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(replace)
    def replacing(*arguments: Any, **named: Any) -> Any:
        keep()
        return replace(*arguments, **named)

    return replacing


def pauses(every: float) -> Iterator[float]:
    """Yield the seconds between two saves of a child: few at first, for many live no longer."""
    pause = FIRST
    while True:
        yield min(pause, every)
        pause *= 2


def _rank() -> int | None:
    seat = ranks.seat()
    return None if seat is None else seat.rank


def _name(how: str) -> str:
    """The name of this process: multiprocessing's, or its program's."""
    processes = sys.modules.get("multiprocessing.process")
    name = str(processes.current_process().name) if processes is not None else "MainProcess"
    if not how or name == "MainProcess":
        name = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    return name
