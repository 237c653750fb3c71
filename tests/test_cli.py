"""The command line as a user meets it: exit status, streams, formats, errors."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import asyncguard
from asyncguard.cli import build_parser, main
from asyncguard.lint.report import registry
from asyncguard.runtime import store
from tests import warm
from tests.records import record, site, steady

HOT = """\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
CLEAN = "def add(a, b):\n    return a + b\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hot(directory: Path) -> Path:
    (directory / "hot.py").write_text(HOT)
    return directory / "hot.py"


def test_check_finds_and_exits_1(hot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output-format", "text", "hot.py"]) == 1
    out = capsys.readouterr().out
    assert "hot.py:8:15: ASG102" in out
    assert "    print(loss.item())\n          ^^^^^^^^^^^\n" in out
    assert "Found 1 finding in 1 file (1 file checked)." in out


def test_check_without_findings_exits_0(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "clean.py").write_text(CLEAN)
    assert main(["check", "clean.py"]) == 0
    assert "No findings in 1 file." in capsys.readouterr().out


def test_check_without_paths_checks_the_working_directory(hot: Path) -> None:
    assert main(["check"]) == 1


def test_check_json_has_the_promised_fields(hot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--output-format", "json", "hot.py"])
    (found,) = json.loads(capsys.readouterr().out)
    expected = {
        "code": "ASG102",
        "path": "hot.py",
        "line": 8,
        "column": 15,
        "end_line": 8,
        "end_column": 26,
        "function": "train",
        "loop": "step",
        "guarded": False,
        "framework": "torch",
        "api": "torch.Tensor.item",
    }
    assert expected.items() <= found.items()
    assert {"message", "confidence", "fix"} <= found.keys()


def test_check_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HOT.encode())))
    assert main(["check", "--stdin-filename", "given.py", "-"]) == 1
    assert "given.py:8:15" in capsys.readouterr().out


def test_check_select_ignore_and_exit_zero(hot: Path) -> None:
    assert main(["check", "--ignore", "ASG102", "hot.py"]) == 0
    assert main(["check", "--select", "ASG2", "hot.py"]) == 0
    assert main(["check", "--exit-zero", "hot.py"]) == 0


def test_statistics_count_by_rule(hot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--statistics", "hot.py"]) == 1
    assert "1  ASG102  scalar-conversion" in capsys.readouterr().out


def test_a_written_baseline_silences_what_it_holds(hot: Path) -> None:
    assert main(["check", "--write-baseline", "b.json", "hot.py"]) == 0
    assert main(["check", "--baseline", "b.json", "hot.py"]) == 0
    hot.write_text("# moved\n" + HOT)
    assert main(["check", "--baseline", "b.json", "hot.py"]) == 0
    hot.write_text(HOT + "        print(loss.cpu())\n")
    assert main(["check", "--baseline", "b.json", "hot.py"]) == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check", "missing.py"], "missing.py"),
        (["check", "--output-format", "xml", "."], "unknown format 'xml'; one of"),
        (["check", "--select", "ASG9999", "."], "ASG9999"),
        (["check", "-", "other.py"], "cannot be mixed"),
        (["check", "--baseline", "none.json", "."], "none.json: no such baseline"),
        (["report", "none.json"], "none.json"),
        (["gate", "none.json"], "none.json"),
        (["gate", "."], "holds no traces"),
        (["explain", "ASG777"], "ASG777"),
        (["run"], "name a script"),
        (["run", "missing.py"], "missing.py"),
    ],
)
def test_a_wrong_call_exits_2_and_says_why_on_stderr(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("command", ["check", "run", "gate", "report", "rules"])
def test_a_wrong_option_shows_the_usage_of_its_own_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "x", "--colour", "y"] if command != "run" else ["run", "--colour", "y"])
    assert caught.value.code == 2
    usage, said, remedy = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"usage: asyncguard {command} [OPTIONS]")
    assert said.startswith(f"asyncguard {command}: error: unrecognized arguments: ")
    assert ("--colour" in said and said.endswith("did you mean --color?")) or command == "rules"
    assert remedy == f"See `asyncguard {command} --help`."


def test_report_shows_sites_costliest_first(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap, dear = site(line=3, cpu_stall_ns=10), site(line=7, cpu_stall_ns=5_000_000)
    store.save(record(dear, cheap), directory / "t.json")
    assert main(["report", "t.json"]) == 0
    out = capsys.readouterr().out
    assert out.index("train.py:7") < out.index("train.py:3")
    assert "5.00 ms" in out


def test_report_json_holds_record_totals_and_suggestions(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = record(steady(2), step_count=11, steady_steps=10, steady_duration_ns=10**7)
    store.save(trace, directory / "t.json")
    assert main(["report", "--format", "json", "t.json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["total_syncs"], data["step_count"], data["syncs_per_step"]) == (20, 11, 2.0)
    assert data["sites"][0]["api"] == "torch.Tensor.item"
    assert data["sites"][0]["gpu_stall_ns"] is None
    assert data["suggestions"]


def test_a_report_that_cannot_be_written_is_named(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.save(record(site()), directory / "t.json")
    assert main(["report", "t.json", "-o", "none/r.txt"]) == 2
    error = capsys.readouterr().err
    assert "none/r.txt: cannot write the report: No such file or directory; name another" in error


def test_a_trace_that_a_format_cannot_show_is_named(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.save(record(site()), directory / "t.json")
    assert main(["report", "--format", "perfetto", "t.json"]) == 2
    assert "t.json: this trace holds no timeline" in capsys.readouterr().err


def test_report_writes_to_a_file(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.save(record(site()), directory / "t.json")
    assert main(["report", "t.json", "-o", "report.txt"]) == 0
    assert "train.py:10" in (directory / "report.txt").read_text()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.html", "<!doctype html>"), ("r.md", "### "), ("r.json", "{"), ("r.HTM", "<!doctype")],
)
def test_the_suffix_chooses_the_format(directory: Path, name: str, start: str) -> None:
    store.save(record(site()), directory / "t.json")
    assert main(["report", "t.json", "-o", name]) == 0
    assert (directory / name).read_text().startswith(start)
    assert main(["report", "t.json", "-o", name, "--format", "text"]) == 0
    assert not (directory / name).read_text().startswith(start)


def standing(directory: Path, kind: str) -> Path:
    """Something that must not be replaced."""
    path = directory / "out"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "link":
        (directory / "target").write_text("mine")
        path.symlink_to("target")
    elif kind == "device":
        path = Path("/dev/null")
    else:
        os.link(directory / "t.json", path)
    return path


@pytest.mark.parametrize("kind", ["FIFO", "directory", "link", "device", "t.json"])
def test_a_report_replaces_neither_its_input_nor_what_is_no_file(
    directory: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    store.save(record(site()), directory / "t.json")
    path = standing(directory, kind)
    before = path.lstat()
    assert main(["report", "t.json", "-o", str(path)]) == 2
    error = capsys.readouterr().err
    assert kind in error
    assert error.count("\n") == 1
    assert path.lstat() == before
    assert store.load(directory / "t.json").sites


def test_a_full_disk_leaves_the_old_report_and_nothing_else(directory: Path) -> None:
    store.save(record(*[site(line=n) for n in range(20)]), directory / "t.json")
    (directory / "r.txt").write_text("old")
    limited = (
        "import resource, sys; from asyncguard.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "sys.exit(main(['report', 't.json', '-o', 'r.txt']))"
    )
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "r.txt: cannot write the report: File too large" in done.stderr
    assert (directory / "r.txt").read_text() == "old"
    assert sorted(path.name for path in directory.iterdir()) == ["r.txt", "t.json"]


def test_gate_passes_what_was_accepted_and_names_what_is_new(
    hot: Path, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = record(steady(1), step_count=11, steady_steps=10)
    store.save(before, directory / "before.json")
    assert main(["gate", "--update", "hot.py", "before.json"]) == 0
    assert main(["gate", "hot.py", "before.json"]) == 0
    new = steady(1, line=20, function="log", source="x.tolist()", api="torch.Tensor.tolist")
    store.save(record(steady(1), new, step_count=11, steady_steps=10), directory / "after.json")
    hot.write_text("# a comment\n" + HOT + "        print(loss.cpu())\n")
    capsys.readouterr()
    assert main(["gate", "hot.py", "after.json"]) == 1
    out = capsys.readouterr().out
    assert "train.py:20: new -> 1 per step  torch.Tensor.tolist in log" in out
    assert "hot.py:10:15: ASG103" in out
    assert "2 sites are new or wait more often" in out
    assert "train.py:10" not in out
    both = replace(new, path="hot.py", line=10, source="print(loss.cpu())", function="train")
    store.save(record(steady(1), both, step_count=11, steady_steps=10), directory / "both.json")
    assert main(["gate", "hot.py", "both.json"]) == 1
    assert "failed: 1 site is new or waits" in capsys.readouterr().out


def test_explain_and_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "asg102"]) == 0
    assert "scalar-conversion" in capsys.readouterr().out
    assert main(["rules"]) == 0
    assert "ASG102" in capsys.readouterr().out


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--output-format", "json"]) == 0
    told = {rule["code"]: rule for rule in json.loads(capsys.readouterr().out)}
    assert [(r.code, r.name, r.summary, r.default, r.fixable) for r in registry.rules()] == [
        (r["code"], r["name"], r["summary"], r["default"], r["fixable"]) for r in told.values()
    ]
    assert main(["rules", "--output-format", "xml"]) == 2
    assert "one of text, json" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([option])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"asyncguard {asyncguard.__version__}\n"


def test_a_closed_pipe_is_no_traceback(hot: Path) -> None:
    check = f"{sys.executable} -m asyncguard check --select ALL . | head -n 0"
    done = subprocess.run(["bash", "-c", check], capture_output=True, text=True)
    assert done.stderr == ""


def test_no_command_is_a_wrong_call_that_shows_what_there_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert all(title in shown.err for title in ("commands:", "start with:"))


ROOT = Path(__file__).parent.parent
COMMANDS = sorted(
    name
    for action in build_parser()._actions
    if isinstance(action, argparse._SubParsersAction)
    for name in action.choices
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_in_short_lines_with_examples_and_a_link(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as caught:
            main([command, "--help"])
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"usage: asyncguard {command}")
        page = re.search(r"^Read more: (docs/\S+) of asyncguard's sources\n\Z", shown, re.MULTILINE)
        assert page
        assert (ROOT / page[1]).is_file()
        assert f"examples:\n  asyncguard {command}" in shown or command in ("demo", "lsp")
        assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completions_know_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("shtab")
    assert main(["completions", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in (*COMMANDS, "output-format", "sim-devices"))


def test_completions_name_the_extra_that_they_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completions", "bash"]) == 2
    assert "pip install 'asyncguard[completions]'" in capsys.readouterr().err


def test_colours_are_asked_for_or_refused(hot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wish, colored in (("always", True), ("never", False), ("auto", False)):
        assert main(["check", "--color", wish, "."]) == 1
        assert ("\x1b[" in capsys.readouterr().out) is colored


def test_findings_go_to_a_file_in_the_format_of_its_suffix(
    hot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "-o", "found.sarif", "."]) == 1
    assert json.loads(Path("found.sarif").read_text())["version"] == "2.1.0"
    assert main(["check", "-o", "found.txt", "."]) == 1
    assert "    print(loss.item())\n" in Path("found.txt").read_text()
    assert main(["check", "--diff", "--unsafe-fixes", "-o", "repairs.patch", "."]) == 1
    assert Path("repairs.patch").read_text().startswith("--- a/hot.py")
    assert capsys.readouterr().out == ""
    assert main(["check", "-o", "found.pdf", "."]) == 2
    assert "name its format with --output-format" in capsys.readouterr().err
    assert main(["check", "-o", "none/found.json", "."]) == 2
    assert main(["check", "-o", "hot.py", "hot.py"]) == 2
    assert "hot.py, which is read" in capsys.readouterr().err


def test_a_quiet_check_shows_findings_alone(hot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-q", "--output-format", "concise", "."]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("hot.py:8:15: ASG102")
    (hot.parent / "empty").mkdir()
    assert main(["check", "-q", "empty"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_asyncguard_does_not_read_as_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("asyncguard.render.rules.table", int)
    assert main(["rules"]) == 2
    traceback, _, said = capsys.readouterr().err.partition("asyncguard: ")
    assert "TypeError" in traceback
    assert said.startswith("this is a fault of asyncguard; please report it")


@pytest.mark.parametrize(
    ("call", "status", "said"),
    [
        ("check . >/dev/full", 2, "standard output cannot be written to: No space left"),
        ("--help >/dev/full", 2, "standard output cannot be written to: No space left"),
        ("rules >/dev/full", 2, "standard output cannot be written to: No space left"),
        ("check . >&-", 2, "standard output cannot be written to: it is closed"),
        ("check -q clean.py >&-", 0, ""),
        ("check . 2>&- >out.txt", 1, ""),
        ("check . 2>/dev/full >out.txt", 1, ""),
        ("check - <&-", 2, "'-': standard input is closed"),
        ("check none.py 2>&-", 2, ""),
    ],
)
def test_streams_that_are_full_or_closed(hot: Path, call: str, status: int, said: str) -> None:
    (hot.parent / "clean.py").write_text(CLEAN)
    command = f"{sys.executable} -m asyncguard {call}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == status
    assert done.stderr.startswith(f"asyncguard: {said}" if said else "")
    assert done.stderr.count("\n") == bool(said)


COMPARED = """
import numpy
from asyncguard.engine import np


def train(steps):
    for _ in range(steps):
        y = np.ones((2, 2)) + 1
        y.wait_to_read()
        if steps > 100:
            print(y)


train(5)
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_check_compares_with_a_trace(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(COMPARED)
    run = [*warm.python(), "-m", "asyncguard", "run", "-q", "--lines", "-o", "t.json"]
    subprocess.run([*run, "train.py"], cwd=tmp_path, check=True, timeout=240)
    monkeypatch.chdir(tmp_path)
    options = ["--no-cache", "--trace", "t.json", "--format", form, "train.py"]
    assert main(["check", *options, "--exit-zero"]) == 0
    shown = capsys.readouterr().out
    if form == "json":
        verdicts = {place["line"]: place["verdict"] for place in json.loads(shown)["places"]}
        assert verdicts == {9: "confirmed", 11: "never executed"}
    else:
        assert "train.py:9: confirmed 5 x" in shown
        assert "1 confirmed; 1 never executed" in shown


def test_a_comparison_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--trace", "t.json", "--fix", "."]) == 2
    assert "--trace compares files as they are" in capsys.readouterr().err
