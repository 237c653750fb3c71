"""A bound that the analysis reaches is told, with its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.lint.check import check_paths
from asyncguard.lint.domain.definitions import FunctionInfo, Summary
from asyncguard.lint.domain.values import Value
from asyncguard.lint.modules import project, summaries
from asyncguard.lint.modules.analysis import FileAnalysis
from asyncguard.lint.run.settings import Settings

LOOP = "import torch\ndef train(model, loader):\n    for x in loader:\n"
RECURSIVE = """\
import torch
def even(x, n):
    return odd(x * 2, n - 1) if n else x
def odd(x, n):
    return even(x.mean(), n - 1) if n else x
"""


def bounds(folder: Path) -> tuple[str, ...]:
    return check_paths([folder], Settings(cache=False, jobs=1)).bounds


def test_code_within_all_bounds_tells_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{LOOP}        print(model(x))\n")
    assert bounds(tmp_path) == ()


def test_deep_nesting_is_told(tmp_path: Path) -> None:
    deep = "(" * 80 + "x" + " + 1)" * 80
    (tmp_path / "a.py").write_text(f"{LOOP}        y = {deep}\n")
    (bound,) = bounds(tmp_path)
    assert bound == f"{tmp_path / 'a.py'}:4: code that nests deeper is not followed (bound: 60)"


def test_a_circle_that_does_not_settle_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text(RECURSIVE)
    assert bounds(tmp_path) == ()
    monkeypatch.setattr(summaries, "ROUNDS", 1)
    (bound,) = bounds(tmp_path)
    assert "a.py:2: `even` and what it calls in a circle do not settle (bound: 1)" in bound


def test_a_circle_takes_as_many_rounds_as_it_has_calls(tmp_path: Path) -> None:
    ring = "".join(
        f"def f{n}(x, m):\n    return f{(n + 1) % 14}(x, m - 1) if m else x\n" for n in range(14)
    )
    ring = ring.replace("return f0(x, m - 1) if m else x", "y = f0(x, m - 1)\n    return x.mean()")
    (tmp_path / "a.py").write_text(f"{LOOP}        print(f0(model(x), 20))\n{ring}")
    found = check_paths([tmp_path], Settings(cache=False, jobs=1))
    assert found.bounds == ()
    assert [(f.code, f.line) for f in found.findings] == [("ASG101", 4)]


@pytest.mark.parametrize(
    "nested",
    [
        "[nest(y) for y in x] if isinstance(x, list) else x",
        "{'a': nest(x[0])} if x else 1",
        "(nest(x[0]), 1) if x else x",
    ],
)
def test_a_result_that_nests_deeper_in_each_round_settles(tmp_path: Path, nested: str) -> None:
    (tmp_path / "a.py").write_text(f"import torch\ndef nest(x):\n    return {nested}\n")
    assert bounds(tmp_path) == ()


def test_summaries_that_wait_for_each_other_too_deep_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(9))
    (tmp_path / "a.py").write_text(f"import torch\n{chain}def f9(x):\n    return x\n")
    assert bounds(tmp_path) == ()
    monkeypatch.setattr(summaries, "NESTED", 5)
    assert any("wait for more summaries (bound: 5)" in bound for bound in bounds(tmp_path))


def test_a_module_that_is_too_large_to_follow_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("import torch\nfrom big import f\ndef g(x):\n    f(x)\n")
    (tmp_path / "big.py").write_text(f"def f(x):\n    x.item()\n{'# more' * 50}\n")
    monkeypatch.setattr(project, "MAX_SIZE", 200)
    (bound,) = bounds(tmp_path)
    assert bound.startswith(f"{tmp_path / 'big.py'}: what others import of it is not followed")


@pytest.mark.parametrize("option", ["--verbose", "-v", ""])
def test_verbose_tells_it_also_from_the_cache(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(f"{LOOP}        y = {'(' * 80}x{' + 1)' * 80}\n")
    for _ in range(2):
        main(["check", *filter(None, [option]), "."])
        told = "a.py:4: code that nests deeper is not followed (bound: 60)"
        assert (told in capsys.readouterr().err) == bool(option)


def test_an_elif_is_no_deeper_than_its_if(tmp_path: Path) -> None:
    chain = "".join(f"        elif kind == {n}: pass\n" for n in range(200))
    last = "        else: print(model(x))\n"
    (tmp_path / "a.py").write_text(f"{LOOP}        if kind == 'a': pass\n{chain}{last}")
    found = check_paths([tmp_path], Settings(cache=False, jobs=1))
    assert found.bounds == ()
    assert [finding.line for finding in found.findings] == [205]


def test_a_circle_that_grows_without_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text(f"{LOOP}        print(model(x))\n{RECURSIVE}")
    monkeypatch.setattr(summaries, "GROWTHS", 3)
    run = FileAnalysis.run

    def asks_for_one_more(self: FileAnalysis, info: FunctionInfo) -> Summary:
        """Run a function as one that defines another in each run, and calls it."""
        if info.name == "even":
            self.summary_for(replace(info, name="inner", summary=None))
        return run(self, info)

    monkeypatch.setattr(FileAnalysis, "run", asks_for_one_more)
    found = check_paths([tmp_path], Settings(cache=False, jobs=1))
    (bound,) = found.bounds
    assert "a.py:6: more and more depends on `even`, which depends on it (bound: 3)" in bound
    assert [f.line for f in found.findings] == [4]


def test_of_a_circle_only_what_sees_something_new_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text(RECURSIVE)
    runs: list[str] = []
    run = FileAnalysis.run

    def counted(self: FileAnalysis, info: FunctionInfo, *given: dict[str, Value]) -> Summary:
        runs.append(info.name)
        return run(self, info, *given)

    monkeypatch.setattr(FileAnalysis, "run", counted)
    bounds(tmp_path)
    assert (runs.count("even"), runs.count("odd")) == (5, 4)
