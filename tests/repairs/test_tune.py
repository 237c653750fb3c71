"""`asyncguard tune`: a copy is repaired, run and compared; nothing in place changes unasked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from asyncguard import cli
from asyncguard.model import AsyncguardError
from asyncguard.tune import copies, loop, outputs
from tests import warm
from tests.frameworks import require

require("torch")

TRAIN = """\
import sys
import torch
import torch.nn.functional as F

torch.manual_seed(0)
model = torch.nn.Linear(4, 3).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [
    (torch.randn(5, 4, device="cuda"), torch.randint(0, 3, (5,), device="cuda")) for _ in "123456"
]
total = 0.0
for x, y in data:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    torch.cuda.synchronize()
print(total, *sys.argv[1:])
open("made.txt", "a").write("x")
"""
REPAIRED = TRAIN.replace("loss.item()", "loss.detach().double()").replace(
    "    torch.cuda.synchronize()\n", "torch.cuda.synchronize()\ntotal = float(total)\n"
)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", warm.executable("torch"))
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def tune(*words: str) -> int:
    return cli.main(["tune", "--sim", "cuda", *words])


def test_a_copy_is_repaired_and_compared(
    script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert tune("--unsafe-fixes", "--keep", "kept", "train.py", "seven") == 0
    shown = capsys.readouterr().out
    assert "outputs: equal\n" in shown
    assert "waits a step: 2 -> " in shown
    assert "+    total += loss.detach().double()" in shown
    assert "Left as they are" not in shown
    assert script.read_text() == TRAIN
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"train.py", "before.json", "after.json", "repairs.patch"}
    subprocess.run(["git", "apply", "kept/repairs.patch"], check=True)
    assert script.read_text() == REPAIRED


def test_the_repairs_are_written_where_asked(script: Path) -> None:
    assert tune("--unsafe-fixes", "--in-place", "train.py") == 0
    assert script.read_text() == REPAIRED


def test_nothing_to_repair(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("train.py") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("No repair for what waited in this run; try --unsafe-fixes.\n")
    assert "Left as they are: train.py:17, train.py:18" in shown


def git(*words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_repairs_are_committed_on_a_branch(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    git("init", "--quiet")
    git("add", "train.py")
    git("commit", "--quiet", "-m", "first")
    assert tune("--unsafe-fixes", "--branch", "tuned", "train.py") == 0
    assert script.read_text() == TRAIN
    assert git("show", "tuned:train.py") == REPAIRED
    assert "train.py:17: add to `total`" in git("log", "-1", "--format=%B", "tuned")
    assert git("worktree", "list").count("\n") == 1
    assert tune("--branch", "none", "train.py") == 0  # no safe repair: no branch
    assert "none" not in git("branch")


def test_what_cannot_be_tuned_says_why(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("nosuch.py") == 2
    assert tune() == 2
    assert tune("--branch", "a", "--in-place", "train.py") == 2
    script.write_text("raise SystemExit(3)\n")
    assert tune("train.py") == 0
    error = capsys.readouterr().err
    assert "nosuch.py: there is no such script" in error
    assert "name a script" in error
    assert "choose one" in error


def test_reports_that_are_printed_less_often_are_no_difference(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(TRAIN.replace("    total += loss.item()", "    print(loss.item())"))
    assert tune("--unsafe-fixes", "train.py") == 0
    assert "outputs: equal, but for 5 lines that are no longer printed" in capsys.readouterr().out
    assert outputs.compare("1\n2\n3\n", "1\n3\n").fewer == 1
    assert outputs.compare("1\n2\n3\n", "3\n1\n").fewer == 0


@pytest.mark.parametrize(
    ("before", "after", "equal"),
    [
        ("loss 1.25\n", "loss 1.25\n", True),
        ("loss 1.250000\n", "loss 1.2500001\n", True),
        ("loss 1.25\n", "loss 1.26\n", False),
        ("right 12\n", "right 13\n", False),
        ("a\n", "a\nb\n", False),
        ("a 1.0\n", "b 1.0\n", False),
        ("nan 1e-3\n", "nan 0.001\n", True),
    ],
)
def test_outputs_are_equal_but_for_rounding(before: str, after: str, equal: bool) -> None:
    assert outputs.compare(before, after).equal == equal


@pytest.mark.parametrize(
    ("before", "again", "after", "equal", "unstable"),
    [
        ("loss 1.5 in 3.25 s\n", "loss 1.5 in 3.5 s\n", "loss 1.5 in 4.0 s\n", True, 1),
        ("loss 1.5 in 3.25s\n", "loss 1.5 in 3.5s\n", "loss 1.6 in 4.0s\n", False, 1),
        ("at 0x7f1\nloss 1.5\n", "at 0x8e2\nloss 1.5\n", "at 0x999\nloss 1.5\n", True, 1),
        ("at 0x7f1\nloss 1.5\n", "at 0x8e2\nloss 1.5\n", "at 0x999\nloss 2.5\n", False, 1),
        ("loss 1.5\n", "loss 1.5\n", "loss 1.6\n", False, 0),
        ("a\nb\n", "a\n", "a\nc\n", True, 1),
        ("a\n", "a\nb\n", "a\nb\n", False, 0),
    ],
)
def test_what_differs_from_run_to_run_is_left_out(
    before: str, again: str, after: str, equal: bool, unstable: int
) -> None:
    assert not outputs.compare(before, after).equal
    found = outputs.compare(before, after, again)
    assert (found.equal, found.unstable) == (equal, unstable)


def test_reports_that_are_printed_less_often_may_say_how_long_they_took() -> None:
    before, again = "1.5 in 7 s\n2.5 in 7 s\n3.5 in 7 s\n", "1.5 in 8 s\n2.5 in 8 s\n3.5 in 9 s\n"
    assert outputs.compare(before, "1.5 in 2 s\n3.5 in 3 s\n", again).fewer == 1
    assert outputs.compare(before, "1.5 in 2 s\n4.5 in 3 s\n", again).fewer == 0


def test_a_program_that_prints_its_time_prints_the_same(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Its fraction: of a machine that has run for long, seconds apart are the same but for rounding.
    script.write_text(TRAIN + "import time\nprint(time.perf_counter() % 1, 'seconds')\n")
    assert tune("--unsafe-fixes", "train.py") == 0
    told = "outputs: equal, but for 1 line in which runs of the old program differ\n"
    assert told in capsys.readouterr().out


def test_what_lies_beside_the_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "seed.txt").write_text("7")
    (tmp_path / "program").mkdir()
    monkeypatch.chdir(tmp_path / "program")
    monkeypatch.setattr(sys, "executable", warm.executable("torch"))
    seed = 'int(open("../data/seed.txt").read())'
    text = TRAIN.replace("torch.manual_seed(0)", f"torch.manual_seed({seed})")
    Path("train.py").write_text(text)
    assert tune("--unsafe-fixes", "train.py") == 0
    assert "outputs: equal\n" in capsys.readouterr().out


def test_data_is_linked_or_left_out_and_never_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "LARGE", 100)
    monkeypatch.setattr(copies, "SMALL", 10)
    folder, target = tmp_path / "folder", tmp_path / "target"
    (folder / "data").mkdir(parents=True)
    for name, size in (("a.py", 50), ("large.bin", 101), ("data/b.bin", 20), ("data/c.txt", 5)):
        (folder / name).write_bytes(b"x" * size)
    (folder / "notes").mkdir()
    (folder / ".gitignore").write_text("data/\n")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    shared = copies.copied(folder, target, ["notes"])
    assert {path.name for path in shared} == {"large.bin", "b.bin"}
    assert (target / "data" / "b.bin").is_symlink()
    assert not (target / "a.py").is_symlink()
    assert not (target / "data" / "c.txt").is_symlink()
    assert not (target / "notes").exists()
    copies.require_same(shared)
    (target / "large.bin").write_bytes(b"y")
    with pytest.raises(AsyncguardError, match=r"leave it out: --exclude large\.bin"):
        copies.require_same(shared)


def test_a_branch_of_a_tree_with_changes_is_refused_with_the_reason(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("init", "--quiet")
    git("add", "train.py")
    git("commit", "--quiet", "-m", "first")
    script.write_text(f"{TRAIN}\n")
    assert tune("--branch", "tuned", "train.py") == 2
    assert "has changes that are not committed" in capsys.readouterr().err
    assert git("branch", "--list", "tuned") == ""


def test_a_repair_that_is_predicted_to_save_nothing_is_not_made(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "asyncguard.tune.plan._ranked",
        lambda record, steps: [step._replace(saving_ns=0) for step in steps],
    )
    assert tune("--unsafe-fixes", "train.py") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("No repair for what waited in this run")
    assert "Left as they are: train.py:17, train.py:18" in shown


def test_a_repair_that_makes_a_race_is_refused(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = loop.fix_files

    def with_a_race(findings: Any, **options: Any) -> Any:
        outcome = own(findings, **options)
        path = Path(findings[0].path)
        early = "h = torch.ones(8, device='cuda').to('cpu', non_blocking=True)\nh.sum()\n"
        path.write_text(path.read_text() + early)
        return outcome

    monkeypatch.setattr(loop, "fix_files", with_a_race)
    assert tune("--unsafe-fixes", "--in-place", str(script)) == 1
    told = capsys.readouterr().out
    assert "Refused: with the repairs, host memory is used while a copy may still use it" in told
    assert "ASG404: host memory is read at" in told
    assert script.read_text() == TRAIN
