"""The pytest plugin: a limit on sync points as a marker, and a trace as a fixture.

@pytest.mark.max_syncs(2)               # in the whole test
@pytest.mark.max_syncs(1, per="step")   # in each step; the first of several is warm-up
@pytest.mark.max_syncs(2, device="sim") # on a simulated CUDA device; "sim:PROFILE" for another one
def test_train(sync_trace): ...         # the trace of the test's own body
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import pytest

import asyncguard
from asyncguard.model import TraceRecord
from asyncguard.sim.entry import DEFAULT_PROFILE

_SIMULATED = pytest.StashKey[contextlib.ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "max_syncs(n, per=None, device=None): fail if the test waits for the device more than n "
        'times (per="step": in any step; where there are several, the first is warm-up; '
        'device="sim": on a simulated CUDA device, fixtures included)',
    )


@pytest.fixture
def sync_trace() -> Generator[asyncguard.Trace, None, None]:
    """A running `asyncguard.trace()`, from this fixture's set-up to its tear-down."""
    with asyncguard.trace() as trace:
        yield trace


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Put the simulated device of a marked test in place, ahead of its fixtures."""
    simulated = item.stash[_SIMULATED] = contextlib.ExitStack()
    marker = item.get_closest_marker("max_syncs")
    if marker is not None:
        profile = _Limit(*marker.args, **marker.kwargs).profile
        if profile is not None:
            simulated.enter_context(asyncguard.simulate_cuda(profile))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Take the simulated device away, after the test's fixtures."""
    try:
        return (yield)
    finally:
        item.stash[_SIMULATED].close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Trace a marked test and fail it if it waits more often than the marker allows."""
    marker = item.get_closest_marker("max_syncs")
    if marker is None:
        return (yield)
    limit = _Limit(*marker.args, **marker.kwargs)
    with asyncguard.trace(warmup=0) as trace:
        result = yield
    message = _excess(trace.record, limit.n, limit.per)
    if message:
        pytest.fail(message, pytrace=False)
    return result


class _Limit:
    """What a marker says. Raises UsageError where it says something else."""

    def __init__(self, n: int, per: str | None = None, device: str | None = None) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise pytest.UsageError(f"max_syncs: {n!r}; it is a whole number from 0 up")
        if per not in (None, "step"):
            raise pytest.UsageError(f'max_syncs: per={per!r}; it is None or "step"')
        kind, _, profile = (device or "").partition(":")
        if device is not None and kind != "sim":
            raise pytest.UsageError(
                f'max_syncs: device={device!r}; it is None, "sim" or "sim:PROFILE"'
            )
        self.n, self.per = n, per
        self.profile = None if device is None else profile or DEFAULT_PROFILE


def _excess(record: TraceRecord, limit: int, per: str | None) -> str:
    """Say what was too much, naming each site; empty if nothing was."""
    counted = [site for site in record.sites if site.allowed is None]
    if per is None:
        most = sum(site.count for site in counted)
        unit = ""
    elif not record.step_count:
        return (
            'max_syncs(per="step"): no step was marked; use a torch optimizer, a gluon Trainer or '
            "asyncguard.step() in the test"
        )
    else:
        pairs = zip(record.step_syncs, record.step_allowed, strict=True)
        steps = [waits - allowed for waits, allowed in pairs]
        kept_all = len(steps) == record.step_count  # of many, the newest are
        most = max(steps[1:] if kept_all and len(steps) > 1 else steps)
        unit = " in one step"
    if most <= limit:
        return ""
    places = (f"  {s.path}:{s.line} {s.api} x{s.count}  {s.source}" for s in counted)
    return "\n".join([f"{most} sync points{unit}, at most {limit} allowed", *places])
