"""The pytest plugin: limits on waiting as markers, a trace as a fixture, and whole suites.

@pytest.mark.max_syncs(2)               # in the whole test
@pytest.mark.max_syncs(1, per="step")   # in each step; the first of several is warm-up
@pytest.mark.max_syncs(1, per="token", after=2)  # in each asyncguard.step("token") but two
@pytest.mark.max_syncs(2, device="sim") # on a simulated CUDA device; "sim:PROFILE" for another one
def test_train(sync_trace): ...         # the trace of the test's own body

pytest --asyncguard                     # a table of the costliest tests; stored limits hold
pytest --asyncguard-update              # store what each test waits now as its limit
pytest --asyncguard-sim                 # the whole suite on a simulated CUDA device

In the ini file: `asyncguard_max_syncs` is the limit of each test that has none of its own,
`asyncguard_limits` the file with the stored ones, `asyncguard_sim` the profile to simulate.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import astuple
from importlib import import_module
from pathlib import Path

import pytest

import asyncguard
from asyncguard import pytest_device, pytest_limits
from asyncguard.model import AsyncguardError
from asyncguard.pytest_limits import Cost, Limit
from asyncguard.render.words import duration
from asyncguard.sim.entry import DEFAULT_PROFILE, simulated

SHOWN = 10  # tests in the table
PROPERTY = "asyncguard"  # of a test's report: its cost, on its way from a worker of xdist
_AROUND = pytest.StashKey[contextlib.ExitStack]()  # a test and its fixtures
_LIMIT = pytest.StashKey[Limit]()
_COSTS = pytest.StashKey[dict[str, Cost]]()  # by phase
_RUN = pytest.StashKey["_Run"]()


class _Run:
    """What is known of a run of tests: the options, the stored limits, what the tests waited."""

    def __init__(self, config: pytest.Config) -> None:
        self.updates = bool(config.getoption("asyncguard_update"))
        self.traces = self.updates or bool(config.getoption("asyncguard"))
        self.path = config.rootpath / str(config.getini("asyncguard_limits"))
        self.default = _natural(config.getini("asyncguard_max_syncs"))
        self.stored = pytest_limits.load(self.path) if self.traces else {}
        self.costs: list[Cost] = []
        if own := config.getoption("asyncguard_own"):
            import_module("asyncguard.runtime.owned").Owned(own)  # it raises where one is not there

    def limit(self, item: pytest.Item) -> Limit | None:
        """What a test may wait: its marker's limit, else the stored one, else the ini file's."""
        marker = item.get_closest_marker("max_syncs")
        if marker is not None:
            return _marked(item, marker)
        if self.updates:
            return None
        if item.nodeid in self.stored:
            return Limit(self.stored[item.nodeid], source=f"stored in {self.path.name}")
        if self.default is not None:
            return Limit(self.default, source="asyncguard_max_syncs")
        return None


def _natural(text: object) -> int | None:
    """The limit of the ini file; None where it has none."""
    if not text:
        return None
    if not str(text).strip().isdecimal():
        raise pytest.UsageError(
            f"asyncguard_max_syncs is {text!r} in the ini file; it is a whole number from 0 up"
        )
    return int(str(text))


def _marked(item: pytest.Item, marker: pytest.Mark) -> Limit:
    """Return the limit that a marker says; fails the test where it says none."""
    try:
        return pytest_limits.of_marker(*marker.args, **marker.kwargs)
    except (TypeError, ValueError) as error:
        raise _refusal(item, str(error).replace("of_marker()", "max_syncs()")) from None


def _refusal(item: pytest.Item, said: str) -> BaseException:
    """Return the failure of a test whose marker cannot be followed."""
    path, line, _ = item.location
    message = f"{path}:{(line or 0) + 1}: max_syncs: {said}"
    return pytest.fail.Exception(message, pytrace=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings."""
    group = parser.getgroup("asyncguard", "waits for the device (asyncguard)")
    group.addoption(
        "--asyncguard", action="store_true", default=False,
        help="trace every test, show those that wait most, and hold them to the stored limits",
    )  # fmt: skip
    group.addoption(
        "--asyncguard-update", action="store_true", default=False,
        help="store how often each test waits now as its limit",
    )  # fmt: skip
    group.addoption(
        pytest_device.OPTION, metavar="PROFILE", nargs="?", const=DEFAULT_PROFILE, default=None,
        help="run the whole suite on a simulated CUDA device, without a GPU: "
        f"{DEFAULT_PROFILE} (default), gb200, b200, h100, a100, mi300x, rtx5090, rtx4090, l4, t4, "
        "or a TOML file",
    )  # fmt: skip
    group.addoption(
        "--asyncguard-own", metavar="PACKAGE", action="append", default=[],
        help="an installed package to take for your own code: waits inside are charged to its "
        "lines (may be repeated)",
    )  # fmt: skip
    parser.addini(
        pytest_device.SETTING, "the profile of the CUDA device to simulate for the whole suite",
        default="",
    )  # fmt: skip
    parser.addini(
        "asyncguard_max_syncs", "how often a test without a limit of its own may wait", default=""
    )
    parser.addini(
        "asyncguard_limits", "the file of stored limits, from the root directory",
        default="asyncguard-tests.json",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Simulate the device that the suite is to run on, before any of it is imported."""
    pytest_device.begin(early_config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say on what the suite runs."""
    return pytest_device.header(config)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read the settings."""
    pytest_device.begin(config)  # where a conftest.py has loaded this plugin
    pytest_device.require_one_process(config)
    config.addinivalue_line(
        "markers",
        "max_syncs(n, per=None, device=None, after=0, first_only=False): fail if the test waits "
        'for the device more than n times (per="step": in any step; where there are several, the '
        'first is warm-up; per="token": in any unit that asyncguard.step("token") marks, past the '
        "first `after`; first_only: each line may wait once beside that; "
        'device="sim": on a simulated CUDA device, fixtures included)',
    )
    try:
        config.stash[_RUN] = _Run(config)
    except AsyncguardError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture
def sync_trace(pytestconfig: pytest.Config) -> Generator[asyncguard.Trace, None, None]:
    """A running `asyncguard.trace()`, from this fixture's set-up to its tear-down."""
    with asyncguard.trace(own=pytestconfig.getoption("asyncguard_own")) as trace:
        yield trace


@pytest.hookimpl(wrapper=True, trylast=True)  # within pytest's own, whose teardown needs them
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Find the limit of a test; put its simulated device in place, ahead of its fixtures."""
    run = item.config.stash[_RUN]
    limit = run.limit(item)
    around = item.stash[_AROUND] = contextlib.ExitStack()
    if limit is not None:
        item.stash[_LIMIT] = limit
        _simulate(item, limit, around)
    if not run.traces:
        return (yield)
    item.stash[_COSTS] = {}
    around.enter_context(asyncguard.trace())  # hooks stay in place from phase to phase
    with _costing(item, "setup"):
        return (yield)


def _simulate(item: pytest.Item, limit: Limit, around: contextlib.ExitStack) -> None:
    """Put the device in place that the limit of a test speaks of, if any."""
    if limit.profile is not None:
        try:
            around.enter_context(simulated(limit.profile))
        except AsyncguardError as error:
            raise _refusal(item, str(error)) from None


@contextlib.contextmanager
def _costing(item: pytest.Item, phase: str) -> Generator[asyncguard.Trace, None, None]:
    """Trace a phase of a test; where all tests are traced, keep what it cost."""
    own = item.config.getoption("asyncguard_own")
    with asyncguard.trace(warmup=0, own=own) as trace:
        yield trace
    if _COSTS in item.stash:
        item.stash[_COSTS][phase] = pytest_limits.cost(item.nodeid, phase, trace.record)


@contextlib.contextmanager
def _budgeted(limit: Limit | None) -> Generator[None, None, None]:
    """Hold the budget of a limit in all threads; fail a test that has gone on in spite of it."""
    if limit is None or limit.budget is None:
        yield
        return
    limits, passed = import_module("asyncguard.runtime.limits"), False
    try:
        with limits.held_everywhere(limit.budget):
            yield
            passed = True
    except AsyncguardError as error:
        if not passed:
            raise
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Take the simulated device away, after the test's fixtures."""
    with item.stash.get(_AROUND, contextlib.ExitStack()):
        if _COSTS not in item.stash:
            return (yield)
        with _costing(item, "teardown"):
            return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Trace a test that has a limit, or each one, and fail it if it waits more often."""
    limit = item.stash.get(_LIMIT, None)
    if limit is None and _COSTS not in item.stash:
        return (yield)
    with _costing(item, "call") as trace, _budgeted(limit):
        result = yield
    if limit is None:
        return result
    if faults := trace.record.faults:
        pytest.fail(f"max_syncs cannot tell: {faults[0]}", pytrace=False)
    if message := pytest_limits.excess(trace.record, limit):
        pytest.fail(message, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give the report of a phase its cost: under xdist it is all that reaches us."""
    report = yield
    cost = item.stash.get(_COSTS, {}).get(call.when)
    if cost is not None:
        report.user_properties.append((PROPERTY, list(astuple(cost))))
    return report


class _Collector:
    """Gathers costs where the reports arrive, and tells of them at the end."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in the cost of a phase of a test."""
        properties = report.user_properties
        self._run.costs += [_cost(value) for name, value in properties if name == PROPERTY]
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the costliest tests, and store the limits if that was asked for."""
        waiting = sorted((cost for cost in self._run.costs if cost.waits), key=_weight)
        terminalreporter.section("asyncguard: tests that wait most")
        for cost in waiting[:SHOWN]:
            terminalreporter.write_line(_line(cost))
        terminalreporter.write_line(_total(self._run.costs, len(waiting[SHOWN:])))
        if self._run.updates:
            terminalreporter.write_line(self._store())

    def _store(self) -> str:
        """Store what tests that did not fail wait now; the limits of other tests stay."""
        now = {
            cost.name: cost.waits
            for cost in _bodies(self._run.costs)
            if cost.name not in self._failed
        }
        path: Path = self._run.path
        try:
            pytest_limits.save(path, {**self._run.stored, **now})
        except AsyncguardError as error:
            return f"asyncguard: {error}"
        return f"limits of {len(now):,} tests stored in {path.name}"


def _weight(cost: Cost) -> tuple[int, int, str]:
    return -(cost.stall_ns or 0), -cost.waits, cost.name


def _bodies(costs: Iterable[Cost]) -> list[Cost]:
    """The costs of tests without their fixtures."""
    return [cost for cost in costs if cost.phase == "call"]


def _line(cost: Cost) -> str:
    """How long a test waits, how often, and whether it is its fixtures that do."""
    stall = "" if cost.stall_ns is None else f"{duration(cost.stall_ns):>9}"
    basis = " modelled" if cost.is_modelled and stall else ""
    phase = "" if cost.phase == "call" else f" ({cost.phase})"
    return f"{stall}{basis}{cost.waits:>9,} x  {cost.name}{phase}"


def _total(costs: Sequence[Cost], hidden: int) -> str:
    """The sum over all tests; `hidden`: how many that wait the table does not show."""
    waits = sum(cost.waits for cost in costs)
    bodies = _bodies(costs)
    others = waits - sum(cost.waits for cost in bodies)
    fixtures = f", {others:,} of them in fixtures" if others else ""
    more = f"; {hidden} more tests wait" if hidden else ""
    return f"{waits:,} waits in {len(bodies):,} tests{fixtures}{more}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gather costs, but not in a worker of xdist: its reports go on to who started it."""
    run = session.config.stash[_RUN]
    if run.traces and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Collector(run), "asyncguard-collector")


def _cost(value: object) -> Cost:
    """A cost as it arrives in a report."""
    assert isinstance(value, list)
    return Cost(*value)
