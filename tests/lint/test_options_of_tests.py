"""What a check reports of files of unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import LintResult, check_paths
from asyncguard.lint.run.settings import Settings, Tests

STEP = """
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
TRAINS = f"import torch\ndef train(model, loader, optimizer):{STEP}"
TESTS = f"{TRAINS}\ndef test_train():\n    train(1, 2, 3)\n"


def checked(root: Path, name: str, text: str, tests: Tests = Tests.SKIP) -> LintResult:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return check_paths([root], Settings(root=root, cache=False, tests=tests))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/helpers.py", TRAINS),
        ("pkg/test/training.py", TRAINS),
        ("test_train.py", TESTS),
        ("pkg/train_test.py", TESTS),
        ("pkg/tests.py", TESTS),
    ],
)
def test_unit_tests_are_left_out_and_counted(tmp_path: Path, name: str, text: str) -> None:
    result = checked(tmp_path, name, text)
    assert (result.findings, result.in_tests) == ((), 1)
    result = checked(tmp_path, name, text, Tests.CHECK)
    assert (len(result.findings), result.in_tests) == (1, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_net.py", TRAINS),  # a script that evaluates
        ("latest.py", TESTS),
        ("contest/train.py", TRAINS),
    ],
)
def test_what_only_looks_like_tests_is_checked(tmp_path: Path, name: str, text: str) -> None:
    assert len(checked(tmp_path, name, text).findings) == 1


def test_folders_above_the_root_say_nothing(tmp_path: Path) -> None:
    assert len(checked(tmp_path / "tests" / "project", "train.py", TRAINS).findings) == 1


def test_an_audit_shows_unit_tests(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(TESTS)
    found = check_paths([tmp_path], Settings(root=tmp_path, cache=False, select=("ALL",)))
    assert any(f.code == "ASG102" for f in found.findings)
