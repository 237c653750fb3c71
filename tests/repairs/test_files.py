"""Repairs of notebooks and of standard input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard import cli
from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source import cells
from asyncguard.lint.source.fixes import fix_files

LOOP = """\
import torch
def train(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total"""
REPAIRED = LOOP.replace("loss.item()", "loss.detach().double()").replace(
    "    return", "    total = float(total)\n    return"
)
SETTINGS = Settings(cache=False)


def notebook(*sources: str, **form: object) -> str:
    listed = [source.splitlines(keepends=True) for source in sources]
    made = [{"cell_type": "code", "source": lines, "outputs": [], "n": 1.50} for lines in listed]
    made.insert(0, {"cell_type": "markdown", "source": ["# caf\u00e9"], "outputs": [], "n": 2})
    content = {"nbformat": 4, "cells": made, "metadata": {"language_info": {"name": "python"}}}
    return json.dumps(content, **form) + "\n"  # type: ignore[arg-type]


def repaired(path: Path) -> str:
    outcome = fix_files(check_paths([path], SETTINGS).findings, unsafe=True, write=True)
    assert outcome.fixed
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "form", [{}, {"indent": 1, "ensure_ascii": False}, {"indent": "\t", "separators": (", ", ": ")}]
)
def test_of_a_notebook_the_sources_change_and_nothing_else(
    tmp_path: Path, form: dict[str, object]
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("%time x = 1\n", LOOP, "print(1)", **form), encoding="utf-8")
    after = repaired(path)
    assert after == notebook("%time x = 1\n", REPAIRED, "print(1)", **form)
    assert check_paths([path], SETTINGS).findings == ()


def test_a_source_that_is_one_string_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    before = notebook("A", "B").replace('["A"]', json.dumps(LOOP))
    path.write_text(before, encoding="utf-8")
    assert repaired(path) == before.replace(json.dumps(LOOP), json.dumps(REPAIRED))


def test_the_patch_of_a_notebook_is_one_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("a.ipynb")
    path.write_text(notebook(LOOP, indent=1), encoding="utf-8")
    outcome = fix_files(check_paths([path], SETTINGS).findings, unsafe=True, write=False)
    subprocess.run(["git", "apply"], input=outcome.diff.encode(), check=True)
    assert path.read_text(encoding="utf-8") == notebook(REPAIRED, indent=1)


def test_a_repair_in_two_cells_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    first = (
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data)\n"
        "model, optimizer, device = make()"
    )
    second = (
        "for x in loader:\n    x = x.to(device)\n    loss = model(x).mean()\n"
        "    loss.backward()\n    optimizer.step()"
    )
    path.write_text(notebook(first, second), encoding="utf-8")
    assert all(
        f.fix is None or len(f.fix.edits) <= 1 for f in check_paths([path], SETTINGS).findings
    )


def test_a_repair_of_a_magic_line_is_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(LOOP.replace("    return total", "    %time pass")), encoding="utf-8")
    (found,) = check_paths([path], SETTINGS).findings
    assert found.fix is not None  # the line after the loop is new
    magic = LOOP.replace("        total +=", "        !ls\n        total +=")
    path.write_text(notebook(magic), encoding="utf-8")
    (found,) = check_paths([path], SETTINGS).findings
    assert found.fix is not None
    assert "!ls" in repaired(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(st.tuples(st.lists(st.text(max_size=8), max_size=3), JSON), max_size=4), st.booleans()
)
def test_sources_are_found_where_json_has_them(
    drawn: list[tuple[list[str], object]], indented: bool
) -> None:
    content = {"x": drawn, "cells": [{"y": other, "source": lines} for lines, other in drawn]}
    text = json.dumps(content, indent=2 if indented else None)
    found = cells.cells(text)
    assert [cell.source for cell in found.values()] == ["".join(lines) for lines, _ in drawn]
    assert cells.replaced(text, {}) == text


# ---- standard input


class Output(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")


def check(source: bytes, *options: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes]:
    output = Output()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(source)))
    monkeypatch.setattr(sys, "stdout", output)
    status = cli.main(["check", "-", *options])
    output.flush()
    return status, output.buffer.getvalue()  # type: ignore[attr-defined]


def test_the_repaired_source_goes_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"# caf\u00e9\r\n{LOOP}\n".replace("\n", "\r\n").replace("\r\r", "\r").encode()
    status, output = check(source, "--fix", "--unsafe-fixes", monkeypatch=monkeypatch)
    assert (status, output.decode()) == (0, f"# caf\u00e9\n{REPAIRED}\n".replace("\n", "\r\n"))
    assert capsys.readouterr().err == "asyncguard: 1 fixed, 0 remaining\n"


def test_a_source_without_safe_repairs_comes_out_as_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = check(LOOP.encode(), "--fix", monkeypatch=monkeypatch)
    assert (status, output) == (1, LOOP.encode())
    assert capsys.readouterr().err == "asyncguard: 0 fixed, 1 remaining\n"


def test_a_notebook_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--fix", "--unsafe-fixes", "--stdin-filename", "a.ipynb")
    _, output = check(notebook(LOOP).encode(), *options, monkeypatch=monkeypatch)
    assert output.decode() == notebook(REPAIRED)


def test_the_patch_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = check(LOOP.encode(), "--diff", "--unsafe-fixes", monkeypatch=monkeypatch)
    assert status == 1
    assert output.decode().startswith("--- a/<stdin>\n+++ b/<stdin>\n@@")
