"""Imports in a trace: nobody who imports waits for asyncguard."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import warm
from tests.frameworks import require

require("torch")
LIMIT = 120  # seconds; it takes about ten

# Each of the modules needs parts of the other's package.
IMPORTS = """
import importlib, sys, threading
import torch

went = threading.Event()


def compile(first):
    went.set() if first else went.wait()
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))


def checkpoint(first):
    went.set() if first else went.wait()
    importlib.import_module("torch.distributed.checkpoint")


compiles_first = sys.argv[1] == "compile"
threads = [
    threading.Thread(target=compile, args=[compiles_first]),
    threading.Thread(target=checkpoint, args=[not compiles_first]),
]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("both imported")
"""

# A module that is being imported and, in another thread, a trace that starts meanwhile.
TRACES = """
import sys, threading
import asyncguard

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.utils.benchmark":
            importing.set()
            traced.wait()


importing, traced = threading.Event(), threading.Event()


def importer():
    import torch.utils.benchmark


def tracer():
    importing.wait()
    with asyncguard.trace():
        torch.ones(()).item()
    traced.set()


import torch
with asyncguard.trace() as trace:
    sys.meta_path.insert(0, Finder())
    threads = [threading.Thread(target=importer), threading.Thread(target=tracer)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
print("both imported", trace.total_syncs)
"""


def run(*command: str) -> str:
    done = subprocess.run(
        [*warm.python("torch.nn"), *command],  # without what torch imports when it is asked for
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("first", ["compile", "checkpoint"])
def test_two_threads_that_import_at_once_do_not_wait_for_each_other(
    tmp_path: Path, first: str
) -> None:
    script = tmp_path / "imports.py"
    script.write_text(IMPORTS)
    trace = str(tmp_path / "t.json")
    asyncguard = ["-m", "asyncguard", "run", "--quiet", "-o", trace]
    assert run(*asyncguard, str(script), first) == "both imported\n"


def test_a_trace_that_starts_while_another_thread_imports_waits_for_nothing(
    tmp_path: Path,
) -> None:
    script = tmp_path / "traces.py"
    script.write_text(TRACES)
    assert run(str(script)) == "both imported 1\n"
