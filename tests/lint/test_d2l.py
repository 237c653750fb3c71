"""The four frameworks of d2l 1.0.3, a library that nobody here wrote, read by hand line by line.

REQUIRED are the lines of its training and prediction loops that must be found, because they read a
value or call what does; READABLE are further true ones, which may be found. A finding on any other
line is on plain Python or NumPy, and false.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.demo import LIBRARY, fetch_library
from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings

REQUIRED = {
    "torch": {
        214, 219, 339, 475, 476, 769, 774, 804, 1023, 1516, 3046, 3078, 3272, 3284, 3428, 3460,
    },
    "mxnet": {
        204, 209, 356, 490, 777, 782, 812, 1022, 1503, 2463, 2728, 2791, 2819, 2932,
        2958, 2980, 2991, 3172, 3293, 3320,
    },
    "jax": {945},
    "tensorflow": {
        206, 211, 437, 438, 726, 731, 761, 976, 1691, 1766, 1783, 1924, 1925, 1958, 1960,
    },
}  # fmt: skip
READABLE = {
    "torch": {
        208, 213, 214, 218, 219, 298, 311, 323, 797, 1226, 1394, 1426, 1485, 1487, 1488, 1496,
        1514, 1516, 1664, 1665, 1670, 1673, 1674, 1698, 1711, 1712, 1713, 1714, 1715, 1748, 1750,
        1769, 1770, 1772, 1779, 2244, 2512, 2513, 2678, 3042, 3044, 3045, 3072, 3179, 3195, 3272,
        3417, 3418,
    },
    "mxnet": {
        200, 204, 205, 209, 210, 353, 356, 491, 1483, 1484, 1503, 1504, 1516, 1520, 1671, 1672,
        1679, 1680, 1681, 1717, 1718, 1754, 1775, 1776, 1778, 1785, 2616, 2632, 3081,
        3097, 3172,
    },
    "jax": {224, 231, 236, 554, 561, 562, 908, 913, 1197},
    "tensorflow": {
        202, 206, 207, 211, 212, 303, 1361, 1391, 1557, 1675, 1780, 1961, 1965, 2002,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def library() -> Path:
    return fetch_library(*LIBRARY) / "d2l"


@pytest.mark.parametrize("framework", sorted(REQUIRED))
def test_the_sync_points_of_the_loops_are_found_and_nothing_else(
    library: Path, framework: str
) -> None:
    result = check_paths([library / f"{framework}.py"], Settings(cache=False))
    found = {finding.line for finding in result.findings}
    calls = {call.line for finding in result.findings for call in finding.reached_from}
    assert REQUIRED[framework] - found - calls == set()
    true = REQUIRED[framework] | READABLE[framework]
    assert found - true == set()
