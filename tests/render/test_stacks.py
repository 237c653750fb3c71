"""Call paths in every format: who asked, and where in a library it waits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import reports
from asyncguard.model import STAND_IN, CallPath, SiteStats
from asyncguard.render import Screen, formats
from asyncguard.render.stacks import Node, called_from, frame, tree
from tests.records import record, site, steady

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

SCREEN = Screen()
SCHEMA = json.loads(Path(__file__).with_name("speedscope.schema.json").read_text())
TRAINER = "/venv/lib/python3.11/site-packages/transformers/trainer.py:1914 Trainer.training_step"
INSIDE = site(
    path="train.py", line=7, function="main", source="trainer.train()",
    api="torch.Tensor.__bool__", library=(TRAINER,), callers=("train.py:9 <module>",),
)  # fmt: skip
HELPER = site(
    line=3, function="read", count=30, cpu_stall_ns=900, callers=("a.py:5 train",),
    paths=(CallPath(("a.py:5 train",), 20, 600), CallPath(("b.py:8 evaluate",), 10, 300)),
)  # fmt: skip


def show(name: str, *sites: SiteStats, **values: Any) -> str:
    report = reports.of(record(*sites, **values))
    return formats("traces")[name](report, SCREEN)


@pytest.mark.parametrize("name", ["text", "json", "markdown", "html"])
def test_every_report_shows_the_librarys_line_beside_the_users(name: str) -> None:
    text = show(name, INSIDE)
    assert "train.py:7" in text or '"line": 7' in text
    assert "transformers/trainer.py:1914" in text


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_a_report_is_the_same_wherever_its_libraries_are_installed(name: str) -> None:
    shown = {
        show(name, replace(INSIDE, library=(entry,), paths=(CallPath((), 1, 9, library=(entry,)),)))
        for entry in (TRAINER, f"/home{TRAINER}", TRAINER.replace("/venv", "/venv/of/a"))
    }
    assert len(shown) == 1


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_every_report_shows_a_helpers_waits_by_caller(name: str) -> None:
    text = show(name, HELPER)
    assert "20 x a.py:5 in train" in text
    assert "10 x b.py:8 in evaluate" in text


def test_call_paths_that_differ_within_a_library_alone_are_one_caller() -> None:
    own, deep = "/v/site-packages/torch/a.py:1 f", "/v/site-packages/torch/b.py:2 g"
    paths = (
        CallPath((), 4, 0, library=(own,)),
        CallPath((), 3, 0, library=(own, deep)),
        CallPath(("a.py:9 main",), 2, 0, library=(own,)),
    )
    assert called_from(site(paths=paths)) == ["7 x the program itself", "2 x a.py:9 in main"]
    assert called_from(site(paths=paths[:2])) == []
    assert called_from(site(paths=(paths[2], paths[2]))) == ["a.py:9 in main"]


def test_json_has_whole_stacks_by_call_path() -> None:
    (found,) = json.loads(show("json", HELPER))["sites"]
    assert found["stack"] == ["train.py:3 read", "a.py:5 train"]
    assert [(each["stack"][1], each["count"]) for each in found["paths"]] == [
        ("a.py:5 train", 20),
        ("b.py:8 evaluate", 10),
    ]


def test_the_advice_is_for_the_place_that_waits() -> None:
    text = show("text", INSIDE)
    assert "logging_nan_inf_filter=False" in text
    assert "logging_steps" in show("text", site(library=(TRAINER,)))
    own = "/venv/lib/site-packages/mylib/core.py:3 f"
    assert "mylib waits here, not this line" in show("text", site(library=(own,)))


def test_a_wait_of_the_set_up_gets_no_general_advice() -> None:
    own = "/venv/lib/site-packages/mylib/core.py:3 f"
    steps = {"step_count": 10, "steady_steps": 9, "steady_duration_ns": 10**6}
    once = site(library=(own,), steady_count=0)
    assert "not this line" not in show("text", once, **steps)
    assert "not this line" in show("text", replace(once, steady_count=9), **steps)


def test_a_suggestion_names_the_library_and_not_the_users_line_alone() -> None:
    inside = steady(2, library=(TRAINER,), api="torch.Tensor.item", line=7, path="train.py")
    report = reports.of(record(inside, step_count=10, steady_steps=10, steady_duration_ns=10**6))
    (found,) = report.suggestions
    assert found.title == "Avoid waits in transformers/trainer.py:1914, called from train.py:7"
    assert "logging_steps" in found.advice


def test_folded_stacks_are_outermost_first() -> None:
    assert show("folded", HELPER, INSIDE).splitlines() == [
        "<module> (train.py:9);main (train.py:7);"
        "Trainer.training_step (transformers/trainer.py:1914);torch.Tensor.__bool__ 1000000",
        "train (a.py:5);read (train.py:3);torch.Tensor.item 600",
        "evaluate (b.py:8);read (train.py:3);torch.Tensor.item 300",
    ]


def test_folded_names_hold_no_separator() -> None:
    (line,) = show("folded", site(path="a;b c.py", function="f\n", cpu_stall_ns=5)).splitlines()
    assert line == "f (a,b c.py:10);torch.Tensor.item 5"


@pytest.mark.parametrize("device", ["cuda:0", STAND_IN])
def test_speedscope_meets_its_schema(device: str) -> None:
    data = json.loads(show("speedscope", HELPER, site(device=device), site(line=0, path="")))
    jsonschema.validate(data, SCHEMA)
    frames = data["shared"]["frames"]
    for profile in data["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        assert all(0 <= at < len(frames) for sample in profile["samples"] for at in sample)


def test_speedscope_shows_no_times_of_a_stand_in() -> None:
    data = json.loads(show("speedscope", site(device=STAND_IN)))
    assert [profile["unit"] for profile in data["profiles"]] == ["none"]
    assert data["profiles"][0]["weights"] == [10]


def sums(node: Node) -> bool:
    below = sum(child.width for child in node.children.values())
    return (not node.children or below == node.width) and all(map(sums, node.children.values()))


names = st.sampled_from(["a.py:1 f", "b.py:2 g", "c.py:3 h"])
paths = st.builds(
    CallPath, st.lists(names, max_size=4).map(tuple), st.integers(1, 9), st.integers(0, 99)
)


@given(st.lists(st.lists(paths, min_size=1, max_size=4), max_size=4))
def test_the_tree_keeps_all_time_at_every_level(sites: list[list[CallPath]]) -> None:
    made = [
        site(
            line=at, paths=tuple(each), callers=each[0].callers,
            count=sum(p.count for p in each), cpu_stall_ns=sum(p.cpu_stall_ns for p in each),
        )
        for at, each in enumerate(sites, 1)
    ]  # fmt: skip
    root = tree(record(*made))
    assert sums(root)
    assert root.count == sum(each.count for each in made)


def test_an_entry_without_a_place_is_a_frame_all_the_same() -> None:
    assert frame("other callers") == ("other callers", "", 0)
    assert frame("a b.py:3 f.<locals>.g") == ("f.<locals>.g", "a b.py", 3)
