"""Configuration: where it is found, what it may hold, and how a mistake is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.run.settings import (
    Settings,
    chosen_rules,
    load_settings,
    override,
    read_settings,
)
from asyncguard.model import AsyncguardError, Confidence, Loop
from tests.records import finding

KNOWN = ("ASG101", "ASG102", "ASG201", "ASG301")
DEFAULT = ("ASG101", "ASG102", "ASG201")


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings(root=tmp_path)


@pytest.mark.parametrize(
    ("name", "header"), [("asyncguard.toml", ""), ("pyproject.toml", "[tool.asyncguard]\n")]
)
def test_both_files_are_read_from_any_folder_below(tmp_path: Path, name: str, header: str) -> None:
    (tmp_path / name).write_text(
        header + 'ignore = ["asg101"]\nmin-confidence = "low"\ncontexts = ["step", "epoch"]\n'
    )
    (tmp_path / "src" / "deep").mkdir(parents=True)
    settings = load_settings(tmp_path / "src" / "deep")
    assert settings.ignore == ("ASG101",)
    assert settings.min_confidence is Confidence.LOW
    assert settings.contexts == (Loop.STEP, Loop.EPOCH)
    assert settings.root == tmp_path


def test_a_pyproject_without_the_table_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.asyncguard]\nignore = ["ASG101"]\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").write_text("[tool.other]\n")
    assert load_settings(tmp_path / "sub").ignore == ("ASG101",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ignore = 'ASG101'", "ignore: must be a list of strings"),
        ("ignore = ['E501']", "ignore: unknown rule 'E501'; `asyncguard rules` lists them"),
        ("ignore = ['ASG999']", "ignore: unknown rule 'ASG999'; did you mean 'ASG"),
        ("ignore = ['scaler-conversion']", "did you mean 'scalar-conversion'?"),
        ("ignor = []", "unknown key 'ignor'; did you mean 'ignore'?"),
        ("zzz = []", "unknown key 'zzz'; asyncguard knows select"),
        ('cache-dir = "a\\u0000b"', "cache-dir: a path cannot hold a null character"),
        ("a = " + "[" * 100_000, "not valid TOML: nested too deeply"),
        ("jobs = 1" + "0" * 5000, "not valid TOML"),
        ("min-confidence = 'sure'", "min-confidence: must be one of high, medium, low"),
        ("contexts = ['always']", "contexts: must be one of step, epoch, none"),
        ("jobs = 0", "jobs: must be a number of processes"),
        ("jobs = 1000000", "jobs: must be a number of processes, 1 to 1024"),
        ("per-file-ignores = []", "per-file-ignores: must be a table"),
        ("ignore = [", "not valid TOML"),
    ],
)
def test_a_mistake_names_the_file_the_key_and_the_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "asyncguard.toml"
    path.write_text(text)
    with pytest.raises(AsyncguardError) as caught:
        load_settings(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {"ASG101", "ASG102", "ASG201"}),
        ({"select": ("ASG2",)}, {"ASG201"}),
        ({"select": ("ALL",)}, set(KNOWN)),
        ({"extend_select": ("ASG301",)}, set(KNOWN)),
        ({"ignore": ("ASG1",)}, {"ASG201"}),
        ({"ignore": ("ASG1",), "extend_select": ("ASG102",)}, {"ASG102", "ASG201"}),
        ({"select": ("ALL",), "ignore": ("ASG102",)}, {"ASG101", "ASG201", "ASG301"}),
    ],
)
def test_rules_are_chosen_by_code_or_prefix(
    values: dict[str, tuple[str, ...]], expected: set[str]
) -> None:
    assert chosen_rules(Settings(**values), KNOWN, DEFAULT) == expected


@pytest.mark.parametrize("selector", ["ASG999", "E501", ""])
def test_a_selector_that_names_no_rule_is_an_error(selector: str) -> None:
    with pytest.raises(AsyncguardError, match="unknown rule"):
        chosen_rules(Settings(select=(selector,)), KNOWN, DEFAULT)


@pytest.mark.parametrize(
    "text", ["tool = 3", "[tool]\nasyncguard = 3", "[tool]\nasyncguard = ['x']", "tool = [1]"]
)
def test_a_pyproject_whose_table_is_not_one_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f"# asyncguard\n{text}\n")
    if "asyncguard =" not in text:
        assert load_settings(tmp_path).source is None
        return
    with pytest.raises(AsyncguardError) as caught:
        load_settings(tmp_path)
    assert str(caught.value).startswith(f"{path}: tool.asyncguard must be a table")


def test_names_are_accepted_where_codes_are(tmp_path: Path) -> None:
    text = 'ignore = ["Scalar-Conversion"]\nper-file-ignores = { "a.py" = ["truth-test", "ALL"] }\n'
    (tmp_path / "asyncguard.toml").write_text(text)
    settings = load_settings(tmp_path)
    assert settings.ignore == ("ASG102",)
    assert settings.per_file_ignores == {"a.py": ("ASG104", "ALL")}


def test_a_named_file_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "ci.toml").write_text("guarded = true\n")
    settings = read_settings(tmp_path / "ci.toml", tmp_path / "root")
    assert (settings.guarded, settings.root) == (True, tmp_path / "root")
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    with pytest.raises(AsyncguardError, match=r"it has no \[tool.asyncguard\] table"):
        read_settings(tmp_path / "pyproject.toml", tmp_path)
    with pytest.raises(AsyncguardError, match=r"gone\.toml: cannot be read: No such file"):
        read_settings(tmp_path / "gone.toml", tmp_path)


def test_the_command_line_overrides_and_extends() -> None:
    base = Settings(extend_select=("ASG301",), ignore=("ASG101",))
    changed = override(base, extend_select=("ASG302",), ignore=None, jobs=3)
    assert changed.extend_select == ("ASG301", "ASG302")
    assert changed.ignore == ("ASG101",)
    assert changed.jobs == 3


def test_by_default_only_hot_unguarded_likely_findings_show() -> None:
    shows = Settings().shows
    assert shows(finding())
    assert shows(finding(confidence=Confidence.MEDIUM))
    assert not shows(finding(confidence=Confidence.LOW))
    assert not shows(finding(guarded=True))
    assert not shows(finding(loop=Loop.EPOCH))
    assert shows(finding(code="ASG000", loop=Loop.NONE))


def test_an_audit_shows_everything() -> None:
    shows = Settings(select=("ALL",)).shows
    assert shows(finding(guarded=True, loop=Loop.NONE, confidence=Confidence.LOW))
