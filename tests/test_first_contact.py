"""How repositories are drawn that nobody here has seen, and how judgements of them are counted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import first_contact  # noqa: E402 - it stands beside the package


def test_the_order_is_the_seeds_and_names_nothing_known() -> None:
    order = first_contact.order()
    assert order[:3] == [
        "openai/consistency_models",
        "google-research/scenic",
        "Stability-AI/generative-models",
    ]
    names = {name.rpartition("/")[2].lower().replace("-", "_") for name in order}
    assert names.isdisjoint(first_contact.known())
    assert {"evojax", "pfrl", "timm", "models"} <= first_contact.known()


def test_a_sheet_draws_findings_and_lines_that_no_linter_names(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / ".commit").write_text("abc")
    (root / "train.py").write_text(
        "import torch\ndef train(model, loader, optimizer):\n    for x in loader:\n"
        "        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n"
        "        print(loss.item())\n        limit = 3\n        if len(x) > limit:\n"
        "            x.unknown().numpy()\n"
    )
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    source = (root / "train.py").read_text() + "train(None, [], None)\n"
    notebook = {"cells": [{**cell, "source": source}], "metadata": {}, "nbformat": 4}
    (root / "in_cells.ipynb").write_text(json.dumps({**notebook, "nbformat_minor": 5}))
    rows, summary = first_contact.draw(root, "seed", 5, 60, None)
    assert {row["path"] for row in rows} == {"train.py"}
    assert (summary["findings"], summary["revision"]) == (1, "abc")
    lines = {row["line"]: row for row in rows}
    assert set(lines[7]["drawn"]) == {"finding", "line"}
    assert lines[7]["told"]
    assert {9, 10} <= lines.keys()
    assert not lines[9]["told"]


def test_judgements_are_counted_by_what_was_drawn(tmp_path: Path) -> None:
    rows = [
        {"path": "a.py", "line": 1, "drawn": {"finding": 1.0, "line": 2.0}, "told": True},
        {"path": "a.py", "line": 2, "drawn": {"finding": 1.0}, "told": True},
        {"path": "a.py", "line": 3, "drawn": {"line": 3.0}, "told": False},
        {"path": "a.py", "line": 4, "drawn": {"line": 1.0}, "told": False},
    ]
    key = {"repository": "r", "revision": "abc", "findings": 9, "rows": rows}
    (tmp_path / "r.key.json").write_text(json.dumps(key))
    sheet = tmp_path / "r.sheet.tsv"
    verdicts = ("step", "cold", "step", "none")
    sheet.write_text("".join(f"a.py\t{n}\ttext\t{v}\n" for n, v in enumerate(verdicts, 1)))
    (row,) = first_contact.score([sheet], [tmp_path / "r.key.json"])
    assert row["verdicts"] == {"step": 1, "again": 0, "cold": 1, "none": 0, "?": 0}
    assert (row["waits"], row["found"]) == (2, 1)
    assert (row["weight of waits"], row["weight of found"]) == (5.0, 2.0)
    assert first_contact.total([row]).startswith("2 findings: step 50%, again 0%, cold 50%")


def test_a_line_without_a_verdict_is_named(tmp_path: Path) -> None:
    sheet = tmp_path / "r.sheet.tsv"
    sheet.write_text("a.py\t1\ttext\tTODO\n")
    with pytest.raises(SystemExit, match=r"r.sheet.tsv:1: fill in one of step"):
        first_contact.read_verdicts(sheet)
