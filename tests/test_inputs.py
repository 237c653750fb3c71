"""Hostile and mistaken inputs: refused in one line with status 2, or skipped with a line."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asyncguard import screens
from asyncguard.cli import main
from asyncguard.gate import baseline
from asyncguard.render.progress import progress_bar
from asyncguard.runtime import store
from tests.records import finding, record, steady
from tests.test_cli import HOT

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs on this system")
DEEP = "[" * 200_000
RAGGED = HOT.replace("print(loss.item())", 'print("\x1b]0;owned\x07", loss.item())')
FIXABLE = HOT + "x = 1  # asyncguard: ignore[ASG102]\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "hot.py").write_text(HOT)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that refuses a command."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"asyncguard: [^\n]+\n", captured.err), captured.err
    return captured.err


BASELINES = {
    "deep": DEEP,
    "deep object": '{"version": 1, "findings": ' + '{"a":' * 100_000,
    "infinity": '{"version": 1, "findings": null, "sites": [{"count": Infinity}]}',
    "large float": '{"version": 1e999}',
    "large integer": json.dumps({"version": 10**400}),
    "a large count": json.dumps(
        {"version": 1, "findings": None, "sites": [
            {"path": "", "function": "", "framework": "", "api": "", "source": "",
             "count": 10**400, "steps": 1}]}
    ),
    "no findings": '{"version": 1}',
    "a string": '"asyncguard"',
    "an escape": '{"version": 1, "findings": [{"\\u001b[2J": 1}], "sites": null}',
    "not UTF-8": b"\xff\xfe",
}  # fmt: skip


@pytest.mark.parametrize("data", BASELINES.values(), ids=BASELINES.keys())
@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (("gate", "--baseline", "b.json", "hot.py"), "gate --update"),
        (("gate", "--update", "--baseline", "b.json", "hot.py"), "gate --update"),
        (("check", "--baseline", "b.json", "hot.py"), "check --write-baseline b.json"),
        (("check", "--write-baseline", "b.json", "hot.py"), "check --write-baseline"),
    ],
)
def test_a_bad_baseline_is_refused_in_one_line(
    data: str | bytes, command: tuple[str, ...], remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("b.json").write_bytes(data.encode() if isinstance(data, str) else data)
    error = refused(capsys, *command)
    assert error.startswith("asyncguard: b.json: ")
    assert remedy in error
    assert not re.search(r"KeyError|Errno|__init__|\x1b", error)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sites": [{"path": "a.py", "kind": "scalar"}]}, "required field `line`"),
        ({"sites": [{"path": "a.py"}]}, "required field `line`"),
        ({"sites": 3}, "Expected `array`, got `int` - at `$.sites`"),
        ({"step_count": -1}, "`int` >= 0 - at `$.step_count`"),
        ({"duration_ns": 10**400}, "`int` <= 9223372036854775807 - at `$.duration_ns`"),
        ({"duration_ns": 1.5}, "got `float` - at `$.duration_ns`"),
        ({"timeline": [3]}, "got `int` - at `$.timeline[0]`"),
        ({"timeline": [{"kind": "wait", "begin_ns": 5, "end_ns": 9}]}, "required field `name`"),
        ({"tree": [[1, 0], [0, 1]]}, "a node of the call tree is 1, of 0"),  # its own ancestor
        ({"tree": [[9**9, 9**9, 9]]}, "length 2 - at `$.tree[0]`"),
        ({"frames": 10**9}, "got `int` - at `$.frames`"),
        ({"sources": {"a.py": {"x": "text"}}}, "at `key` in `$.sources"),
        ({"version": True}, "got `bool` - at `$.version`"),
        ({"version": 2**70}, "`int` <= 3 - at `$.version`"),
    ],
)
def test_a_bad_trace_says_what_is_wrong(
    change: dict[str, object], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = store.to_json(record(steady(1), step_count=11, steady_steps=10))
    Path("t.json").write_text(json.dumps(whole | change))
    error = refused(capsys, "report", "t.json")
    assert error.startswith("asyncguard: t.json: not a trace that this version reads: ")
    assert reason in error
    assert error.endswith("record it again\n")


def test_a_missing_baseline_names_the_command_that_writes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "`asyncguard check --write-baseline none.json`" in refused(
        capsys, "check", "--baseline", "none.json"
    )
    assert "`asyncguard gate --update`" in refused(capsys, "gate", "hot.py")


def test_a_baseline_of_half_a_gigabyte_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    with open("b.json", "wb") as file:
        file.truncate(500_000_000)
    for command in (("check",), ("gate",)):
        error = refused(capsys, *command, "--baseline", "b.json", "hot.py")
        assert "b.json: cannot read the baseline: is larger than 67,108,864 bytes" in error


def test_a_count_of_a_billion_takes_no_longer_than_one() -> None:
    from asyncguard.gate import compare

    accepted = {baseline.finding_key(finding()): 2**53}
    assert compare.match_findings([finding()] * 3, accepted, ()).new == ()


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link"])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("b.json", ("gate", "--baseline", "b.json", "hot.py")),
        ("b.json", ("check", "--baseline", "b.json", "hot.py")),
        ("t.json", ("report", "t.json")),
        ("t.json", ("gate", "t.json")),
        ("pyproject.toml", ("check", "hot.py")),
        ("asyncguard.toml", ("check", "hot.py")),
        ("c.toml", ("check", "--config", "c.toml", "hot.py")),
        ("f.py", ("check", "f.py")),
    ],
)
def test_what_is_not_a_file_is_refused_in_one_line(
    kind: str, name: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    if kind == "fifo":
        os.mkfifo(name)
    elif kind == "folder":
        Path(name).mkdir()
    else:
        Path(name).symlink_to("/dev/zero" if kind == "device" else "nowhere")
    if kind == "folder" and name == "f.py":
        assert main(command) == 0
    elif kind == "link" and name in ("pyproject.toml", "asyncguard.toml"):
        assert main(command) == 1  # as if there were none
    else:
        assert name in refused(capsys, *command)


@pytest.mark.parametrize("kind", ["fifo", "device", "link"])
def test_a_baseline_is_written_to_a_file_only(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, precious = Path("b.json"), Path("precious")
    baseline.update(precious, {}, None)
    before = precious.read_bytes()
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/full" if kind == "device" else "precious")
    status = path.lstat()
    refused(capsys, "check", "--write-baseline", "b.json", "hot.py")
    assert (path.lstat().st_mode, path.lstat().st_ino) == (status.st_mode, status.st_ino)
    assert precious.read_bytes() == before
    assert not list(Path().glob(".b.json*"))


def test_odd_files_in_a_folder_are_skipped_with_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.mkfifo("fifo.py")
    Path("zero.py").symlink_to("/dev/zero")
    assert main(["check"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "asyncguard: fifo.py: skipped: is a FIFO, not a file",
        "asyncguard: zero.py: skipped: is a device",
    ]
    assert "(1 file checked)" in captured.out


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000])
@pytest.mark.parametrize(
    "command", [("check",), ("report",), ("gate",), ("check", "--baseline"), ("check", "--config")]
)
def test_names_that_no_file_can_have_are_refused(
    name: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, *command, f"{name}.json")


def test_a_working_directory_that_was_deleted_is_told(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = directory / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "working directory has been deleted" in refused(capsys, "check")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("check", "--stdin-filename", "a.py"), "--stdin-filename needs '-'"),
        (("check", "--unsafe-fixes"), "add --fix or --diff"),
        (("check", "--fix", "--diff"), "choose one"),
        (("check", "--jobs", "0"), "--jobs 0: name 1 to 1024"),
        (("check", "--select", ""), "--select: name at least one rule"),
        (("check", "--select", "truth-tests"), "did you mean 'truth-test'?"),
        (("check", "notes.txt"), "not Python source"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    command: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("notes")
    assert message in refused(capsys, *command)


def test_a_folder_without_sources_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["check", "empty"]) == 0
    assert "no Python files to check in empty" in capsys.readouterr().err


def test_rules_may_be_selected_by_name() -> None:
    assert main(["check", "--select", "scalar-conversion", "hot.py"]) == 1
    assert main(["check", "--ignore", "Scalar-Conversion", "hot.py"]) == 0


def test_per_file_ignores_understand_all() -> None:
    Path("asyncguard.toml").write_text('per-file-ignores = { "hot.py" = ["ALL"] }\n')
    assert main(["check"]) == 0


def test_each_file_is_checked_under_the_settings_nearest_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("quiet", "loud"):
        Path(name).mkdir()
        Path(name, "train.py").write_text(HOT)
    Path("quiet", "asyncguard.toml").write_text('ignore = ["ASG102"]\n')
    Path("loud", "asyncguard.toml").write_text('assume-device = "accelerator"\n')
    assert main(["check", "--no-cache", "quiet", "loud"]) == 1
    assert re.findall(r"^\S+?:", capsys.readouterr().out, re.MULTILINE) == ["loud/train.py:"]
    Path("all.toml").write_text('ignore = ["ASG1"]\n')
    assert main(["check", "--config", "all.toml"]) == 0


def test_files_and_settings_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".gitignore").write_text("cold.py\n")
    Path("cold.py").write_text("")
    assert main(["check", "--show-files"]) == 0
    assert capsys.readouterr().out == "hot.py\n"
    assert main(["check", "--show-files", "--no-respect-gitignore"]) == 0
    assert capsys.readouterr().out == "cold.py\nhot.py\n"
    Path("asyncguard.toml").write_text("guarded = true\n")
    assert main(["check", "--show-settings", "--ignore", "ASG1", "hot.py"]) == 0
    out = capsys.readouterr().out
    assert f"# from {Path('asyncguard.toml').absolute()}" in out
    assert "guarded = true\n" in out
    assert 'ignore = ["ASG1"]\n' in out


# ---- what is written


def test_source_cannot_talk_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hot.py").write_text(RAGGED)
    for name in ("text", "markdown"):
        assert main(["check", "--output-format", name]) == 1
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\x07" not in out
    assert main(["gate", "--update", "."]) == 0
    Path("hot.py").write_text(RAGGED + "        print('\x1b', loss.cpu())\n")
    assert main(["gate", "."]) == 1
    out = capsys.readouterr().out
    assert "\\x1b" in out
    assert "\x1b" not in out


def test_a_grown_site_cannot_talk_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    baseline.update(Path("b.json"), None, {})
    evil = steady(1, api="a\x1b[2J", function="[red]f\x1b", path="\x1bp.py", source="\x1b")
    store.save(record(evil, step_count=11, steady_steps=10), Path("t.json"))
    assert main(["gate", "--baseline", "b.json", "t.json"]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]f\\x1b" in out


def test_what_the_stream_cannot_encode_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    screens.write(stream, "größer 🔥 \udcff\n")
    stream.flush()
    assert raw.getvalue() == b"gr\\xf6\\xdfer \\U0001f525 \\udcff\n"


def test_a_check_prints_to_ascii() -> None:
    Path("hot.py").write_text(HOT.replace("print(loss", "print('größer', loss"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "asyncguard", "check", "--format", "text"], capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )  # fmt: skip
    assert done.returncode == 1
    assert b"gr\\xf6\\xdfer" in done.stdout
    assert done.stderr == b""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        (False, {}, (80, False, False)),
        (False, {"COLUMNS": "120"}, (120, False, True)),
        (False, {"FORCE_COLOR": "1"}, (80, True, False)),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, (80, False, False)),
        (True, {"COLUMNS": "100"}, (100, True, True)),
        (True, {"COLUMNS": "100", "NO_COLOR": "1"}, (100, False, True)),
        (True, {"COLUMNS": "100", "NO_COLOR": ""}, (100, True, True)),
        (True, {"COLUMNS": "100", "TERM": "dumb"}, (100, False, True)),
        (False, {"COLUMNS": "wide"}, (80, False, False)),
    ],
)
def test_the_screen_is_as_the_environment_says(
    terminal: bool, environment: dict[str, str], expected: tuple[int, bool, bool]
) -> None:
    found = screens.screen(Terminal() if terminal else io.StringIO(), environment)
    assert (found.width, found.color, found.wrapped) == expected


def test_a_place_and_its_message_stay_on_one_line_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("a" * 60, "b" * 60)
    folder.mkdir(parents=True)
    Path("hot.py").rename(folder / "hot.py")
    assert main(["check"]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{folder}/hot.py:")
    assert "ASG102" in first
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["check"]) == 1
    assert all(len(x) <= 70 or folder.name in x for x in capsys.readouterr().out.splitlines())


def test_a_patch_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hot.py").write_text(FIXABLE)
    assert main(["check", "--diff"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("--- a/hot.py\n+++ b/hot.py\n@@")
    assert captured.err == "asyncguard: 1 would be fixed, 1 would remain\n"
    subprocess.run(["patch", "-p1", "--quiet"], input=captured.out.encode(), check=True)
    assert Path("hot.py").read_text() == HOT + "x = 1\n"


def test_places_in_notebooks_name_the_cell(capsys: pytest.CaptureFixture[str]) -> None:
    cell = {"cell_type": "code", "source": FIXABLE}
    Path("n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}}))
    assert main(["check", "--output-format", "markdown", "n.ipynb"]) == 1
    assert "`n.ipynb:cell 1:8`" in capsys.readouterr().out
    assert main(["check", "--output-format", "markdown", "--statistics", "n.ipynb"]) == 1
    assert "| 1 | ASG102 | scalar-conversion |" in capsys.readouterr().out


def test_explanations_keep_addresses_whole_and_take_no_background(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["explain", "ASG901"]) == 0
    out = capsys.readouterr().out
    assert "https://docs.astral.sh/ruff/rules/unused-noqa/\n" in out
    assert "\x1b[40m" not in out
    assert "    total += loss.detach()   # asyncguard: ignore[ASG102]" in out


def test_a_short_check_shows_no_progress() -> None:
    now = iter([0.0, 0.5, 1.5, 2.0, 3.0])
    stream = io.StringIO()
    with progress_bar("checking", stream, lambda: next(now)) as advance:
        advance(0, 100)
        assert stream.getvalue() == ""
        advance(16, 100)
        assert "16/100" in stream.getvalue()
        advance(100, 100)
