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

import atexit
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

MXNET = "asyncguard.compat:import_mxnet"  # a function to call, for it needs names of NumPy's
BASE = ("numpy", "asyncguard.cli.run")
# One server for all that ask for torch: each takes its time to start.
TORCH = (*BASE, "torch", "torch._dynamo", "torch.distributed", "pytest")
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
    """Start what processes are forked from; the first that asks imports the modules."""
    folder = tempfile.TemporaryDirectory(prefix="warm")
    path = str(Path(folder.name, "socket"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    begun_with = {name: environment[name] for name in environment if name.startswith("PYTHON")}
    begun_with.pop("PYTHON_EXEC", None)
    server = subprocess.Popen(
        [sys.executable, str(SERVER), path, *modules],
        cwd="/", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", f"{modules} cannot be imported"
    atexit.register(_end, server, folder)
    return sys.executable, "-I", "-S", str(CLIENT), path, json.dumps(begun_with)


@functools.cache
def commands(*modules: str) -> str:
    """Return a folder that holds the programs `python`, `asyncguard` and `torchrun`."""
    command = python(*modules)
    folder = Path(command[4]).with_name("bin")
    folder.mkdir(exist_ok=True)
    for name, words in PROGRAMS.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.join([*command, *words])} "$@"\n')
        path.chmod(0o755)
    return str(folder)


def executable(*modules: str) -> str:
    """Return the path of a Python that holds these modules."""
    return str(Path(commands(*modules), "python"))


def _end(server: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    """End the server, which waits for the end of its input; its processes have ended."""
    server.communicate()
    folder.cleanup()
