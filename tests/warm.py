"""Python processes that begin with a framework imported: each is forked from one that waits.

`python("torch")` is a command that does what `[sys.executable]` does, without the seconds that the
import takes each time:

    subprocess.run([*warm.python("torch"), "-m", "asyncguard", "run", "train.py"], cwd=..., ...)

The process has its own environment, folder, streams, exit status and `__main__`. What differs is
that the modules are there before the program begins, so a test of what happens at an import, or of
the start of the interpreter itself, takes `sys.executable`. Options of the interpreter and other
variables for it than PYTHONPATH need a process of their own, and get one.

`executable("torch")` is the path of such a Python, for a test that has the package start processes
with `sys.executable`; `commands("torch")` is a folder for PATH, with `python` and `asyncguard`.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

MXNET = "asyncguard.compat:import_mxnet"  # a function to call, for it needs names of NumPy's
# What the commands import when they are at it.
BASE = ("numpy", "rich.table", *(f"asyncguard.{name}" for name in (
    "api", "cli.run", "lint.check", "render.concise", "render.summary", "render.text",
    "runtime.launch",
)))  # fmt: skip
# One server for all that ask for torch, in every process of a run: each takes its time to start.
TORCH = (
    *BASE, "torch", "torch._dynamo", "torch.distributed", "asyncguard.runtime.adapters.torch",
    "asyncguard.sim.simulation", "pytest",
)  # fmt: skip
PROGRAMS = {
    "python": (),
    "asyncguard": ("-m", "asyncguard"),
    "torchrun": ("-m", "torch.distributed.run"),  # its children are those of PYTHON_EXEC
}
SERVER = Path(__file__).with_name("warm_server.py")
CLIENT = Path(__file__).with_name("warm_client.py")


def python(*modules: str) -> tuple[str, ...]:
    """Return the command of a Python that holds these modules, and with torch all that it needs."""
    return _server(TORCH if "torch" in modules else tuple(sorted({*BASE, *modules})))


@functools.cache
def _server(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Start what processes are forked from, where no other process of this run has."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    begun_with = {name: environment[name] for name in environment if name.startswith("PYTHON")}
    begun_with.pop("PYTHON_EXEC", None)
    run, pid = _run()
    name = hashlib.sha256(repr((modules, begun_with)).encode()).hexdigest()[:16]
    path = str(run / name / "socket")
    run.mkdir(mode=0o700, exist_ok=True)
    with Path(run, f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not Path(path).exists():
            Path(path).parent.mkdir(exist_ok=True)
            _start([path, str(pid), *modules], environment)
    return sys.executable, "-I", "-S", str(CLIENT), path, repr(sorted(begun_with.items()))


def _run() -> tuple[Path, int]:
    """Return the folder of this run of the tests, and the process whose end is that of the run."""
    uid = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    pid = os.getppid() if uid else os.getpid()
    return Path(tempfile.gettempdir(), f"warm-{uid or pid}"), pid


def _start(arguments: list[str], environment: dict[str, str]) -> None:
    """Start a server and wait until it has imported the modules."""
    server = subprocess.Popen(
        [sys.executable, str(SERVER), *arguments],
        cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", f"{arguments[2:]} cannot be imported"


@functools.cache
def commands(*modules: str) -> str:
    """Return a folder that holds the programs `python`, `asyncguard` and `torchrun`."""
    command = python(*modules)
    folder = Path(command[4]).with_name("bin")
    folder.mkdir(exist_ok=True)
    for name, words in PROGRAMS.items():
        path = folder / name
        written = path.with_name(f"{name}-{os.getpid()}")  # others may be running the program
        written.write_text(f'#!/bin/sh\nexec {shlex.join([*command, *words])} "$@"\n')
        written.chmod(0o755)
        written.replace(path)
    return str(folder)


def executable(*modules: str) -> str:
    """Return the path of a Python that holds these modules."""
    return str(Path(commands(*modules), "python"))
