"""The one place where asyncguard helps a framework to run: mxnet's wheel and NumPy's names.

mxnet 1.9.1, the newest release, was built for NumPy < 1.24 and reads one name that NumPy has
removed since: `numpy.bool`, on import (`mxnet/numpy/utils.py`) and again whenever an array is
made or indexed (`mxnet/numpy/multiarray.py`, `mxnet/ndarray/numpy/_op.py`), so that it has to
stay. It was an alias of Python's `bool`, and that is what is put back. Nothing happens on
`import asyncguard`: scripts call this, or run under a trace, whose import watcher calls it when
mxnet is imported.

    from asyncguard.compat import mxnet as mx     # or: asyncguard.compat.restore_numpy_names()
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

_NUMPY_NAMES = {"bool": bool}  # name -> what NumPy < 1.24 had there


def restore_numpy_names() -> None:
    """Give NumPy 1.24 to 1.26 back the names that mxnet 1.9.1 reads, where they are missing."""
    numpy = importlib.import_module("numpy")
    for name, value in _NUMPY_NAMES.items():
        if name not in vars(numpy):
            setattr(numpy, name, value)


def import_mxnet() -> ModuleType:
    """Import mxnet with the NumPy that is installed, and return it."""
    restore_numpy_names()
    return importlib.import_module("mxnet")


def before_import(module: str) -> None:
    """What has to be done before `module` is imported; called by the runtime's import watcher."""
    if module == "mxnet":
        restore_numpy_names()


def __getattr__(name: str) -> Any:
    if name == "mxnet":
        return import_mxnet()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
