"""Traces of runs that last: saved meanwhile, at deadly signals, and never to the program's harm."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncguard.runtime import store
from asyncguard.runtime.ending import Ending
from asyncguard.runtime.identity import identity, revision
from asyncguard.runtime.keeper import Keeper
from asyncguard.runtime.session import Session

ROOT = Path(__file__).parents[2]
WAITS = """
import sys
from asyncguard.engine import np
for _ in range(5):
    np.ones(1).wait_to_read()
print("waited", flush=True)
for line in sys.stdin:
    np.ones(1).wait_to_read()
    print("again", flush=True)
"""


def test_it_saves_until_it_is_over() -> None:
    saved: list[float] = []
    answers: Iterator[bool] = iter([False, False, False, True])

    def wait(seconds: float) -> bool:
        saved.append(seconds)
        return next(answers)

    count: list[int] = []
    Keeper(lambda: count.append(1), 7.5, wait).run()
    assert saved == [7.5] * 4
    assert len(count) == 3


def ending(folder: Path) -> Ending:
    made = Ending(Session(), folder / "trace.json", None, lambda: None, 0.0)
    made._session.start()
    return made


def test_a_folder_that_is_gone_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    made = ending(folder)
    made.keep()
    assert store.load(folder / "trace.json").total_syncs == 0
    shutil.rmtree(folder)
    for _ in range(3):
        made.keep()
    made.save()
    assert capsys.readouterr().err.count("cannot write the trace") == 1


def test_a_full_disk_keeps_what_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ending(tmp_path)
    made.keep()
    before = (tmp_path / "trace.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    made.keep()
    made.save()
    assert (tmp_path / "trace.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
    assert capsys.readouterr().err.count("No space left on device") == 1


def _hear_signals() -> None:
    """Have the signals do what they do by default: under `nohup` or behind `&` some are ignored."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A program under `asyncguard run` that waits five times, and once for each line it is sent."""

    def __init__(self, folder: Path, *options: str) -> None:
        (folder / "script.py").write_text(WAITS)
        self.trace = folder / "trace.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "asyncguard", "run", "-q", *options, "-o", "trace.json",
             "script.py"],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=_hear_signals,
        )  # fmt: skip
        self.read("waited")

    def read(self, expected: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{expected}\n"

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        return status


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_deadly_signals_save_the_trace_where_asked_and_stay_deadly(
    tmp_path: Path, name: str
) -> None:
    running = Running(tmp_path, "--save-every", "0", "--save-on-signal")
    assert not running.trace.exists()
    number = getattr(signal, name)
    assert running.end(number) == -number
    assert store.load(running.trace).total_syncs == 5


HANDLERS = """
import os, signal, sys
from asyncguard.engine import np

numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1]
print([signal.getsignal(n) is signal.SIG_DFL for n in numbers])
for number in numbers:
    if signal.getsignal(number) in (signal.SIG_DFL, signal.SIG_IGN) or "--own" in sys.argv:
        signal.signal(number, lambda n, _: print("requeued", n))
float(np.ones(3).sum())
for number in numbers:
    os.kill(os.getpid(), number)
print("end")
"""


@pytest.mark.parametrize("options", [[], ["--save-on-signal"]])
def test_a_program_finds_no_handlers_and_its_own_decide(tmp_path: Path, options: list[str]) -> None:
    """As Lightning, which requeues a job of Slurm's only where nobody handles the signal."""
    (tmp_path / "script.py").write_text(HANDLERS)
    ended = subprocess.run(
        [sys.executable, "-m", "asyncguard", "run", "-q", *options, "-o", "trace.json",
         "script.py", "--own"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=_hear_signals,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = ended.stdout.splitlines()
    assert lines[0] == str([not options] * 3)
    assert lines[1:] == [f"requeued {n}" for n in (15, 1, 10)] + ["end"]
    assert ended.returncode == 0
    assert store.load(tmp_path / "trace.json").total_syncs == 1


def test_a_forked_child_waits_for_no_lock_of_its_parents(tmp_path: Path) -> None:
    made, held, over = ending(tmp_path), threading.Event(), threading.Event()

    def hold() -> None:
        with made._lock:
            held.set()
            over.wait()

    saver = threading.Thread(target=hold)
    saver.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # rather than for ever
        made.save()  # as at the child's end
        os._exit(7)
    _, status = os.waitpid(child, 0)
    over.set()
    saver.join()
    made.give_up()
    assert os.waitstatus_to_exitcode(status) == 7
    assert not (tmp_path / "trace.json").exists()


def test_a_killed_program_leaves_what_was_saved_last(tmp_path: Path) -> None:
    running = Running(tmp_path, "--save-every", "0.05")
    until = time.monotonic() + 60
    while not running.trace.exists() or store.load(running.trace).total_syncs < 5:
        assert time.monotonic() < until
    assert running.end(signal.SIGKILL) == -signal.SIGKILL
    assert store.load(running.trace).total_syncs == 5
    leftovers = {path.name for path in tmp_path.iterdir()} - {"trace.json", "script.py"}
    assert all(name.startswith(".trace.json.") for name in leftovers)


def test_the_identity_says_what_launchers_say() -> None:
    environment = {
        "SLURM_JOB_ID": "77",
        "TORCHELASTIC_RUN_ID": "none",
        "MASTER_ADDR": "node1",
        "MASTER_PORT": "29500",
    }
    found = identity("/", ["H200", "H200"], environment)
    assert (found["job"], found["run"], found["devices"]) == ("77", "node1:29500", ["H200"])
    assert found["host"]
    assert "revision" not in found


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_the_revision_is_read_from_gits_files(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(f"{COMMIT}\n")
    below = tmp_path / "src" / "package"
    below.mkdir(parents=True)
    assert revision(below) == COMMIT
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert revision(below) == ""
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert revision(below) == COMMIT
    (git / "refs" / "heads" / "main").write_text(COMMIT[::-1] + "\n")
    assert revision(below) == COMMIT[::-1]
    worktree = tmp_path / "tree"
    (git / "worktrees" / "tree").mkdir(parents=True)
    (git / "worktrees" / "tree" / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "worktrees" / "tree" / "commondir").write_text("../..\n")
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    assert revision(worktree) == COMMIT[::-1]


@pytest.mark.parametrize("head", ["", "ref: ../../secret", "\0", "ref: refs/heads/x", "../" * 50])
def test_a_strange_repository_has_no_revision(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert revision(tmp_path) == ""


def test_a_saved_trace_says_when_and_where(tmp_path: Path) -> None:
    with Session() as session:
        pass
    store.save(session.record(), tmp_path / "t.json")
    extra = json.loads((tmp_path / "t.json").read_text())["extra"]
    assert extra["host"]
    assert extra["started"].endswith("+00:00")
