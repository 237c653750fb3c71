"""Findings say why they are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding, FindingReason

PROGRAM = {
    "train.py": """\
import torch
from helpers import log
def step(model, x, optimizer):
    loss = model(x)
    loss.backward()
    optimizer.step()
    log(loss)
def run(model, x, optimizer):
    step(model, x, optimizer)
def train(model, loader, optimizer):
    for batch in loader:
        run(model, batch, optimizer)
""",
    "helpers.py": """\
import torch
def log(x):
    mean = torch.zeros(1, device="cuda").mean()
    print(float(mean))
""",
}

BY_NAME = """\
import torch
def train(trainer, model, loader, optimizer):
    for x in loader:
        model(x).backward()
        optimizer.step()
        trainer.strategy.announce_end()
"""
STRATEGY = """\
import torch
class Strategy:
    def announce_end(self):
        return torch.zeros(1, device='cuda').mean().item()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, PROGRAM)
    return tmp_path


def written(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def found(*select: str) -> list[Finding]:
    settings = Settings(cache=False, jobs=1, select=select)
    return list(check_paths([Path()], settings).findings)


def about(finding: Finding, what: str) -> list[FindingReason]:
    return [why for why in finding.reasons if why.about == what]


def test_the_chain_of_calls_leads_to_what_is_repeated(folder: Path) -> None:
    (finding,) = (f for f in found() if f.path == "helpers.py")
    places = [(why.text, why.path, why.line) for why in about(finding, "place")]
    assert places == [
        ("`log` is called by `step`", "train.py", 7),
        ("`step` runs a training step", "train.py", 0),
    ]


def test_a_loop_says_what_makes_it_one_over_steps(folder: Path) -> None:
    written(folder, {"helpers.py": PROGRAM["helpers.py"] + "for _ in range(9):\n    log(1)\n"})
    written(folder, {"train.py": "import torch\ndef train(model, loader):\n"
                     "    for x in loader:\n        model(x).sum().item()\n"})  # fmt: skip
    (finding,) = (f for f in found() if f.path == "train.py")
    (place,) = about(finding, "place")
    assert (place.path, place.line, place.kind) == ("train.py", 3, "loader")
    assert "goes over batches" in place.text
    assert place.family == "torch.names.loader"


def test_a_name_that_took_part_is_named(folder: Path) -> None:
    (finding,) = (f for f in found("ALL") if f.path == "helpers.py")
    (value,) = about(finding, "value")
    assert value.kind == "catalogue"
    written(folder, {"helpers.py": "import torch\ndef log(loss):\n    print(loss.item())\n"})
    values = [why for f in found("ALL") if f.path == "helpers.py" for why in about(f, "value")]
    assert {(why.kind, why.family) for why in values} == {("hot_name", "torch.names.model")}


def test_reasons_do_not_depend_on_the_order_of_files(folder: Path) -> None:
    other = Settings(cache=False, jobs=1)
    forward = check_paths([Path("train.py"), Path("helpers.py")], other).findings
    backward = check_paths([Path("helpers.py"), Path("train.py")], other).findings
    assert forward == backward


def test_json_and_text_show_reasons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--no-cache", "--output-format", "json", "."])
    (finding,) = (f for f in json.loads(capsys.readouterr().out) if f["path"] == "helpers.py")
    assert {why["about"] for why in finding["reasons"]} == {"value", "place"}
    main(["check", "--no-cache", "--show-reasons", "."])
    assert "hot: `log` is called by `step` (train.py:7)" in capsys.readouterr().out


def test_reasons_need_a_format_that_has_a_place_for_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--show-reasons", "--output-format", "github", "."]) == 2
    assert "use text, json or jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("helpers.py:4", "hot: `log` is called by `step`"),
        ("helpers.py:1", "nothing on this line is known to wait"),
        ("plain.py:1", "imports no framework"),
        ("silent.py:5", "a comment silences it"),
        ("cold.py:4", "hidden: it runs in no loop over steps"),
    ],
)
def test_a_line_is_explained(
    folder: Path, place: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = "import torch\ndef f(model, loader):\n    for x in loader:\n        y = model(x)\n"
    cold = 'import torch\ndef show():\n    x = torch.ones(1, device="cuda")\n    print(x.item())\n'
    silent = f"{loop}        y.sum().item()  # asyncguard: ignore\n"
    written(folder, {"plain.py": "x = 1\n", "silent.py": silent, "cold.py": cold})
    assert main(["explain", place]) == 0
    assert says in capsys.readouterr().out


def test_a_place_that_is_not_there_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "helpers.py:99"]) == 2
    assert "helpers.py:99: there is no such line; the file has 4" in capsys.readouterr().err
    assert main(["explain", "gone.py:3"]) == 2
    assert "gone.py: no such file" in capsys.readouterr().err


def test_a_line_is_explained_in_its_own_project(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, {"a/pyproject.toml": "", "a/helpers.py": STRATEGY, "b/train.py": BY_NAME})
    assert main(["explain", "a/helpers.py:4"]) == 0
    assert "hidden: it runs in no loop over steps" in capsys.readouterr().out


def test_a_call_by_name_is_told_with_its_place(folder: Path) -> None:
    written(folder, {"train.py": BY_NAME, "helpers.py": STRATEGY})
    (finding,) = found()
    (why, _) = about(finding, "place")
    assert (why.path, why.line) == ("train.py", 6)
    assert why.text == "`announce_end` is called by `train`"
