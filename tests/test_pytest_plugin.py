"""The pytest plugin, run by pytest itself."""

from __future__ import annotations

import pytest

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


def run(pytester: pytest.Pytester, test: str) -> pytest.RunResult:
    pytester.makepyfile(LOOP + test)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider")


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
        ["*5 sync points, at most 4 allowed*", "*test_a_test_over*.py:11 torch.Tensor.item x5*"]
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


def test_a_wrong_marker_is_a_usage_error(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    @pytest.mark.max_syncs(1, per="epoch")
    def test_it():
        pass
    """,
    )
    assert done.ret != 0
    done.stdout.fnmatch_lines(["*max_syncs: per='epoch'*"])


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
