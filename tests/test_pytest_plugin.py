"""The pytest plugin, run by pytest itself."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from asyncguard.pytest_limits import of_marker
from tests import warm
from tests.frameworks import require

require("torch")
pytest_plugins = ["pytester"]

LOOP = """
    import pytest, torch, asyncguard

    def train(reads, steps=5):
        w = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(steps):
            loss = (w * w).sum()
            loss.backward()
            optimizer.step()
            for _ in range(reads):
                loss.item()
"""


def run(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    """Run a test in a process of its own, where nothing of asyncguard is loaded."""
    pytester.makepyfile(LOOP + test)
    python = warm.python("torch")
    return pytester.run(*python, "-m", "pytest", "-p", "no:cacheprovider", *options)


def test_a_test_within_its_limit_passes(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(5)
    def test_it():
        train(1)
    """,
    )
    done.assert_outcomes(passed=1)


def test_a_test_over_its_limit_fails_naming_the_site(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(4)
    def test_it():
        train(1)
    """,
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*5 waits, limit 4*", "*test_a_test_over*.py:11 torch.Tensor.item x5*"]
    )


@pytest.mark.parametrize(("limit", "outcome"), [(2, "passed"), (1, "failed")])
def test_the_limit_can_be_per_step(pytester: pytest.Pytester, limit: int, outcome: str) -> None:
    done = run(
        pytester,
        f"""
    @pytest.mark.max_syncs({limit}, per="step")
    def test_it():
        train(2)
    """,
    )
    done.assert_outcomes(**{outcome: 1})


@pytest.mark.parametrize(("limit", "outcome"), [(2, "passed"), (1, "failed")])
def test_the_only_step_counts(pytester: pytest.Pytester, limit: int, outcome: str) -> None:
    done = run(
        pytester,
        f"""
    @pytest.mark.max_syncs({limit}, per="step")
    def test_it():
        for _ in range(2):
            torch.ones(1).item()
        asyncguard.step()
    """,
    )
    done.assert_outcomes(**{outcome: 1})


def test_per_step_without_steps_says_what_is_missing(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(1, per="step")
    def test_it():
        torch.ones(1).item()
    """,
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*no step was marked*asyncguard.step()*"])


def test_allowed_syncs_do_not_count(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(0)
    def test_it():
        with asyncguard.allow_syncs("the check of this test"):
            assert torch.ones(1).item() == 1
    """,
    )
    done.assert_outcomes(passed=1)


def test_a_failing_test_keeps_its_own_error(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(0)
    def test_it():
        torch.ones(1).item()
        raise ValueError("its own")
    """,
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*ValueError: its own*"])


def test_the_fixture_is_a_running_trace(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    def test_it(sync_trace):
        train(1)
        assert sync_trace.total_syncs == 5
        assert sync_trace.step_count == 5
    """,
    )
    done.assert_outcomes(passed=1)


@pytest.mark.parametrize(("reads", "outcome"), [(0, "passed"), (1, "failed")])
def test_allowed_syncs_do_not_count_in_a_step_either(
    pytester: pytest.Pytester, reads: int, outcome: str
) -> None:
    done = run(
        pytester,
        f"""
    @pytest.mark.max_syncs(0, per="step")
    def test_it():
        for _ in range(3):
            with asyncguard.allow_syncs("the check of this test"):
                torch.ones(1).item()
            for _ in range({reads}):
                torch.ones(1).item()
            asyncguard.step()
    """,
    )
    done.assert_outcomes(**{outcome: 1})


WAITS = """
    import asyncguard, pytest
    from asyncguard.engine import np

    def wait(times):
        for _ in range(times):
            np.ones(1).wait_to_read()
"""


def plain(pytester: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(WAITS + test)
    python = warm.python("torch")
    return pytester.run(*python, "-m", "pytest", "-p", "no:cacheprovider", *options)


THREE = """
    def test_much(): wait(7)
    def test_none(): pass
    def test_little(): wait(2)
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_whole_run_shows_its_costliest_tests(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = plain(pytester, THREE, "--asyncguard", *workers)
    done.assert_outcomes(passed=3)
    shown = done.stdout.str()
    assert "tests that wait most" in shown
    assert "9 waits in 3 tests" in shown
    lines = [line.split() for line in shown.splitlines() if "::test_" in line and " x " in line]
    assert {(line[-3], line[-1].rpartition("::")[2]) for line in lines} == {
        ("7", "test_much"),
        ("2", "test_little"),
    }


OFF = """
    from asyncguard.runtime.hub import hub

    def test_it():
        wait(3)
        assert hub.generation == 0
"""


def test_without_the_option_nothing_is_traced(pytester: pytest.Pytester) -> None:
    done = plain(pytester, OFF)
    done.assert_outcomes(passed=1)
    assert "wait most" not in done.stdout.str()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_stored_limits_hold_until_they_are_updated(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = plain(pytester, THREE, "--asyncguard-update", *workers)
    done.assert_outcomes(passed=3)
    assert "limits of 3 tests stored in asyncguard-tests.json" in done.stdout.str()
    assert plain(pytester, THREE, "--asyncguard", *workers).ret == 0
    more = plain(pytester, THREE.replace("wait(2)", "wait(3)"), "--asyncguard", *workers)
    more.assert_outcomes(passed=2, failed=1)
    more.stdout.fnmatch_lines(["*3 waits, limit 2 (stored in asyncguard-tests.json)*"])
    done = plain(pytester, THREE.replace("wait(2)", "wait(3)"), "--asyncguard-update", *workers)
    done.assert_outcomes(passed=3)
    assert (
        '"test_stored_limits_hold_until_they_are_updated.py::test_little": 3'
        in (pytester.path / "asyncguard-tests.json").read_text()
    )


def test_a_failing_test_stores_no_limit_and_others_keep_theirs(pytester: pytest.Pytester) -> None:
    plain(pytester, THREE, "--asyncguard-update")
    plain(pytester, "    def test_much(): wait(1); assert False\n", "--asyncguard-update")
    text = (pytester.path / "asyncguard-tests.json").read_text()
    assert '::test_much": 7' in text
    assert '::test_little": 2' in text


def test_the_ini_file_limits_tests_without_a_marker(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncguard_max_syncs = 2\n")
    done = plain(
        pytester,
        THREE
        + """
    @pytest.mark.max_syncs(9)
    def test_marked(): wait(9)
    """,
    )
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*7 waits, limit 2 (asyncguard_max_syncs)*"])


@pytest.mark.parametrize(
    ("ini", "said"),
    [
        ("asyncguard_max_syncs = many", "asyncguard_max_syncs is 'many' in the ini file"),
        ("asyncguard_limits = broken.json", "broken.json: not the limits of tests"),
    ],
)
def test_mistakes_in_the_settings_are_one_line(
    pytester: pytest.Pytester, ini: str, said: str
) -> None:
    pytester.makeini(f"[pytest]\n{ini}\n")
    (pytester.path / "broken.json").write_text('{"tests": 3}')
    done = plain(pytester, THREE, "--asyncguard")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    text = done.stdout.str() + done.stderr.str()
    assert said in text
    assert "Traceback" not in text
    assert (pytester.path / "broken.json").read_text() == '{"tests": 3}'


def test_a_mistaken_marker_fails_its_own_test_with_one_line(pytester: pytest.Pytester) -> None:
    done = plain(
        pytester,
        """
    @pytest.mark.max_syncs(-1)
    def test_one(): pass

    @pytest.mark.max_syncs(1, per="epoch")
    def test_two(): pass

    @pytest.mark.max_syncs(1, nonsense=3)
    def test_three(): pass

    @pytest.mark.max_syncs(1, device="sim:none")
    def test_four(): pass

    @pytest.mark.max_syncs(1)
    def test_five(): pass
        """,
    )
    done.assert_outcomes(passed=1, errors=4)
    lines = done.stdout.str().splitlines()
    said = [
        line for line in lines if line.startswith("test_a_mistaken") and ": max_syncs: " in line
    ]
    for line, reason in zip(
        said,
        [
            "n is a whole number from 0 up, not -1",
            "per is None or \"step\", not 'epoch'",
            "unexpected keyword argument 'nonsense'",
            "unknown profile 'none'",
        ],
        strict=True,
    ):
        assert reason in line
    assert "INTERNALERROR" not in done.stdout.str()


def test_a_marker_cannot_tell_where_hooks_failed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from asyncguard.runtime.adapters import torch as adapter

        def install(*_):
            raise AttributeError("gone")

        adapter.Adapter.install = install
        """
    )
    done = plain(
        pytester,
        """
    import torch

    @pytest.mark.max_syncs(1)
    def test_it():
        torch.ones(1).item()
        """,
    )
    done.assert_outcomes(failed=1)
    assert "max_syncs cannot tell: torch cannot be hooked" in done.stdout.str()


def test_a_conftest_may_skip_before_the_plugin_sees_a_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(item):
            if "skipped" in item.name:
                pytest.skip("not here")
        """
    )
    done = plain(
        pytester,
        """
    @pytest.mark.max_syncs(1, device="sim")
    def test_skipped(): pass

    def test_skipped_too(): pass

    def test_run(): pass
        """,
    )
    done.assert_outcomes(passed=1, skipped=2)


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


def test_too_many_waits_name_the_step_and_the_advice(pytester: pytest.Pytester) -> None:
    done = plain(
        pytester,
        """
    @pytest.mark.max_syncs(1, per="step")
    def test_it():
        for at in range(4):
            wait(2 if at == 2 else 1)
            asyncguard.step()
    """,
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*2 waits in step 2, limit 1*", "*help: *"])


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


def suite(pytester: pytest.Pytester, *options: str, test: str = SUITE) -> pytest.RunResult:
    """Run a suite with fixtures of every scope, most of it for CUDA alone."""
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_suite=test)
    python = warm.python("torch")
    return pytester.run(*python, "-m", "pytest", "-p", "no:cacheprovider", *options)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_whole_suite_runs_on_a_simulated_device(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    done = suite(pytester, "--asyncguard", "--asyncguard-sim=a100", *workers)
    done.assert_outcomes(passed=6, errors=1)
    shown = done.stdout.str()
    assert "asyncguard: simulated CUDA device (profile a100)" in shown
    refused = "max_syncs: NVIDIA A100-SXM4-80GB (profile a100) is being simulated already"
    assert refused in shown
    assert "name the same profile, or none" in shown
    first = [line for line in shown.splitlines() if "::TestKept::test_first" in line]
    assert all(" modelled " in line for line in first)
    assert [line.split("test_first")[1] for line in first] == ["", " (teardown)"]
    if not workers:  # each worker has a model and a table of its own
        assert "11 waits in 6 tests, 9 of them in fixtures" in shown


def test_the_ini_file_may_say_what_a_suite_runs_on(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncguard_sim = h100\n")
    name = """
    import torch
    assert "H100" in torch.cuda.get_device_name()

    def test_it():
        assert torch.cuda.is_available()
"""
    suite(pytester, test=name).assert_outcomes(passed=1)
    done = suite(pytester, "--asyncguard-sim=h200", test=name)
    assert "H200" in done.stdout.str()  # the command line comes first
    done = suite(pytester, "-o", "asyncguard_sim=", "--asyncguard", "-k", "not other")
    done.assert_outcomes(skipped=5, deselected=1)
    assert "simulated" not in done.stdout.str()
    assert "modelled" not in done.stdout.str()


def test_what_cannot_be_simulated_is_a_mistaken_call(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(without_torch="import sys; sys.modules['torch'] = None")
    pytester.makepyfile(
        with_a_gpu="""
        import torch
        torch._C._cuda_getDeviceCount = lambda: 1
        torch.cuda.is_available = lambda: True
        """
    )
    pytester.makepyfile(test_it="def test_it(): pass")
    said = {
        ("--asyncguard-sim=none",): "--asyncguard-sim=none: unknown profile 'none'; one of a100,",
        ("--asyncguard-sim", "test_it.py"): "write `--asyncguard-sim=h200 test_it.py`",
        ("--asyncguard-sim=mine.toml",): "mine.toml: cannot read the profile",
        ("-o", "asyncguard_sim=none"): "asyncguard_sim = none in the ini file: unknown profile",
        ("-p", "without_torch", "--asyncguard-sim"): "needs torch: pip install torch",
        ("-p", "with_a_gpu", "--asyncguard-sim"): "hide it (CUDA_VISIBLE_DEVICES=)",
    }
    for options, message in said.items():
        python = warm.python("torch")
        done = pytester.run(*python, "-m", "pytest", "-p", "no:cacheprovider", *options)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert message in done.stderr.str()
        assert "Traceback" not in done.stderr.str() + done.stdout.str()


def test_a_suite_under_run(pytester: pytest.Pytester) -> None:
    """Under `asyncguard run`: its device is used, and workers are refused."""
    pytester.makeconftest(SUITE_CONFTEST)
    pytester.makepyfile(test_suite=SUITE)
    command = (*warm.python("torch"), "-m", "asyncguard", "run", "-q", "-o", "trace.json")
    tests = "-m", "pytest", "-p", "no:cacheprovider"
    done = pytester.run(*command, "--sim", "cuda:a100", "--lines", *tests, "--asyncguard-sim=a100")
    done.assert_outcomes(passed=6, errors=1)
    record = json.loads((pytester.path / "trace.json").read_text())
    assert record["basis"] == "modelled"
    waits = {site["path"] for site in record["sites"]}
    assert waits == {"conftest.py", "test_suite.py"} <= set(record["extra"]["lines"])
    done = pytester.run(*command, *tests, "--asyncguard-sim")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "of a whole program, `asyncguard run --sim cuda`" in done.stderr.str()
    if find_spec("xdist"):
        done = pytester.run(*command, "--sim", "cuda", *tests, "-n", "2")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        assert "add `-n 0`; or" in done.stderr.str()


def test_an_installed_library_may_be_the_suites_own(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("site-packages")
    (folder / "owned_lib.py").write_text("def read(x):\n    return x.item()\n")
    pytester.makeini("[pytest]\npythonpath = site-packages\n")
    test = """
    import owned_lib, pytest, torch

    @pytest.mark.max_syncs(0)
    def test_it(sync_trace):
        owned_lib.read(torch.ones(1))
    """
    done = suite(pytester, "--asyncguard-own", "owned_lib", test=test)
    done.assert_outcomes(failed=1)
    assert "owned_lib.py:2 torch.Tensor.item x1" in done.stdout.str()
    done = suite(pytester, test=test)
    assert "test_suite.py:5 torch.Tensor.item x1" in done.stdout.str()
    done = suite(pytester, "--asyncguard-own=owned_none", test=test)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "there is no package 'owned_none'" in done.stderr.str()
