"""Notebooks become one source, and places lead back to cells."""

from __future__ import annotations

import json

import pytest

from asyncguard.lint.source.notebook import read_notebook
from tests.records import finding


def notebook(*cells: tuple[str, str], language: str = "python") -> bytes:
    return json.dumps(
        {
            "cells": [
                {"cell_type": kind, "source": text.splitlines(keepends=True)}
                for kind, text in cells
            ],
            "metadata": {"language_info": {"name": language}},
        }
    ).encode()


def test_code_cells_are_joined_and_places_lead_back() -> None:
    read = read_notebook(
        notebook(("markdown", "# Title\ntext"), ("code", "a = 1\nb = 2"), ("code", "c = 3\n"))
    )
    assert read is not None
    assert read.source.splitlines()[:3] == ["a = 1", "b = 2", "c = 3"]
    place = read.place(finding(line=2, end_line=2))
    assert (place.cell, place.line, place.end_line) == (2, 2, 2)
    assert (read.place(finding(line=3, end_line=3)).cell) == 3


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("%matplotlib inline", "pass"),
        ("!pip install torch", "pass"),
        ("  %time x = 1", "  pass"),
        ("files = !ls", "files = None"),
        ("t = %timeit -o f()", "t = None"),
        ("torch.nn?", "pass"),
        ("x = a % b", "x = a % b"),
        ("# what?", "# what?"),
        ('s = "100%"', 's = "100%"'),
    ],
)
def test_magics_become_blank_statements(line: str, becomes: str) -> None:
    read = read_notebook(notebook(("code", line)))
    assert read is not None
    assert read.source.splitlines()[0] == becomes


def test_cells_of_other_languages_are_left_out() -> None:
    read = read_notebook(notebook(("code", "%%bash\nfor x in y; do"), ("code", "%%time\na = 1")))
    assert read is not None
    assert "for x" not in read.source
    assert "a = 1" in read.source


def test_a_notebook_of_another_language_is_passed_over() -> None:
    assert read_notebook(notebook(("code", "x <- 1"), language="R")) is None


def test_an_empty_notebook_is_an_empty_source() -> None:
    read = read_notebook(notebook())
    assert read is not None
    assert read.source.strip() == ""


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"cells": [1]}', b"\xff\xfe"])
def test_what_is_no_notebook_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a Jupyter notebook"):
        read_notebook(data)
