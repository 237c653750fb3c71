"""Files of a stranger's repository: each is checked, or is one finding that says why it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.lint.check import FEW, check_source
from asyncguard.lint.run.settings import Settings

SOURCE = """\
import torch
def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


def cells(source: object, **more: object) -> dict[str, object]:
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **more}
    return {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


NOTEBOOK = json.dumps(cells(SOURCE))
UNREADABLE: dict[str, tuple[str, bytes]] = {
    "null": ("a.py", SOURCE.encode() + b"\0\n"),
    "surrogate": ("a.py", b"# \xed\xa0\x80\n" + SOURCE.encode()),
    "utf-16": ("a.py", SOURCE.encode("utf-16")),
    "parentheses": ("a.py", f"{SOURCE}x = {'(' * 100_000}1{')' * 100_000}\n".encode()),
    "brackets": ("a.py", f"{SOURCE}x = {'[' * 100_000}\n".encode()),
    "signs": ("a.py", f"{SOURCE}x = {'-' * 100_000}1\n".encode()),
    "attributes": ("a.py", f"{SOURCE}x = a{'.b' * 100_000}\n".encode()),
    "sums": ("a.py", f"{SOURCE}x = 1{' + 1' * 100_000}\n".encode()),
    "elif": ("a.py", (SOURCE + "if a: pass\n" + "elif a: pass\n" * 50_000).encode()),
    "integer": ("a.py", f"{SOURCE}x = {'9' * 100_000}\n".encode()),
    "rot13": ("a.py", f"# coding: rot13\n{SOURCE}".encode()),
    "punycode": ("a.py", f"# coding: punycode\n{SOURCE}".encode()),
    "undefined": ("a.py", f"# coding: undefined\n{SOURCE}".encode()),
    "no such encoding": ("a.py", f"# coding: no-such\n{SOURCE}".encode()),
    "cut notebook": ("a.ipynb", NOTEBOOK[:-40].encode()),
    "deep notebook": ("a.ipynb", b'{"cells":' + b"[" * 200_000),
    "notebook of a number": ("a.ipynb", b"3"),
    "notebook of cells of numbers": ("a.ipynb", b'{"cells": [3]}'),
    "notebook with a long number": ("a.ipynb", f'{NOTEBOOK[:-1]}, "x": {"9" * 9999}}}'.encode()),
    "notebook with metadata of another type": ("a.ipynb", b'{"cells": [], "metadata": [3]}'),
}
READABLE: dict[str, tuple[str, bytes]] = {
    "byte-order mark": ("a.py", b"\xef\xbb\xbf" + SOURCE.encode()),
    "carriage returns": ("a.py", SOURCE.replace("\n", "\r").encode()),
    "long line": ("a.py", f"{SOURCE}x = '{'a' * 5_000_000}'\n".encode()),
    "powers": ("a.py", f"{SOURCE}if 9**9**9**9 % 5 == 0: x = 'a' * 10**12\n".encode()),
    "escapes of unicode": ("a.py", f"# coding: unicode_escape\n{SOURCE}".encode()),
    "notebook with NaN": ("a.ipynb", f'{NOTEBOOK[:-1]}, "x": NaN, "y": 1e999}}'.encode()),
    "notebook with magics": ("a.ipynb", json.dumps(cells(f"!rm x\n%cd /\n?a\n{SOURCE}")).encode()),
    # One expression took the square of their number, another that of the question marks.
    "notebook with spaces": ("a.ipynb", json.dumps(cells(f"{SOURCE}{' ' * 300_000}\n")).encode()),
    "notebook with questions": (
        "a.ipynb",
        json.dumps(cells(f"{SOURCE}# {'? ' * 100_000}x\n")).encode(),
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_source_is_one_finding(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data = UNREADABLE[name]
    (tmp_path / file).write_bytes(data)
    assert main(["check", "--no-cache", "--output-format", "json", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    (found,) = json.loads(shown.out)
    assert found["code"] == "ASG000"
    assert not shown.err
    assert "object" not in found["message"]  # Python's own words for a type that is not expected


@pytest.mark.parametrize("name", READABLE)
def test_odd_source_is_checked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, data = READABLE[name]
    (tmp_path / file).write_bytes(data)
    assert main(["check", "--no-cache", "--output-format", "json", str(tmp_path)]) == 1
    assert [found["code"] for found in json.loads(capsys.readouterr().out)] == ["ASG102"]


def test_ignored_files_may_be_named_by_what_is_no_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("[z-a]\n[\n" + "*a" * 90 + "b\nignored.py\n")
    for name in ("a" * 200 + ".py", "ignored.py"):
        (tmp_path / name).write_text(SOURCE)
    assert main(["check", "--no-cache", "--output-format", "json", str(tmp_path)]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["path"].endswith("a.py")


def test_modules_of_the_checked_folder_are_not_imported(tmp_path: Path) -> None:
    """New processes would: Python puts the working directory first, whatever it holds."""
    ran = tmp_path / "ran"
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in ("multiprocessing", "pickle", "signal", "libcst", "msgspec", "tokenize"):
        (hostile / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').write({name!r})\n")
    for number in range(FEW + 4):
        (hostile / f"train_{number}.py").write_text(SOURCE)
    program = tmp_path / "program" / "check.py"
    program.parent.mkdir()
    program.write_text(
        "import threading\n"
        "from pathlib import Path\n"
        "from asyncguard.lint.check import check_paths\n"
        "from asyncguard.lint.run.settings import Settings\n"
        "if __name__ == '__main__':\n"
        "    end = threading.Event()\n"
        "    threading.Thread(target=end.wait).start()  # with it, processes are not forked\n"
        "    files = sorted(Path().glob('train_*.py'))\n"
        "    print(len(check_paths(files, Settings(cache=False, jobs=2)).findings))\n"
        "    end.set()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, program],
        cwd=hostile,
        capture_output=True,
        text=True,
        timeout=300,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == str(FEW + 4), done.stderr
    assert not ran.exists()


def test_a_chain_of_comparisons_is_judged_as_a_whole() -> None:
    source = SOURCE.replace("loss.item()", "loss.shape == other > loss.sum() > 3")
    settings = Settings(select=("ALL",), cache=False)
    assert not any(f.code == "ASG104" for f in check_source(source, "a.py", settings))


def test_a_notebook_deeper_than_the_usual_stack_ends_no_check_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    depth = 5000  # more than Python's usual limit, less than that of an analysis
    deep = json.dumps(cells(SOURCE)).replace(
        '"outputs": []', f'"outputs": {"[" * depth}{"]" * depth}'
    )
    (tmp_path / "deep.ipynb").write_text(deep)
    (tmp_path / "plain.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # analyses in this process have raised it
    try:
        assert main(["check", "--no-cache", "plain.py"]) == 0
    finally:
        sys.setrecursionlimit(limit)
    assert capsys.readouterr().out == "No findings in 1 file.\n"
