"""What is kept beside the bytecode: it says what would be made anew, or nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from asyncguard import prepared

TEXT = "schema = 1\nword = 'loss'\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep things in a folder of the test."""
    monkeypatch.setattr(prepared, "_beside", lambda name: tmp_path / "__pycache__" / name)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "__pycache__"


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of rules in the folder of those that ship."""
    monkeypatch.setattr(prepared, "rules_directory", lambda: tmp_path)
    path = tmp_path / "toy.toml"
    path.write_text(TEXT)
    return path


def test_a_rules_file_is_parsed_once(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepared.toml(rules)
    monkeypatch.setattr("tomli.loads", None)  # calling it fails
    assert prepared.toml(rules) == first == {"schema": 1, "word": "loss"}


def test_a_rules_file_that_has_changed_is_parsed_again(rules: Path) -> None:
    prepared.toml(rules)
    rules.write_text(TEXT.replace("loss", "step"))
    os.utime(rules, ns=(1, 1))
    assert prepared.toml(rules)["word"] == "step"


@pytest.mark.parametrize("damage", [b"", b"\xe3", b"()", b"\xff" * 9], ids=repr)
def test_what_is_damaged_is_made_anew(rules: Path, here: Path, damage: bytes) -> None:
    prepared.toml(rules)
    (here / "toy.toml").write_bytes(damage)
    assert prepared.toml(rules)["word"] == "loss"
    assert (here / "toy.toml").read_bytes() != damage


def test_nothing_is_written_where_python_writes_no_bytecode(
    rules: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert prepared.toml(rules)["word"] == "loss"
    assert not here.exists()


def test_a_folder_that_cannot_be_written_to_is_left_alone(rules: Path, here: Path) -> None:
    here.write_text("no folder")
    assert prepared.toml(rules)["word"] == "loss"


def test_a_date_is_parsed_each_time(rules: Path, here: Path) -> None:
    rules.write_text("day = 2024-02-29\n")
    assert prepared.toml(rules) == prepared.toml(rules)
    assert not (here / "toy.toml").exists()


def test_other_files_are_not_kept(tmp_path: Path, here: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(TEXT)
    assert prepared.toml(path)["word"] == "loss"
    assert not here.exists()
