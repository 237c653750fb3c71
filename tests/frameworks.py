"""Tests of real frameworks: skipped where one is missing, failed where it was asked for.

`ASYNCGUARD_REQUIRE=torch,mxnet` names the frameworks that this environment must have: `make test`
sets it, so that a framework that fails to import cannot turn into a skipped test unseen.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from types import ModuleType

import pytest

from asyncguard.compat import restore_numpy_names


def require(name: str) -> ModuleType:
    """Import a framework for a test module; skip it, with the reason, where it is not there."""
    try:
        if name == "mxnet":
            restore_numpy_names()
        return importlib.import_module(name)
    except ImportError as error:
        if name in os.environ.get("ASYNCGUARD_REQUIRE", "").split(","):
            pytest.fail(f"{name} is required here (ASYNCGUARD_REQUIRE): {error}", pytrace=False)
        pytest.skip(f"{name} is not installed: {error}", allow_module_level=True)


@contextlib.contextmanager
def default_device(device: str) -> Iterator[None]:
    """Let torch make tensors there; afterwards it is as if nobody had ever said where.

    torch 2.6 cannot say its default device once that was set to None.
    """
    torch = importlib.import_module("torch")
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)
        del torch._GLOBAL_DEVICE_CONTEXT.device_context
