"""A package's own tests, one case each: run by pytest on whatever device they ask for.

On the simulated device `torch.cuda.is_available()` is true, also while tests are collected; with
`default_device` tensors that are told no place are made there.
"""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

FLAGS = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--no-header", "-x")


class _Collected:
    """Gathers the tests."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take their names."""
        self.names = [item.nodeid for item in session.items]


class _Outcome:
    """What became of one test."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.skipped = ""

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Keep its error."""
        if call.excinfo is None:
            return
        if call.excinfo.errisinstance(pytest.skip.Exception):
            self.skipped = str(call.excinfo.value)
        elif self.error is None:
            self.error = call.excinfo.value


def cases(
    *,
    folder: str = "",
    installed: str = "",
    files: list[str],
    default_device: bool = False,
    flags: list[str] | None = None,
    every: int = 1,
) -> dict[str, Any]:
    """The tests of these files, below the folder, or below the one of an installed module.

    Of many, the first of `every` so many is enough.
    """
    root = Path(importlib.import_module(installed).__path__[0]) if installed else Path(folder)
    collected = _Collected()
    given = ["--rootdir", str(root), *FLAGS, *(flags or [])]
    pytest.main([*given, "--collect-only", *(str(root / name) for name in files)], [collected])
    names = collected.names[::every]
    return {name: functools.partial(run, given, root, name, default_device) for name in names}


def run(given: list[str], root: Path, name: str, default_device: bool, device: str) -> str:
    """Run one test; raises its error, or RuntimeError where it is skipped."""
    outcome = _Outcome()
    if default_device:
        torch.set_default_device(device)
    try:
        pytest.main([*given, str(root / name)], [outcome])
    finally:
        torch.set_default_device(None)
    if outcome.error is not None:
        raise outcome.error
    if outcome.skipped:
        raise RuntimeError(f"skipped: {outcome.skipped}")
    return "passed"
