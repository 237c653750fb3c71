"""Which files a path stands for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.discover import choose
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
    fixed = Configuration.fixed(Settings(root=tree, **settings))
    found = choose([tree / path for path in paths], fixed).files
    return [Path(path).relative_to(tree).as_posix() for path in found]


def test_a_directory_gives_its_sources_and_notebooks_and_no_environments(tree: Path) -> None:
    assert names(tree, ".") == ["a.py", "n.ipynb", "src/c.py"]


def test_what_is_named_is_checked_whatever_folder_it_is_in(tree: Path) -> None:
    assert names(tree, ".hidden/d.py", "build") == [".hidden/d.py", "build/h.py"]
    assert names(tree, "lib/site-packages") == ["lib/site-packages/i.py"]


def test_what_is_named_must_be_python(tree: Path) -> None:
    (tree / "run").write_text("#!/usr/bin/env python3\n")
    (tree / "stub.pyi").write_text("")
    assert names(tree, "run", "stub.pyi") == ["run", "stub.pyi"]
    with pytest.raises(AsyncguardError, match=r"b\.txt: not Python source .* with '-'"):
        names(tree, "b.txt")
    found = choose([tree / "b.txt"], Configuration.fixed(Settings(root=tree, force_exclude=True)))
    assert found == ({}, (f"{tree / 'b.txt'}: skipped: not Python source",))


def test_a_file_given_twice_is_checked_once(tree: Path) -> None:
    assert names(tree, "src/c.py", "src", ".") == ["src/c.py", "a.py", "n.ipynb"]


PATTERNS = pytest.mark.parametrize("pattern", ["src", "src/", "src/*.py", "*.py", "c.py", "s*"])


@PATTERNS
def test_exclude_holds_for_what_is_found(tree: Path, pattern: str) -> None:
    assert "src/c.py" not in names(tree, ".", exclude=(pattern,))
    assert "src/c.py" not in names(tree, ".", extend_exclude=(pattern,))


@PATTERNS
def test_exclude_holds_for_named_files_only_by_force(tree: Path, pattern: str) -> None:
    assert names(tree, "src/c.py", exclude=(pattern,)) == ["src/c.py"]
    assert names(tree, "src/c.py", exclude=(pattern,), force_exclude=True) == []


@pytest.mark.parametrize("pattern", ["src", "src/"])
def test_exclude_holds_for_named_folders_only_by_force(tree: Path, pattern: str) -> None:
    assert names(tree, "src", extend_exclude=(pattern,)) == ["src/c.py"]
    assert names(tree, "src", extend_exclude=(pattern,), force_exclude=True) == []


def test_extend_exclude_keeps_the_defaults_and_exclude_does_not(tree: Path) -> None:
    assert names(tree, ".", extend_exclude=("a.py",)) == ["n.ipynb", "src/c.py"]
    assert "build/h.py" in names(tree, ".", exclude=("a.py",))


def test_gitignore_is_respected(tree: Path) -> None:
    (tree / ".gitignore").write_text("src/\n*.ipynb\n!\n")
    (tree / "lower").mkdir()
    for name in ("one.py", "two.py"):
        (tree / "lower" / name).write_text("")
    (tree / "lower" / ".gitignore").write_text("*.py\n!two.py\n")
    assert names(tree, ".") == ["a.py", "lower/two.py"]
    assert len(names(tree, ".", respect_gitignore=False)) == 5
    assert names(tree, "n.ipynb", "lower/one.py") == ["n.ipynb", "lower/one.py"]


def test_the_gitignore_of_the_repository_holds_in_its_folders(tree: Path) -> None:
    (tree / ".git" / "info").mkdir(parents=True)
    (tree / ".git" / "info" / "exclude").write_text("mine.py\n")
    (tree / ".gitignore").write_text("data/\nsrc/old_*\n")
    for name in ("src/old_c.py", "src/mine.py", "data/d.py"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("")
    assert names(tree, "src") == ["src/c.py"]
    assert names(tree, "data") == ["data/d.py"]  # asked for by name
    assert names(tree, ".") == ["a.py", "n.ipynb", "src/c.py"]


def test_a_gitignore_that_would_take_for_ever_is_passed_over(tree: Path) -> None:
    (tree / ("a" * 200 + ".py")).write_text("")
    (tree / ".gitignore").write_text("*a" * 20 + "b\n" + "a.py\n")
    assert names(tree, ".")[1:] == ["n.ipynb", "src/c.py"]


def test_settings_are_those_nearest_to_the_file(tree: Path, monkeypatch) -> None:
    monkeypatch.chdir(tree)
    (tree / "asyncguard.toml").write_text('ignore = ["ASG102"]\nextend-exclude = ["n.ipynb"]\n')
    (tree / "src" / "pyproject.toml").write_text("[tool.asyncguard]\nguarded = true\n")
    (tree / "src" / "more").mkdir()
    (tree / "src" / "more" / "m.py").write_text("")
    chosen = choose([Path()], Configuration()).files
    found = {path: (settings.ignore, settings.guarded) for path, settings in chosen.items()}
    inner = ((), True)
    assert found == {"a.py": (("ASG102",), False), "src/c.py": inner, "src/more/m.py": inner}
    assert chosen["src/c.py"] is chosen["src/more/m.py"]


def test_a_missing_path_is_an_error_that_names_it(tree: Path) -> None:
    with pytest.raises(AsyncguardError, match=r"missing\.py: no such file"):
        names(tree, "missing.py")


def test_a_link_to_a_folder_above_does_not_loop(tree: Path) -> None:
    (tree / "src" / "up").symlink_to(tree)
    assert names(tree, ".") == ["a.py", "n.ipynb", "src/c.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
def test_what_is_not_a_file_is_skipped_with_a_note(tree: Path) -> None:
    os.mkfifo(tree / "f.py")
    (tree / "gone.py").symlink_to(tree / "nowhere")
    (tree / "zero.py").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tree / "s.ipynb"))
    chosen = choose([tree], Configuration.fixed(Settings(root=tree)))
    assert [Path(name).name for name in chosen.files] == ["a.py", "n.ipynb", "c.py"]
    assert [note.removeprefix(f"{tree}/") for note in chosen.notes] == [
        "f.py: skipped: is a FIFO, not a file",
        "gone.py: skipped: No such file or directory",
        "s.ipynb: skipped: is a socket, not a file",
        "zero.py: skipped: is a device",
    ]
    for name in ("f.py", "zero.py"):
        with pytest.raises(AsyncguardError, match="pass source on standard input"):
            names(tree, name)


@pytest.mark.parametrize("name", ["a\0b.py", "\ud800.py", "x" * 5000 + ".py"])
def test_a_name_that_no_file_can_have_is_an_error(tree: Path, name: str) -> None:
    with pytest.raises(AsyncguardError):
        names(tree, name)


def test_a_module_that_cannot_be_imported_is_told(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    broken = tmp_path / "broken.py"
    broken.write_text("import torch\n\n\n@REGISTRY\nclass Net(torch.nn.Module): ...\n")
    (note,) = check_paths([tmp_path], Settings(cache=False)).notes
    reason = "nothing binds `REGISTRY`, so that importing it raises NameError"
    assert note == f"{broken}:4: not checked: {reason}"
