"""The pytest plugin, run by pytest itself."""

from __future__ import annotations

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
