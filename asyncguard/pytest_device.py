"""The simulated CUDA device on which pytest runs a whole suite.

It is there before the first conftest.py is imported, and until pytest ends; each worker of xdist
has one of its own, and so has the process that started them.
"""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from asyncguard.model import AsyncguardError
from asyncguard.sim.entry import DEFAULT_PROFILE, simulated

OPTION, SETTING = "--asyncguard-sim", "asyncguard_sim"
_HEADER = pytest.StashKey[str]()
_OTHERS = (
    "`asyncguard run` traces the process that it starts, and pytest-xdist runs the tests in others:"
    " add `-n 0`; or, without `asyncguard run`, `pytest --asyncguard --asyncguard-sim -n ...` has"
    " each of them simulate and trace its tests"
)


def begin(config: pytest.Config) -> None:
    """Simulate until pytest ends, if that was asked for; raises UsageError where it cannot be."""
    if _HEADER in config.stash:
        return
    option = getattr(config.known_args_namespace, "asyncguard_sim", None)
    profile = str(config.getini(SETTING) if option is None else option).strip()
    if not profile:
        return
    source = f"{OPTION}={profile}" if option else f"{SETTING} = {profile} in the ini file"
    try:
        with contextlib.ExitStack() as left:
            left.enter_context(simulated(profile))
            config.add_cleanup(left.pop_all().close)
    except AsyncguardError as error:
        raise pytest.UsageError(f"{source}: {error}{_meant(option)}") from error
    config.stash[_HEADER] = f"asyncguard: simulated CUDA device (profile {profile})"


def header(config: pytest.Config) -> str | None:
    """Return the line that says on what the suite runs."""
    return config.stash.get(_HEADER, None)


def require_one_process(config: pytest.Config) -> None:
    """Raise UsageError where `asyncguard run` would trace nothing of the tests."""
    launch = sys.modules.get("asyncguard.runtime.launch")  # there is no need to load it
    if getattr(launch, "running", ()) and config.getoption("dist", "no") != "no":
        raise pytest.UsageError(_OTHERS)


def _meant(option: str | None) -> str:
    """Return the remedy where the option has swallowed the path behind it."""
    if not option or option.endswith(".toml") or not os.path.exists(option.partition("::")[0]):
        return ""
    return f"; to run {option}, write `{OPTION}={DEFAULT_PROFILE} {option}`"
