"""`check --watch`: again after each change, on a terminal and elsewhere, until Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asyncguard.cli import findings, main
from asyncguard.lint.run import changes
from asyncguard.lint.run.configuration import Configuration
from tests import warm
from tests.sources import HOT

ROOT = Path(__file__).parents[1]
COLD = HOT.replace("        print(loss.item())\n", "")
BROKEN = HOT.replace("import torch\n", "import torch\ndef unfinished(:\n")

Change = Callable[[], object]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".home"))
    return tmp_path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch, script: list[Change], *options: str) -> int:
    """Check with these changes made one after the other, and then Ctrl-C."""
    pending = iter(script)

    def wait(files: Collection[str]) -> None:
        change = next(pending, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    monkeypatch.setattr(changes, "waiting", lambda: wait)
    return main(["check", "--watch", *options])


def write(name: str, text: str) -> Change:
    return lambda: Path(name).write_text(text)


def test_a_result_is_a_line_where_no_terminal_shows_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("train.py", HOT)()
    script = [write("train.py", COLD), lambda: None, write("more.py", HOT)]
    assert watch(monkeypatch, script) == 1
    fixable = "1 fixable with --fix --unsafe-fixes."
    assert capsys.readouterr().out.splitlines() == [
        f"Found 1 finding in 1 file (1 file checked). {fixable}",
        "train.py changed: No findings in 1 file.",
        f"more.py changed: Found 1 finding in 1 file (2 files checked). {fixable}",
    ]


@pytest.mark.parametrize(("last", "options", "status"), [
    (HOT, (), 1), (COLD, (), 0), (HOT, ("--exit-zero",), 0), (BROKEN, (), 1),
])  # fmt: skip
def test_the_exit_status_is_the_last_results(
    last: str, options: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", HOT if last == COLD else COLD)()
    assert watch(monkeypatch, [write("train.py", last)], *options) == status


def test_a_result_of_which_something_was_shown_is_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    show = findings.show

    def interrupted(*given: Any, **options: Any) -> None:
        show(*given, **options)
        if Path("train.py").read_text() == HOT:
            raise KeyboardInterrupt

    monkeypatch.setattr(findings, "show", interrupted)
    write("train.py", COLD)()
    assert watch(monkeypatch, [write("train.py", HOT)]) == 1


def test_a_file_that_does_not_parse_keeps_its_findings_and_those_of_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`helper.py` waits in every step only because of what `train.py` does."""
    write("helper.py", "def log(loss):\n    print(loss.item())\n")()
    use = "from helper import log\n" + HOT.replace("print(loss.item())", "log(loss)")
    write("train.py", use)()
    script = [write("train.py", "def unfinished(:\n" + use), write("train.py", use + "\n")]
    watch(monkeypatch, script, "--output-format", "concise")
    first, second, third = (part.splitlines() for part in _runs(capsys.readouterr().out))
    (finding,) = (line for line in first if "ASG" in line)
    assert finding.startswith("helper.py:2:11: ASG102")
    assert [line for line in second if "ASG" in line][1:] == [finding]
    assert second[0].startswith("train.py:1:16: ASG000")
    told = "train.py cannot be read as Python: its other findings are those of what it held before."
    assert told in second
    assert third == first


def _runs(out: str) -> Iterator[str]:
    """Yield what each run has written: it ends with its summary, but for notes."""
    lines: list[str] = []
    for line in out.splitlines():
        if ": ASG" in line and any("checked" in each for each in lines):
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    yield "\n".join(lines)


def test_a_file_that_never_parsed_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("train.py", BROKEN)()
    script = [write("train.py", BROKEN + "\n"), write("train.py", HOT)]
    watch(monkeypatch, script, "--output-format", "concise")
    out = capsys.readouterr().out
    assert out.count("ASG000") == 2
    assert out.count("ASG102") == 1
    assert "cannot be read" not in out


@pytest.mark.parametrize("name", ["net.ipynb", "net.py"])
@pytest.mark.parametrize("broken", [b"", b"\xff\xfe\0", b"{", b"x = (" * 2000, None])
def test_whatever_a_file_holds_meanwhile(
    name: str,
    broken: bytes | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cell = {"cell_type": "code", "source": HOT, "outputs": [], "metadata": {}}
    whole = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    good = whole if name.endswith("ipynb") else HOT
    write(name, good)()

    def spoil() -> None:
        os.unlink(name)
        if broken is None:
            os.mkfifo(name)
        else:
            Path(name).write_bytes(broken)

    def mend() -> None:
        os.unlink(name)
        write(name, good)()

    assert watch(monkeypatch, [spoil, mend], "--output-format", "concise") == 1
    assert capsys.readouterr().out.count("ASG102") >= 2


def test_a_broken_configuration_is_told_and_mended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("train.py", HOT)()
    write("asyncguard.toml", "")()
    script = [write("asyncguard.toml", "select = ["), write("asyncguard.toml", 'ignore = ["ALL"]')]
    assert watch(monkeypatch, script) == 0
    said = capsys.readouterr()
    assert "asyncguard.toml" in said.err
    assert said.out.splitlines()[-1] == "asyncguard.toml changed: No findings in 1 file."
    assert watch(monkeypatch, [write("asyncguard.toml", "select = [")]) == 2


def test_a_wrong_call_ends_it_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch(monkeypatch, [], "nowhere.py") == 2
    write("asyncguard.toml", "select = [")()
    assert watch(monkeypatch, []) == 2
    assert capsys.readouterr().out == ""


def test_a_file_that_is_gone_takes_its_findings_along(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("train.py", HOT)()
    write("other.py", COLD)()
    assert watch(monkeypatch, [lambda: os.unlink("train.py")]) == 0
    assert "train.py changed: No findings in 1 file." in capsys.readouterr().out
    assert watch(monkeypatch, [lambda: os.unlink("other.py")], "other.py") == 2
    assert "other.py: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("options", [
    ("--fix",), ("--diff",), ("--add-ignore=x",), ("--write-baseline", "b.json"), ("-",),
    ("--trace", "t.json"), ("--show-files",), ("--show-settings",), ("--show-allowed",),
])  # fmt: skip
def test_what_cannot_be_watched_is_refused(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch(monkeypatch, [], *options) == 2
    name = "'-'" if options == ("-",) else options[0].split("=")[0]
    assert capsys.readouterr().err.endswith(f": leave out {name}\n")


def test_its_own_output_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON beside the code may turn options on, and is watched."""
    write("train.py", HOT)()
    runs: list[str] = []

    def note() -> None:
        runs.append(Path("found.json").read_text())

    assert watch(monkeypatch, [note, note, write("train.py", COLD), note], "-o", "found.json") == 0
    assert [len(json.loads(text)) for text in runs] == [1, 1, 0]
    assert runs[0] == runs[1]


def test_a_terminal_is_cleared_between_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is not installed")
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    write("train.py", HOT)()
    watch(monkeypatch, [write("train.py", COLD)])
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(out.getvalue().replace("\n", "\r\n"))
    lines = [line.rstrip() for line in screen.display if line.strip()]
    assert lines == ["train.py changed", "No findings in 1 file."]
    assert capsys.readouterr().err.count("watching for changes; Ctrl-C ends this") == 2
    assert "ASG102" in out.getvalue()
    monkeypatch.setattr(sys, "stdout", out := Terminal())
    monkeypatch.setenv("TERM", "dumb")
    watch(monkeypatch, [write("train.py", HOT)])
    assert "\x1b" not in out.getvalue()


def test_what_changes_during_a_check_is_checked_next(tmp_path: Path) -> None:
    write("train.py", HOT)()
    waited: list[object] = []
    told = changes.changes(lambda: ["train.py"], waited.append)
    assert next(told) == frozenset()
    write("train.py", COLD)()  # while the first check is under way
    assert next(told) == {"train.py"}
    assert len(waited) == 1


def test_what_a_check_depends_on(tmp_path: Path) -> None:
    Path("package").mkdir()
    Path(".git").mkdir()
    for name in ("package/a.py", "package/b.py", "run.sh", "notes.txt"):
        write(name, "")()
    settings = 'baseline = "accepted.json"\n'
    write("asyncguard.toml", settings)()
    everything = {"a.py", "b.py", "run.sh", "asyncguard.toml", "pyproject.toml", "accepted.json"}
    for named in ("package", "package/a.py"):
        found = changes.depended_on([Path(named)], Configuration())
        assert {os.path.basename(path) for path in found} == everything


class Library:
    """What `watchfiles` is to us."""

    def __init__(self, *told: set[str] | Exception) -> None:
        self._told = iter(told)
        self.folders: list[set[str]] = []

    def watch(self, *folders: str, **options: Any) -> Iterator[set[str]]:
        assert options["recursive"] is False
        self.folders.append({os.path.basename(folder) for folder in folders})
        for told in self._told:
            if isinstance(told, Exception):
                raise told
            yield told


def test_the_system_tells_of_changes_where_the_library_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(changes, "time", SimpleNamespace(sleep=slept.append))
    for folder in ("a", "b"):
        Path(folder).mkdir()
    library = Library(
        set(), set(), {"a/x.py"}, set(), *([set()] * changes.LOOK), OSError(28, "full")
    )
    wait = changes._Told(library)
    wait(["a/x.py"])  # begins to watch, and lets the files be looked at
    wait(["a/x.py"])
    wait(["a/x.py", "b/y.py", "gone/z.py"])
    assert library.folders == [{"a"}, {"a", "b"}]
    wait(["a/x.py", "b/y.py", "gone/z.py"])  # nothing for long enough: look even so
    assert slept == []
    wait(["a/x.py", "b/y.py", "gone/z.py"])
    wait(["a/x.py", "b/y.py", "gone/z.py"])
    assert slept == [changes.PAUSE] * 2  # as without the library


def test_a_real_change_and_a_real_interrupt(tmp_path: Path) -> None:
    write("train.py", COLD)()
    process = subprocess.Popen(
        [*warm.python(), "-m", "asyncguard", "check", "--watch"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "No findings in 1 file.\n"
    write("train.py", HOT)()
    assert process.stdout.readline().startswith("train.py changed: Found 1 finding")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (1, "", "")
