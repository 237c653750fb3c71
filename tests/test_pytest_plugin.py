"""The pytest plugin, run by pytest itself in processes where nothing of asyncguard is at work."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from asyncguard.pytest_limits import of_marker
from tests import warm
from tests.frameworks import require

require("torch")
pytest_plugins = ["pytester"]

# Other plugins of the environment take their time.
TESTS = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
MARKED = """
import asyncguard, pytest, torch
from asyncguard.engine import np
from asyncguard.runtime.adapters import torch as adapter

def train(reads, steps=5):
    w = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(steps):
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()
        for _ in range(reads):
            loss.item()

def one_step(reads=2):
    for _ in range(reads):
        torch.ones(1).item()
    asyncguard.step()

def wait(times):
    for _ in range(times):
        np.ones(1).wait_to_read()

@pytest.mark.max_syncs(5)
def test_within(): train(1)

@pytest.mark.max_syncs(4)
def test_over(): train(1)

@pytest.mark.max_syncs(2, per="step")
def test_within_in_each_step(): train(2)

@pytest.mark.max_syncs(1, per="step")
def test_over_in_each_step(): train(2)

@pytest.mark.max_syncs(2, per="step")
def test_within_in_the_only_step(): one_step()

@pytest.mark.max_syncs(1, per="step")
def test_over_in_the_only_step(): one_step()

@pytest.mark.max_syncs(1, per="step")
def test_over_in_a_later_step():
    for at in range(4):
        wait(2 if at == 2 else 1)
        asyncguard.step()

@pytest.mark.max_syncs(1, per="step")
def test_no_step(): torch.ones(1).item()

@pytest.mark.max_syncs(0)
def test_allowed():
    with asyncguard.allow_syncs("the check of this test"):
        assert torch.ones(1).item() == 1

@pytest.mark.max_syncs(0, per="step")
@pytest.mark.parametrize("reads", [0, 1])
def test_allowed_in_each_step(reads):
    for _ in range(3):
        with asyncguard.allow_syncs("the check of this test"):
            torch.ones(1).item()
        one_step(reads)

@pytest.mark.max_syncs(0)
def test_own_error():
    torch.ones(1).item()
    raise ValueError("its own")

def test_fixture(sync_trace):
    train(1)
    assert sync_trace.total_syncs == 5
    assert sync_trace.step_count == 5

def test_default(): wait(6)

def test_over_the_default(): wait(7)

@pytest.mark.max_syncs(9)
def test_not_the_default(): wait(9)

@pytest.mark.max_syncs(-1)
def test_negative(): pass

@pytest.mark.max_syncs(1, per=3)
def test_per_number(): pass

@pytest.mark.max_syncs(1, nonsense=3)
def test_nonsense(): pass

@pytest.mark.max_syncs(1, device="sim:none")
def test_no_profile(): pass

@pytest.mark.max_syncs(1, device="sim")
def test_skipped(): pass

@pytest.fixture
def broken(monkeypatch):
    def install(*_):
        raise AttributeError("gone")

    monkeypatch.setattr(adapter.Adapter, "install", install)

@pytest.mark.max_syncs(1)
def test_not_hooked(broken): torch.ones(1).item()
"""
MARKED_CONFTEST = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if "skipped" in item.name:
        pytest.skip("before the plugin sees it")
"""
SAID = {
    "test_over": ["5 waits, limit 4", "test_marked.py:13 torch.Tensor.item x5"],
    "test_over_in_each_step": ["2 waits in step 1, limit 1"],
    "test_over_in_the_only_step": ["2 waits in step 0, limit 1"],
    "test_over_in_a_later_step": ["2 waits in step 2, limit 1", "help: "],
    "test_no_step": ["no step was marked", "asyncguard.step()"],
    "test_allowed_in_each_step[1]": ["1 wait in step 1, limit 0"],
    "test_own_error": ["ValueError: its own"],
    "test_over_the_default": ["7 waits, limit 6 (asyncguard_max_syncs)"],
    "test_negative": [": max_syncs: n is a whole number from 0 up, not -1"],
    "test_per_number": [": max_syncs: per must be None, 'step' or the name of a unit"],
    "test_nonsense": [": max_syncs: ", "unexpected keyword argument 'nonsense'"],
    "test_no_profile": [": max_syncs: ", "unknown profile 'none'"],
    "test_skipped": ["before the plugin sees it"],
    "test_not_hooked": ["max_syncs cannot tell: torch cannot be hooked"],
}


def test_a_test_that_waits_more_often_than_it_may_fails_and_says_where(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nasyncguard_max_syncs = 6\n")
    pytester.makeconftest(MARKED_CONFTEST)
    pytester.makepyfile(test_marked=MARKED)
    done = run(pytester, "--junit-xml=said.xml")
    done.assert_outcomes(passed=8, failed=9, errors=4, skipped=1)
    said = not_passed(pytester.path / "said.xml")
    assert said.keys() == SAID.keys()
    assert not {name: said[name] for name in SAID if not all(map(said[name].count, SAID[name]))}
    for name in ("test_negative", "test_per_number", "test_nonsense", "test_no_profile"):
        assert len(said[name].splitlines()) == 1


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests in a process of its own, and so each worker of xdist."""
    return pytester.run(*warm.python("torch"), *TESTS, *options)


def not_passed(report: Path) -> dict[str, str]:
    """Return all that is said of each test that did not pass."""
    return {
        str(case.get("name")): "".join(outcome.text or "" for outcome in case)
        for case in ElementTree.parse(report).iter("testcase")
        if len(case)
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "not None"),
        ({"n": True}, "not True"),
        ({"n": "2"}, "not '2'"),
        ({"n": 1, "device": "gpu"}, "not 'gpu'"),
        ({"n": 1, "device": 3}, "not 3"),
    ],
)
def test_what_a_marker_cannot_say(values: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        of_marker(**values)


UNITS = """
import contextlib, threading
import asyncguard, pytest
from asyncguard.engine import np

def generate(*waits):
    for times in waits:
        with asyncguard.step("token"):
            for _ in range(times):
                np.ones(1).wait_to_read()

@pytest.mark.max_syncs(1, per="token", after=1)
def test_within(sync_trace):
    generate(3, 1, 1)
    assert sync_trace.units["token"]["most"] == 1

@pytest.mark.max_syncs(1, per="token")
def test_over(): generate(1, 2)

@pytest.mark.max_syncs(1, per="token")
def test_over_in_a_thread():
    thread = threading.Thread(target=generate, args=(1, 2))
    thread.start()
    thread.join()

@pytest.mark.max_syncs(1, per="token")
def test_caught():
    with contextlib.suppress(asyncguard.SyncLimitExceeded):
        generate(2)

@pytest.mark.max_syncs(1, per="request")
def test_other_name(): generate(1)

@pytest.mark.max_syncs(0, first_only=True)
def test_once(): generate(1)

@pytest.mark.max_syncs(0, first_only=True)
def test_twice(): generate(2)

@pytest.mark.max_syncs(1, after=1)
def test_after_what(): pass

@pytest.mark.max_syncs(1, per="step", after=2)
def test_steps():
    for times in (3, 2, 1):
        generate(times)
        asyncguard.step()
"""
CAUGHT = "caught in the block that it was to limit"
UNITS_SAID = {
    "test_over": ["generate", "SyncLimitExceeded", "2 waits in this token"],
    "test_over_in_a_thread": ["2 waits in this token", CAUGHT],
    "test_caught": ["2 waits in this token", CAUGHT],
    "test_other_name": ["per='request' waited outside of all units"],
    "test_twice": ["none allowed here"],
    "test_after_what": [": max_syncs: after counts steps or units"],
}


def test_markers_limit_units_in_all_threads(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_units=UNITS)
    done = run(pytester, "--junit-xml=said.xml", "-p", "no:threadexception")
    done.assert_outcomes(passed=3, failed=5, errors=1)
    said = not_passed(pytester.path / "said.xml")
    assert said.keys() == UNITS_SAID.keys()
    assert not {
        name: said[name] for name in said if not all(map(said[name].count, UNITS_SAID[name]))
    }


WAITS = """
from asyncguard.engine import np

def wait(times):
    for _ in range(times):
        np.ones(1).wait_to_read()

def test_much(): wait(7)
def test_none(): pass
def test_little(): wait(2)
"""
MORE = WAITS.replace("wait(2)", "wait(3)")


def table(done: pytest.RunResult) -> set[tuple[str, str]]:
    """Return how often each test in the table of those that wait waits."""
    shown = done.stdout.str()
    assert "tests that wait most" in shown
    lines = [line.split() for line in shown.splitlines() if "::test_" in line and " x " in line]
    return {(line[-3], line[-1].rpartition("::")[2]) for line in lines}


def test_stored_limits_hold_until_they_are_updated(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=WAITS)
    done = run(pytester, "--asyncguard-update")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(["9 waits in 3 tests", "limits of 3 tests stored in *-tests.json"])
    assert table(done) == {("7", "test_much"), ("2", "test_little")}
    pytester.makepyfile(test_it=MORE)
    done = run(pytester, "--asyncguard")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*3 waits, limit 2 (stored in asyncguard-tests.json)*"])
    assert table(done) == {("7", "test_much"), ("3", "test_little")}
    failing = MORE.replace("def test_none(): pass\n", "").replace("wait(7)", "wait(1); assert 0")
    pytester.makepyfile(test_it=failing)
    run(pytester, "--asyncguard-update").assert_outcomes(passed=1, failed=1)
    stored = json.loads((pytester.path / "asyncguard-tests.json").read_text())
    assert stored["tests"] == {
        "test_it.py::test_much": 7, "test_it.py::test_none": 0, "test_it.py::test_little": 3
    }  # fmt: skip


def test_workers_hold_and_store_limits_and_simulate(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    monkeypatch.setenv("PYTHON_EXEC", warm.executable("torch"))  # of the workers
    workers = ("-n", "2")
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_suite=SUITE)
    done = run(pytester, "--asyncguard-update", "--asyncguard-sim=a100", *workers)
    done.assert_outcomes(passed=6, errors=1)
    assert "limits of 6 tests stored" in check_of_the_suite(done)
    stored = pytester.path / "asyncguard-tests.json"
    limits = json.loads(stored.read_text())
    limits["tests"] = {"test_it.py::test_much": 7, "test_it.py::test_little": 2}
    stored.write_text(json.dumps(limits))
    (pytester.path / "conftest.py").unlink()
    pytester.makepyfile(test_it=MORE)
    done = run(pytester, "--asyncguard", *workers, "test_it.py")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*3 waits, limit 2 (stored in asyncguard-tests.json)*"])
    assert table(done) == {("7", "test_much"), ("3", "test_little")}


SUITE_CONFTEST = """
    import pytest, torch

    DEVICES = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]

    @pytest.fixture(scope="session")
    def model():
        return torch.nn.Linear(4, 2).to("cuda")

    @pytest.fixture(scope="package")
    def table():
        return torch.arange(6).cuda()

    @pytest.fixture(params=DEVICES)
    def device(request):
        return torch.device(request.param)

    @pytest.fixture(autouse=True)
    def seeded():
        torch.cuda.manual_seed_all(0)
        yield
        torch.ones(1, device=DEVICES[-1]).item()
"""
SUITE = """
    import pytest, torch

    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

    @pytest.fixture(scope="module")
    def weights():
        return torch.ones(3, device=DEVICE)

    class TestKept:
        @pytest.fixture(scope="class")
        @classmethod
        def total(cls, weights):
            return weights.sum()

        @on_cuda
        def test_first(self, total, weights):
            assert total.is_cuda and weights.device == total.device
            total.item()

        @on_cuda
        def test_second(self, total, weights, table):
            assert (total + weights).is_cuda and table.is_cuda

    @on_cuda
    def test_model(model, device, tmp_path):
        x = torch.ones(5, 4, device=device)
        model(x.to("cuda")).sum().backward()

    @on_cuda
    @pytest.mark.max_syncs(0, device="sim")
    def test_any_profile(model):
        model(torch.ones(1, 4, device="cuda"))

    @on_cuda
    @pytest.mark.max_syncs(0, device="sim:a100")
    def test_same_profile(model):
        assert "A100" in torch.cuda.get_device_name()
        model(torch.ones(1, 4, device="cuda"))

    @pytest.mark.max_syncs(9, device="sim:t4")
    def test_other_profile():
        assert "T4" in torch.cuda.get_device_name()
"""


def check_of_the_suite(done: pytest.RunResult) -> str:
    """Check what is shown of the suite on a simulated A100, and return it."""
    shown = done.stdout.str()
    assert "asyncguard: simulated CUDA device (profile a100)" in shown
    refused = "max_syncs: NVIDIA A100-SXM4-80GB (profile a100) is being simulated already"
    assert refused in shown
    assert "name the same profile, or none" in shown
    first = [line for line in shown.splitlines() if "::TestKept::test_first" in line]
    assert all(" modelled " in line for line in first)
    assert [line.split("test_first")[1] for line in first] == ["", " (teardown)"]
    return shown


def test_a_whole_suite_runs_on_the_simulated_device_of_the_ini_file(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nasyncguard_sim = a100\n")
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_suite=SUITE)
    done = run(pytester, "--asyncguard")
    done.assert_outcomes(passed=6, errors=1)
    assert "11 waits in 6 tests, 9 of them in fixtures" in check_of_the_suite(done)


def test_the_command_line_comes_before_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncguard_sim = h100\n")
    pytester.makepyfile(
        test_it="""
        import torch
        assert "H200" in torch.cuda.get_device_name()

        def test_it():
            assert torch.cuda.is_available()
        """
    )
    run(pytester, "--asyncguard-sim=h200").assert_outcomes(passed=1)


def test_without_an_option_all_is_as_without_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncguard_sim = h100\n")
    pytester.makepyfile(
        test_it="""
        import torch
        from asyncguard.runtime.hub import hub

        def test_it():
            torch.ones(1).item()
            assert hub.generation == 0
            assert not torch.cuda.is_available()
        """
    )
    done = run(pytester, "-o", "asyncguard_sim=")
    done.assert_outcomes(passed=1)
    assert "wait most" not in done.stdout.str()
    assert "simulated" not in done.stdout.str()


MISTAKES = {
    ("-o", "asyncguard_max_syncs=many"): "asyncguard_max_syncs is 'many' in the ini file",
    ("--asyncguard", "-o", "asyncguard_limits=broken.json"): "broken.json: not the limits of tests",
    ("--asyncguard-own=owned_none",): "there is no package 'owned_none'",
    ("--asyncguard-sim=none",): "--asyncguard-sim=none: unknown profile 'none'; one of a100,",
    ("--asyncguard-sim", "test_it.py"): "write `--asyncguard-sim=h200 test_it.py`",
    ("--asyncguard-sim=mine.toml",): "mine.toml: cannot read the profile",
    ("-o", "asyncguard_sim=none"): "asyncguard_sim = none in the ini file: unknown profile",
    ("-p", "with_a_gpu", "--asyncguard-sim"): "hide it (CUDA_VISIBLE_DEVICES=)",
    ("-p", "without_torch", "--asyncguard-sim"): "needs torch: pip install torch",
}
SEVERAL = """
import json, sys
import pytest

for options in json.loads(sys.argv[1]):
    print("status", int(pytest.main(["-p", "no:cacheprovider", *options])))
"""


def test_mistakes_in_the_settings_are_one_line(pytester: pytest.Pytester) -> None:
    (pytester.path / "broken.json").write_text('{"tests": 3}')
    pytester.makepyfile(
        several=SEVERAL,
        test_it="def test_it(): pass",
        without_torch="""
        import sys
        sys.modules["torch"] = None
        del sys.modules["asyncguard.sim.simulation"]
        """,
        with_a_gpu="""
        import torch
        torch._C._cuda_getDeviceCount = lambda: 1
        torch.cuda.is_available = lambda: True
        """,
    )
    done = pytester.run(*warm.python("torch"), "several.py", json.dumps([*MISTAKES]))
    assert done.outlines == [f"status {pytest.ExitCode.USAGE_ERROR:d}"] * len(MISTAKES)
    lines = [line for line in done.errlines if line]
    pairs = zip(lines, MISTAKES.values(), strict=True)
    assert not [(line, said) for line, said in pairs if said not in line]
    assert (pytester.path / "broken.json").read_text() == '{"tests": 3}'


RUN = ("-m", "asyncguard", "run", "-q", "-o", "trace.json")


def test_a_suite_under_run_has_its_device(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_suite=SUITE)
    options = ("--sim", "cuda:a100", "--lines", *TESTS, "--asyncguard-sim=a100")
    done = pytester.run(*warm.python("torch"), *RUN, *options)
    done.assert_outcomes(passed=6, errors=1)
    record = json.loads((pytester.path / "trace.json").read_text())
    assert record["basis"] == "modelled"
    waits = {site["path"] for site in record["sites"]}
    assert waits == {"conftest.py", "test_suite.py"} <= set(record["extra"]["lines"])


def test_under_run_a_suite_has_no_other_device_and_no_workers(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    pytester.makepyfile(several=SEVERAL)
    options = json.dumps([["--asyncguard-sim"], ["-n", "2"]])
    done = pytester.run(*warm.python("torch"), *RUN, "several.py", options)
    assert done.outlines == [f"status {pytest.ExitCode.USAGE_ERROR:d}"] * 2
    said = done.stderr.str()
    assert "of a whole program, `asyncguard run --sim cuda`" in said
    assert "add `-n 0`; or" in said


def test_an_installed_library_may_be_the_suites_own(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("site-packages")
    (folder / "owned_lib.py").write_text("def read(x):\n    return x.item()\n")
    pytester.makeini("[pytest]\npythonpath = site-packages\n")
    pytester.makepyfile(
        test_it="""
        import owned_lib, pytest, torch

        @pytest.mark.max_syncs(0)
        def test_it(sync_trace):
            owned_lib.read(torch.ones(1))
        """
    )
    done = run(pytester, "--asyncguard-own", "owned_lib")
    done.assert_outcomes(failed=1)
    assert "owned_lib.py:2 torch.Tensor.item x1" in done.stdout.str()
