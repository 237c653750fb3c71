"""`run --children`: each process that waits has a trace, and none can tell that it is followed."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard import reports
from asyncguard.model import AsyncguardError
from asyncguard.render import Screen
from asyncguard.runtime import family, store
from asyncguard.runtime.ending import FORKED, Ending
from asyncguard.runtime.family import Family
from asyncguard.runtime.keeper import Keeper
from asyncguard.runtime.session import Session
from asyncguard.startup import sitecustomize
from tests import warm
from tests.frameworks import require
from tests.records import record, site

ROOT = Path(__file__).parents[2]
WORK = """
def work(n):
    from asyncguard.engine import np
    for _ in range(n):
        np.ones(2).wait_to_read()
"""


class Ran:
    """A finished run, and the traces that it left."""

    def __init__(self, process: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.traces = {path.name: store.load(path) for path in sorted(folder.glob("t*.json"))}

    @property
    def waits(self) -> dict[tuple[str, str], int]:
        """How often each process waited, by its name and how it came about."""
        processes = [(record.extra["process"], record) for record in self.traces.values()]
        return {(told["name"], told["how"]): record.total_syncs for told, record in processes}


@pytest.fixture
def follow(tmp_path: Path) -> Any:
    def run(
        text: str, *arguments: str, options: tuple[str, ...] = (), framework: str = "", **env: str
    ) -> Ran:
        (tmp_path / "script.py").write_text(textwrap.dedent(text))
        python = warm.python(framework) if framework else warm.python()
        command = [*python, "-m", "asyncguard", "run", "-q", "--children", *options, "-o", "t.json"]
        process = subprocess.run(
            [*command, "script.py", *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=240,
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        )  # fmt: skip
        return Ran(process, tmp_path)

    return run


def test_processes_are_followed_however_they_begin_and_end(follow: Any) -> None:
    ran = follow(
        f"""
        import multiprocessing as mp, os, subprocess, sys
        {textwrap.indent(WORK, " " * 8)}
        def leave():
            work(6)
            os._exit(7)

        def fail():
            work(9)
            raise ValueError("mine")

        if __name__ == "__main__":
            work(1)
            for n, how in enumerate(("fork", "spawn", "forkserver"), 2):
                process = mp.get_context(how).Process(target=work, args=(n,), name=how)
                process.start()
                process.join()
            subprocess.run([sys.executable, "-c", "import script; script.work(5)"], check=True)
            for target in (leave, fail):
                process = mp.get_context("fork").Process(target=target, name=target.__name__)
                process.start()
                process.join()
                print(process.exitcode)
            for n, end in ((10, lambda: os.execv("/bin/echo", ["echo", "executed"])), (11, None)):
                sys.stdout.flush()
                if not (child := os.fork()):
                    work(n)
                    sys.argv[0] = str(n)
                    if end is None:
                        raise SystemExit(3)
                    end()
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            with mp.get_context("fork").Pool(1) as pool:
                pool.map(work, [12])
                pool.close()
                pool.join()
            subprocess.run(["true"], preexec_fn=lambda: None, check=True)
        """
    )
    assert ran.status == 0, ran.err
    assert ran.out.split() == ["7", "1", "executed", "0", "3"]
    pool = [key for key in ran.waits if key[0].startswith("ForkPoolWorker")]
    assert ran.waits == {
        ("script.py", ""): 1,
        ("fork", "forked"): 2,
        ("spawn", "started"): 3,
        ("forkserver", "started"): 4,
        ("-c", "started"): 5,
        ("leave", "forked"): 6,
        ("fail", "forked"): 9,
        ("10", "forked"): 10,
        ("11", "forked"): 11,
        pool[0]: 12,
    }
    ends = {told.extra["process"]["name"]: told for told in ran.traces.values()}
    assert [ends[name].exit_status for name in ("leave", "fail", "11")] == [7, 1, 3]
    assert all(told.complete for told in ran.traces.values())
    assert len({told.extra["family"] for told in ran.traces.values()}) == 1


def test_without_the_option_no_child_writes_a_trace(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(f"import os\n{WORK}\nif os.fork():\n    os.wait()\nwork(2)\n")
    command = [*warm.python(), "-m", "asyncguard", "run", "-q", "-o", "t.json", "s.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, check=True, env=env)
    assert [path.name for path in tmp_path.glob("t*.json")] == ["t.json"]
    assert "family" not in store.load(tmp_path / "t.json").extra


def test_workers_of_a_loader_are_left_out(follow: Any) -> None:
    require("torch")
    ran = follow(
        """
        import torch

        class Numbers(torch.utils.data.Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, index):
                return torch.ones(3)[:int(torch.ones(1).item())]

        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2)
            for batch in loader:
                batch.sum().item()
        """,
        framework="torch",
    )
    assert ran.status == 0, ran.err
    assert ran.waits == {("script.py", ""): 4}


def test_processes_that_are_spawned_have_the_simulated_device_too(follow: Any) -> None:
    require("torch")
    ran = follow(
        """
        import torch

        def work(rank, n):
            for _ in range(n):
                torch.ones(3, device="cuda").sum().item()

        if __name__ == "__main__":
            work(0, 1)
            torch.multiprocessing.spawn(work, args=(3,), nprocs=1)
        """,
        options=("--sim", "cuda:t4"),
        framework="torch",
    )
    assert ran.status == 0, ran.err
    assert sorted(ran.waits.values()) == [1, 3]
    assert {told.device for told in ran.traces.values()} == {"Tesla T4 (simulated)"}


def test_the_ranks_of_a_launcher_are_known_by_their_rank(follow: Any) -> None:
    ran = follow(
        f"""
        import os, subprocess, sys
        {textwrap.indent(WORK, " " * 8)}
        if "RANK" in os.environ:
            work(2)
            if not os.fork():
                work(5)
                os._exit(0)
            os.wait()
        else:
            for rank in ("0", "1"):
                env = {{**os.environ, "RANK": rank, "WORLD_SIZE": "2"}}
                subprocess.run([sys.executable, "script.py"], env=env, check=True)
        """
    )
    assert ran.status == 0, ran.err
    assert ran.traces["t.rank0.json"].total_syncs == ran.traces["t.rank1.json"].total_syncs == 2
    assert sorted(told.total_syncs for told in ran.traces.values()) == [0, 2, 2, 5, 5]


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_a_child_that_is_terminated_is_saved_where_that_is_asked_for(how: str, follow: Any) -> None:
    program = f"""
        import multiprocessing as mp, signal, sys
        {textwrap.indent(WORK, " " * 8)}
        def child(pipe):
            work(3)
            pipe.send("worked")
            signal.pause()

        if __name__ == "__main__":
            mp.set_start_method(sys.argv[1])
            here, there = mp.Pipe()
            process = mp.Process(target=child, args=(there,), name="child")
            process.start()
            here.recv()
            process.terminate()
            process.join()
            print(process.exitcode)
        """
    ran = follow(program, how, options=("--save-on-signal",))
    assert ran.out == "-15\n", ran.err
    assert sorted(ran.waits.values()) == [0, 3]


def test_children_that_are_forked_amid_waits_of_threads_all_end(follow: Any) -> None:
    ran = follow(
        f"""
        import os, threading
        {textwrap.indent(WORK, " " * 8)}
        over = threading.Event()

        def busy():
            while not over.is_set():
                work(10)

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            if not (child := os.fork()):
                os._exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        over.set()
        for thread in threads:
            thread.join()
        """
    )
    assert ran.out.split() == ["5"] * 10, ran.err
    assert list(ran.traces) == ["t.json"]


def test_a_started_python_cannot_tell(tmp_path: Path) -> None:
    """Not even one whose PYTHONPATH has a `sitecustomize` already."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("THEIRS = True\n")
    (tmp_path / "s.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'see.py'])"
    )
    (tmp_path / "see.py").write_text(
        "import sitecustomize, sys\n"
        "print(sys.path, sitecustomize.THEIRS, 'asyncguard' in sys.modules, sys.argv)\n"
        "import asyncguard.engine\nprint(sys.path, __import__('asyncguard.engine').engine)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "theirs"), str(ROOT)])}
    run = {"cwd": tmp_path, "env": env, "capture_output": True, "text": True, "check": True}
    plain = subprocess.run([sys.executable, "s.py"], **run)  # type: ignore[call-overload]
    options = ["-m", "asyncguard", "run", "-q", "--children", "-o", "t.json"]
    followed = subprocess.run([sys.executable, *options, "s.py"], **run)  # type: ignore[call-overload]
    assert "True False" in plain.stdout
    assert (followed.stdout, followed.stderr) == (plain.stdout, plain.stderr)


def test_another_python_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = list(sys.meta_path)
    for told in ("", "\n", f"{sys.prefix} 30a00f0,torch\n{{}}", "nonsense"):
        monkeypatch.setenv(family.VARIABLE, told)
        sitecustomize.start()
        assert sys.meta_path == before
    monkeypatch.setenv(family.VARIABLE, f"{family.PYTHON},torch\n{{}}")
    sitecustomize.start()
    assert len(sys.meta_path) == len(before) + 1


def test_a_family_is_told_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setenv(family.VARIABLE, "")
    given = Family.founded(
        tmp_path / "t.json", {"lines": True, "own": ["d2l"]}, every=5.0, on_signal=True,
        simulated=("h200", 1, "fixed", "raise"),
    )  # fmt: skip
    given.tell()
    told = Family.told(os.environ[family.VARIABLE])
    assert replace(told, simulated=tuple(told.simulated or ())) == given
    given.tell()
    assert os.environ["PYTHONPATH"] == os.pathsep.join([str(family.STARTUP), "somewhere"])


def test_a_child_is_saved_soon_and_then_less_and_less_often() -> None:
    assert list(itertools.islice(family.pauses(1.5), 5)) == [0.25, 0.5, 1.0, 1.5, 1.5]
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) == 3

    saved: list[None] = []
    Keeper(lambda: saved.append(None), family.pauses(60.0), wait).run()
    assert (waited, len(saved)) == ([0.25, 0.5, 1.0], 2)


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Ending]:
    session = Session()
    joined = Family("run", str(tmp_path / "t.json"), {})
    ending = Ending(
        session, joined.own_path, None, lambda: None, 0.0, False, None, joined, FORKED
    )  # fmt: skip
    session.start()
    yield ending
    session.stop()


def test_a_child_that_is_killed_leaves_what_was_saved_last(child: Ending, tmp_path: Path) -> None:
    np = pytest.importorskip("asyncguard.engine").np
    child.keep()
    assert list(tmp_path.iterdir()) == []  # it has not waited
    np.ones(1).wait_to_read()
    child.keep()
    (path,) = tmp_path.iterdir()
    assert path.name == f"t.child{os.getpid()}.json"
    told = store.load(path)
    assert (told.total_syncs, told.complete) == (1, False)


def write(path: Path, run: str, how: str = FORKED, **values: Any) -> None:
    process = {"pid": 7, "parent": 3, "name": "w", "how": how}
    given = record(site(), duration_ns=10**9, extra={"family": run, "process": process}, **values)
    store.save(given, path)


def test_the_traces_of_the_run_before_go_and_nothing_else(tmp_path: Path) -> None:
    for name in ("t.child1.json", "t.rank0.json", "u.child1.json", "t.childx.json", "t.child2.txt"):
        write(tmp_path / name, "before")
    store.save(record(site()), tmp_path / "t.rank5.json")
    (tmp_path / "t.child9.json").write_text("{")
    Family.founded(tmp_path / "t.json", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "t.child2.txt", "t.child9.json", "t.childx.json", "t.rank5.json", "u.child1.json",
    ]  # fmt: skip


@pytest.fixture
def joined(tmp_path: Path) -> Path:
    write(tmp_path / "t.json", "now", how="")
    write(tmp_path / "t.child7.json", "now", complete=False)
    write(tmp_path / "t.child8.json", "another run")
    (tmp_path / "t.child9.json").write_text("{")
    return tmp_path / "t.json"


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_a_report_joins_the_processes(name: str, joined: Path) -> None:
    if name == "html":
        pytest.importorskip("jinja2")
    text = reports.of_files([joined], name, Screen(120))
    assert "asyncguard: 2 processes" in text
    assert "7 w, forked by 3" in text
    assert "20 waits in all of them, 2.00 ms waited" in text
    assert "it runs still, or was killed" in text
    assert "t.child9.json" in text  # it cannot be read
    assert "another run" not in text


def test_processes_in_json_and_named_one_by_one(joined: Path) -> None:
    data = json.loads(reports.of_files([joined], "json", Screen()))
    assert data["total_syncs"] == 10
    assert data["processes"]["totals"] == [10, 10]
    paths = [joined, joined.with_name("t.child7.json")]
    assert "asyncguard: 2 processes" in reports.of_files(paths, "text", Screen())
    (child,) = paths[1:]
    assert "processes" not in json.loads(reports.of_files([child], "json", Screen()))


@pytest.mark.parametrize("process", [None, "x", {}, {"pid": 1}, [1], {"pid": -1, "parent": 2}])
def test_a_trace_that_says_nonsense_of_its_process_is_refused(
    process: object, tmp_path: Path
) -> None:
    odd = replace(record(site()), extra={"family": "now", "process": process})
    store.save(odd, tmp_path / "t.json")
    with pytest.raises(AsyncguardError, match=r"t\.json: not a trace"):
        reports.of_files([tmp_path / "t.json"], "text", Screen())


def test_a_process_of_no_family_is_shown_alone(tmp_path: Path) -> None:
    told = {"pid": 7, "parent": 3, "name": "w", "how": ""}
    store.save(replace(record(site()), extra={"process": told}), tmp_path / "t.json")
    write(tmp_path / "t.child7.json", "now")
    assert "processes" not in json.loads(reports.of_files([tmp_path / "t.json"], "json", Screen()))
