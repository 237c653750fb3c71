"""Which files a path stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.run.discover import source_files
from asyncguard.lint.run.settings import Settings
from asyncguard.model import AsyncguardError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.py", "b.txt", "n.ipynb", "src/c.py", ".hidden/d.py", "venv/pyvenv.cfg", "venv/e.py",
        "node_modules/f.py", "src/__pycache__/g.py", "build/h.py", "lib/site-packages/i.py",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def names(tree: Path, *paths: str, **settings) -> list[str]:
    found = source_files([tree / path for path in paths], Settings(root=tree, **settings))
    return [path.relative_to(tree).as_posix() for path in found]


def test_a_directory_gives_its_sources_and_notebooks_and_no_environments(tree: Path) -> None:
    assert names(tree, ".") == ["a.py", "n.ipynb", "src/c.py"]


def test_what_is_named_is_checked_whatever_it_is_called(tree: Path) -> None:
    assert names(tree, "b.txt", ".hidden/d.py", "build") == ["b.txt", ".hidden/d.py", "build/h.py"]
    assert names(tree, "lib/site-packages") == ["lib/site-packages/i.py"]


def test_a_file_given_twice_is_checked_once(tree: Path) -> None:
    assert names(tree, "src/c.py", "src", ".") == ["src/c.py", "a.py", "n.ipynb"]


@pytest.mark.parametrize("pattern", ["src", "src/", "src/*.py", "*.py", "c.py", "s*"])
def test_exclude_holds_for_named_files_too(tree: Path, pattern: str) -> None:
    assert "src/c.py" not in names(tree, ".", "src/c.py", exclude=(pattern,))


def test_a_missing_path_is_an_error_that_names_it(tree: Path) -> None:
    with pytest.raises(AsyncguardError, match=r"missing\.py: no such file"):
        names(tree, "missing.py")


def test_a_link_to_a_folder_above_does_not_loop(tree: Path) -> None:
    (tree / "src" / "up").symlink_to(tree)
    assert names(tree, ".") == ["a.py", "n.ipynb", "src/c.py"]
