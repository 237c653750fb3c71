"""The pytest plugin: a limit on sync points as a marker, and a trace as a fixture.

@pytest.mark.max_syncs(2)               # in the whole test
@pytest.mark.max_syncs(1, per="step")   # in each step; the first of several is warm-up
def test_train(sync_trace): ...         # the trace of the test's own body
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

import asyncguard
from asyncguard.model import TraceRecord


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "max_syncs(n, per=None): fail if the test waits for the device more than n times "
        '(per="step": in any step; where there are several, the first is warm-up)',
    )


@pytest.fixture
def sync_trace() -> Generator[asyncguard.Trace, None, None]:
    """A running `asyncguard.trace()`, from this fixture's set-up to its tear-down."""
    with asyncguard.trace() as trace:
        yield trace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Trace a marked test and fail it if it waits more often than the marker allows."""
    marker = item.get_closest_marker("max_syncs")
    if marker is None:
        return (yield)
    limit, per = _limit(*marker.args, **marker.kwargs)
    with asyncguard.trace(warmup=0) as trace:
        result = yield
    message = _excess(trace.record, limit, per)
    if message:
        pytest.fail(message, pytrace=False)
    return result


def _limit(n: int, per: str | None = None) -> tuple[int, str | None]:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise pytest.UsageError(f"max_syncs: {n!r}; it is a whole number from 0 up")
    if per not in (None, "step"):
        raise pytest.UsageError(f'max_syncs: per={per!r}; it is None or "step"')
    return n, per


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
