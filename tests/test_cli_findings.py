"""What the command line shows of findings, and how it silences and records them."""

from __future__ import annotations

import difflib
import io
import json
import sys
from pathlib import Path

import pytest

from asyncguard import files
from asyncguard.cli import fixes, main
from asyncguard.cli.findings import How, show
from asyncguard.cli.output import Output
from asyncguard.lint.check import LintResult
from asyncguard.model import Applicability, Edit, Fix
from asyncguard.runtime import store
from tests.records import finding, record, steady
from tests.sources import HOT

OTHER = HOT.replace("print(loss.item())", "torch.cuda.synchronize()\n        total = float(loss)")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.py").write_text(HOT)
    (tmp_path / "b.py").write_text(OTHER)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    capsys.readouterr()
    main(["check", "--no-cache", *options])
    return capsys.readouterr().out.splitlines()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_one_line_a_finding_and_a_terminal_the_source(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(line.split(":")[0] for line in check(capsys)[:3]) == ["a.py", "b.py", "b.py"]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    main(["check", "--no-cache"])
    assert "^^^^^^^^^^^" in terminal.getvalue()


def test_a_limit_says_what_it_holds_back(capsys: pytest.CaptureFixture[str]) -> None:
    lines = check(capsys, "--limit", "1", "--sort", "path")
    assert lines[0].startswith("a.py:8:15:")
    assert "Showing the first 1 of 3 (--limit)." in lines
    capsys.readouterr()
    assert main(["check", "--no-cache", "--limit", "2", "--format", "jsonl"]) == 1
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "Showing the first 2 of 3" in err


def test_groups_within_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    lines = check(capsys, "--group-by", "rule", "--limit", "2", "--sort", "path")
    assert lines[0] == "ASG102 (2)"
    assert [line.split(":")[0] for line in lines[1:3]] == ["a.py", "b.py"]
    assert not [line for line in lines if "ASG202" in line]


def test_a_limit_counts_all_that_can_be_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    *_, everything = check(capsys, "--sort", "path")
    *_, limited, _ = check(capsys, "--limit", "1", "--sort", "path")
    assert everything.partition("checked).")[2] == limited.partition("checked).")[2] != ""


def test_the_code_of_repairs_is_shown_also_of_those_to_complete(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = check(capsys, "--show-fixes", "a.py")
    assert "    -        print(loss.item())" in shown
    assert "    +            print(loss.item())" in shown
    sketch = Fix("ask", (Edit(8, 8, 8, 13, "log"),), Applicability.SHOWN)
    found = finding(path="a.py", line=8, source="print(loss.item())", fix=sketch)
    how = How(Output(), "text", fixes=True)
    show(how, [found], 1)
    lines = capsys.readouterr().out.splitlines()
    assert "    fix: ask (for you to decide)" in lines
    assert lines[-3:-1] == ["    -        print(loss.item())", "    +        log(loss.item())"]
    assert main(["check", "--show-fixes", "--output-format", "junit", "a.py"]) == 2
    assert "--show-fixes: junit has no place" in capsys.readouterr().err


def test_a_limit_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--limit", "0"]) == 2
    assert "--limit 0" in capsys.readouterr().err


def test_ignores_are_added_with_a_reason_and_silence_everything(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--no-cache", "--add-ignore=known, see #12", "."]) == 0
    assert "3 comments added in 2 files" in capsys.readouterr().err
    expected = "        print(loss.item())  # asyncguard: ignore[ASG102] known, see #12\n"
    assert (directory / "a.py").read_text().endswith(expected)
    assert main(["check", "--no-cache"]) == 0


def test_ignores_stand_at_the_end_of_a_logical_line(directory: Path) -> None:
    wrapped = HOT.replace(
        "print(loss.item())", "print(\n            loss.item(),  # as it is\n        )"
    )
    (directory / "a.py").write_text(wrapped)
    assert main(["check", "--no-cache", "--add-ignore", "a.py"]) == 0
    assert "\n        )  # asyncguard: ignore[ASG102]\n" in (directory / "a.py").read_text()
    assert main(["check", "--no-cache", "a.py"]) == 0


def test_several_findings_of_a_line_share_a_comment(directory: Path) -> None:
    both = HOT.replace("print(loss.item())", "print(loss.item(), loss)")
    (directory / "a.py").write_text(both)
    assert main(["check", "--no-cache", "--add-ignore", "a.py"]) == 0
    assert "  # asyncguard: ignore[ASG101, ASG102]\n" in (directory / "a.py").read_text()


def test_ignores_are_not_mixed_with_fixes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--add-ignore", "--fix"]) == 2
    assert "--add-ignore cannot be combined" in capsys.readouterr().err


TWO_SUMS = """\
import torch
import torch.nn.functional as F


def train(model, loader, optimizer, progress_bar):
    total, hits = 0.0, 0
    for step, (x, y) in enumerate(loader):
        out = model(x.cuda())
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        hits += (out.argmax(1) == y.cuda()).sum().item()
        progress_bar.set_postfix(loss=total, hits=hits)
    return total, hits
"""


def test_the_patch_is_what_fixing_does_in_all_rounds(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text(TWO_SUMS)
    assert main(["check", "--diff", "--unsafe-fixes"]) == 1
    shown = capsys.readouterr()
    assert Path("a.py").read_text() == TWO_SUMS
    main(["check", "--fix", "--unsafe-fixes"])
    told = capsys.readouterr().err.partition(" fixed")[0]
    assert shown.err.startswith(f"{told} would be fixed")
    patched = "".join(
        unified(f"a/{name}", f"b/{name}", TWO_SUMS, Path(name).read_text())
        for name in ("a.py", "b.py")
    )
    assert sorted(shown.out.splitlines()) == sorted(patched.splitlines())


def unified(old: str, new: str, before: str, after: str) -> str:
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, old, new))


def test_rounds_of_repairs_see_the_files_as_they_are_to_be(directory: Path) -> None:
    (directory / "a.py").write_text("x = 1\n")
    words = ["1", "22", "333", "4444"]

    def look(given: fixes.Given) -> fixes.Looked:
        text = files.read("a.py").decode()
        at = words.index(text[4:-1])
        new = words[at + 1 : at + 2]
        edits = (Edit(1, 4, 1, 4 + len(words[at]), new[0]),) if new else ()
        found = finding(
            path="a.py", line=1, source=text[:-1], fix=Fix("", edits, Applicability.SAFE)
        )
        return fixes.Looked(LintResult((found,), 1), [found], [])

    repaired = fixes.repaired(look({}), {}, look, unsafe=False)
    assert (directory / "a.py").read_text() == "x = 1\n"
    assert repaired.fixed == 3
    assert repaired.patch().splitlines()[-2:] == ["-x = 1", "+x = 4444"]
    repaired.write()
    assert (directory / "a.py").read_text() == "x = 4444\n"


def test_a_patch_without_repairs_is_empty_and_ends_with_0(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--diff", "a.py"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "asyncguard: 0 would be fixed, 1 would remain\n"


def test_a_read_only_file_is_not_repaired_nor_any_other(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "x = 1  # asyncguard: ignore[ASG102]\n"
    for name in ("a.py", "b.py", "c.py"):
        Path(name).write_text(f"import torch\n{source}")
    Path("b.py").chmod(0o444)
    assert main(["check", "--fix", "."]) == 2
    assert "b.py: cannot be written: is read-only" in capsys.readouterr().err
    assert all(source in Path(name).read_text() for name in ("a.py", "b.py", "c.py"))
    assert main(["check", "-o", "b.py", "a.py"]) == 2
    assert "b.py: cannot be written: is read-only" in capsys.readouterr().err


def test_stale_entries_of_a_baseline_are_told_and_pruned(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--no-cache", "--write-baseline", "base.json"]) == 0
    (directory / "b.py").write_text(HOT)
    told = "base.json: 2 entries are stale: they no longer occur; prune with "
    gate = ["gate", "--baseline", "base.json"]
    assert f"{told}`asyncguard gate --prune --baseline base.json PATHS`" in check(
        capsys, "--baseline", "base.json"
    )
    assert not any("stale" in x for x in check(capsys, "--baseline", "base.json", "a.py"))
    (directory / "b.py").write_text("import torch\n")
    (directory / "c.py").write_text(HOT.replace("def train", "def fit"))
    capsys.readouterr()
    assert main([*gate, "."]) == 1
    assert "stale" in capsys.readouterr().out
    assert main([*gate, "--prune", "."]) == 1  # what is new is not accepted by it
    assert "base.json: stale entries taken out: 2" in capsys.readouterr().out
    assert [entry["path"] for entry in json.loads(Path("base.json").read_text())["findings"]] == [
        "a.py"
    ]
    assert main([*gate, "a.py"]) == 0
    assert "stale" not in capsys.readouterr().out


def test_a_configured_baseline_holds_for_checks_hooks_and_explanations(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "asyncguard.toml").write_text('baseline = "known.json"\n')
    assert main(["check", "--no-cache", "."]) == 2
    assert "known.json: no such baseline; write one with `asyncguard gate --update`" in (
        capsys.readouterr().err
    )
    assert main(["gate", "--update", "."]) == 0
    assert "accepted 3 findings into known.json" in capsys.readouterr().out
    none, accepted = check(capsys)
    assert none == "No new findings in 2 files."
    assert accepted == "Not shown: 3 findings accepted by known.json (--no-baseline)."
    assert main(["check", "a.py"]) == main(["gate", "."]) == 0
    assert main(["check", "--no-baseline", "--exit-zero", "."]) == 0
    capsys.readouterr()
    assert main(["explain", "a.py:8"]) == 0
    assert "hidden: known.json accepts it" in capsys.readouterr().out
    (directory / "inner").mkdir()
    monkeypatch.chdir(directory / "inner")  # the paths in it are relative to the configuration
    assert main(["check", "--no-cache", ".."]) == main(["gate", ".."]) == 0
    Path("new.py").write_text(HOT)
    monkeypatch.chdir(directory)
    found, *_ = check(capsys)
    assert found.startswith("inner/new.py:8:15: ASG102")


def test_the_gate_reads_the_traces_of_a_folder(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "traces").mkdir()
    before = record(steady(1, path="a.py", line=8), step_count=10, steady_steps=10)
    store.save(before, Path("traces/one.json"))
    assert main(["gate", "--update", "a.py", "traces/"]) == 0
    assert "accepted 1 finding and 1 trace" in capsys.readouterr().out
    after = record(steady(3, path="a.py", line=8), step_count=10, steady_steps=10)
    store.save(after, Path("traces/one.json"))
    assert main(["gate", "a.py", "traces/"]) == 1
    assert "1 per step -> 3 per step" in capsys.readouterr().out
    store.save(after, Path("t.json"))
    main(["gate", "."])
    assert "t.json is a trace: it is not compared unless you name it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["concise", "json", "sarif", "github", "gitlab", "junit"])
def test_the_gate_writes_every_format_of_findings_and_of_sites(
    directory: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = record(steady(1, path="a.py", line=8), step_count=10, steady_steps=10)
    store.save(before, Path("t.json"))
    assert main(["gate", "--update", "a.py", "t.json"]) == 0
    after = record(steady(3, path="a.py", line=8), step_count=10, steady_steps=10)
    store.save(after, Path("t.json"))
    capsys.readouterr()
    assert main(["gate", "--output-format", name, "a.py", "t.json"]) == 1
    assert "waits 3 per step; before: 1 per step" in capsys.readouterr().out


def test_what_the_source_allows_is_counted_and_listed(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "asyncguard.toml").write_text('allow-contexts = ["sync_ok"]\n')
    read = "        print(loss.item())"
    meant = f"        with sync_ok():\n    {read}"
    (directory / "a.py").write_text(HOT.replace(read, meant))
    lines = check(capsys)
    assert "Not shown: 1 finding allowed in the source (--show-allowed)." in lines
    assert not any(line.startswith("a.py") for line in lines)
    assert [line[:5] for line in check(capsys, "--show-allowed")][:1] == ["a.py:"]
    assert main(["check", "--no-cache", "--show-allowed", "--quiet"]) == 0


def test_names_in_the_configuration_place_values(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "asyncguard.toml").write_text('host-names = ["loss"]\n')
    assert not any("loss.item()" in line for line in check(capsys))
    (directory / "asyncguard.toml").write_text('host-names = [""]\n')
    assert main(["check", "--no-cache"]) == 2
    assert "host-names: a text is empty" in capsys.readouterr().err
