from __future__ import annotations

import subprocess
import sys

import pytest

from tests.frameworks import require

numpy = require("numpy")


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.skipif(
    not numpy.__version__.startswith("1.2") or numpy.__version__ < "1.24",
    reason="NumPy 1.24 to 1.26 lack the name",
)
def test_importing_asyncguard_leaves_numpy_alone_and_the_fix_is_one_name() -> None:
    code = """
import numpy
before = set(vars(numpy))
import asyncguard, asyncguard.compat
assert set(vars(numpy)) == before
asyncguard.compat.restore_numpy_names()
print(set(vars(numpy)) - before, numpy.bool)
"""
    assert run_python(code) == "{'bool'} <class 'bool'>"


def test_a_name_that_is_there_is_left() -> None:
    code = """
import numpy
numpy.bool = mine = object()
import asyncguard.compat
asyncguard.compat.restore_numpy_names()
print(numpy.bool is mine)
"""
    assert run_python(code) == "True"


def test_mxnet_is_imported_by_one_line() -> None:
    require("mxnet")
    code = (
        "from asyncguard.compat import mxnet as mx; print(mx.np.ones(2)[mx.np.ones(2) > 0].shape)"
    )
    assert run_python(code) == "(2,)"
