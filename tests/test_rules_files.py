"""Rules files beside the frameworks' own: another schema, or another key, is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asyncguard.catalogue import CatalogueError, rules_directory
from asyncguard.lint.fixes import words
from asyncguard.lint.modules import copies

FILES = {"repairs.toml": (words, words.known), "generated.toml": (copies, copies.notices)}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("schema = 1", "schema = 2"), "schema is 2; expected 1"),
        (lambda text: text.replace("schema = 1", "schema = 1\nother = 1"), "and no other"),
    ],
    ids=["schema", "key"],
)
def test_a_file_of_another_form_is_refused(
    name: str,
    change: Callable[[str], str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, load = FILES[name]
    text = (rules_directory() / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(change(text), encoding="utf-8")
    monkeypatch.setattr(module, "rules_directory", lambda: tmp_path)
    with pytest.raises(CatalogueError, match=message):
        load.__wrapped__()
