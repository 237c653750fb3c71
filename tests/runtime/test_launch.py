"""`asyncguard run` beside plain python: the script must not be able to tell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asyncguard.runtime import store
from tests import warm
from tests.frameworks import require

ASYNCGUARD = ["-m", "asyncguard", "run", "-q", "-o", "trace.json"]
ROOT = Path(__file__).parents[2]
WAIT = "from asyncguard.engine import np\nnp.ones(1).wait_to_read()\n"


class Ran:
    """A finished process: status, output, and where it ran."""

    def __init__(self, process: subprocess.CompletedProcess[str], directory: Path) -> None:
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.trace = directory / "trace.json"

    def total(self) -> int:
        return store.load(self.trace).total_syncs


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(text: str, name: str = "script.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
        return name

    return write


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def start(words: list[str], *arguments: str, stdin: str = "", cold: bool = False) -> Ran:
        python = [sys.executable] if cold else warm.python()
        process = subprocess.run(
            [*python, *words, *arguments],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return Ran(process, tmp_path)

    return start


def same_as_python(
    run: Any, *arguments: str, stdin: str = "", cold: bool = False, options: Sequence[str] = ()
) -> Ran:
    """Run both ways; what can be seen from outside has to be equal."""
    plain = run([], *arguments, stdin=stdin, cold=cold)
    traced: Ran = run([*ASYNCGUARD, *options], *arguments, stdin=stdin, cold=cold)
    assert (traced.status, traced.out) == (plain.status, plain.out)
    assert traced.err == plain.err
    return traced


def test_the_script_sees_what_python_shows_it(script: Any, run: Any) -> None:
    script(
        """
        import sys, __main__
        print(sys.argv, sys.path[0], __name__, __file__, __spec__, __package__, __doc__)
        print(__builtins__, type(__loader__).__name__, __main__.__dict__ is globals())
        print(sorted(n for n in globals() if n.startswith("__")))
        print(sys.stdin.read())
        """
    )
    ran = same_as_python(run, "script.py", "a", "--flag", "-o", "x", stdin="typed", cold=True)
    assert ran.total() == 0


def test_a_module_is_run_as_with_dash_m(script: Any, run: Any, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    script(
        """
        import sys
        from package import __name__ as name
        print(sys.argv, sys.path[0], __name__, __spec__.name, __package__, name)
        raise SystemExit(4)
        """,
        "package/__main__.py",
    )
    ran = same_as_python(run, "-m", "package", "a", "-b", cold=True)
    assert ran.status == 4
    assert ran.trace.exists()


def test_a_directory_with_a_main_is_run(script: Any, run: Any, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    script("import sys; print(sys.argv, sys.path[0], __name__)", "app/__main__.py")
    same_as_python(run, "app", "x", cold=True)


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "raise ValueError('mine')",
        "raise SystemExit",
        "raise SystemExit(3)",
        "raise SystemExit('a message')",
        "import sys; sys.exit(True)",
        "def f(): g()\ndef g(): 1 / 0\nf()",
        "raise BrokenPipeError",
        "import asyncguard\nraise asyncguard.AsyncguardError('mine')",
        "import sys; sys.excepthook = lambda *a: print('hooked', a[0]); 1 / 0",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError from e",
        "import threading, time\n"
        "t = threading.Thread(target=lambda: print('thread'))\nt.start()\nraise OSError",
        "import atexit; atexit.register(print, 'bye'); raise RuntimeError",
    ],
)
def test_however_it_ends_status_and_traceback_are_its_own(
    ending: str, script: Any, run: Any
) -> None:
    script(WAIT + ending)
    cold = ending == "raise ValueError('mine')"  # the others need no more than a process
    assert same_as_python(run, "script.py", cold=cold).total() == 1


def test_an_interrupt_ends_it_as_it_ends_python(script: Any, run: Any) -> None:
    script(WAIT + "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    ran = same_as_python(run, "script.py")
    assert ran.status == -signal.SIGINT
    assert ran.total() == 1


def test_a_syntax_error_is_shown_as_python_shows_it(script: Any, run: Any) -> None:
    script("x = (\n")
    assert same_as_python(run, "script.py", cold=True).status == 1


def test_a_missing_script_is_a_wrong_call(run: Any) -> None:
    ran = run(ASYNCGUARD, "none.py")
    assert ran.status == 2
    assert "none.py: cannot read the script" in ran.err


def test_threads_that_outlive_the_script_are_traced(script: Any, run: Any) -> None:
    script(
        """
        import threading
        from asyncguard.engine import np
        main_ended = threading.Event()
        x = np.ones(1)  # here: Python 3.12 starts no thread, the engine's either, once main ended
        def work():
            main_ended.wait(10)
            x.wait_to_read()
        threading.Thread(target=work).start()
        threading.Timer(0.0, main_ended.set).start()
        """
    )
    assert run(ASYNCGUARD, "script.py").total() == 1


def test_processes_of_the_script_write_no_trace(script: Any, run: Any) -> None:
    script(
        """
        import multiprocessing as mp
        import os, sys
        from asyncguard.engine import np

        class Square:
            def __call__(self, x):
                return x * x

        if __name__ == "__main__":
            np.ones(1).wait_to_read()
            for method in ("fork", "spawn"):
                with mp.get_context(method).Pool(2) as pool:
                    print(pool.map(Square(), range(4)))
            if os.fork() == 0:
                sys.exit(0)
            print(os.wait()[1])
        """
    )
    ran = run(ASYNCGUARD, "script.py")
    assert (ran.status, ran.out) == (0, "[0, 1, 4, 9]\n[0, 1, 4, 9]\n0\n")
    assert ran.total() == 1


FORKING = """
import multiprocessing as mp
import os, signal, sys, threading, warnings

def waits_for_a_signal():
    signal.pause()

if __name__ == "__main__":
    warnings.simplefilter("default")
    for _ in range(5):
        child = mp.get_context("fork").Process(target=waits_for_a_signal)
        child.start()
        child.terminate()
        child.join()
        print(child.exitcode)
    if child := os.fork():
        print(os.waitpid(child, 0)[1])
    else:
        print(signal.getsignal(signal.SIGTERM), sys.gettrace(), threading.gettrace())
        if sys.version_info >= (3, 12):
            print([sys.monitoring.get_tool(at) for at in range(6)])
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.parametrize("options", [[], ["--lines"]])
def test_a_forked_child_is_as_without_us_from_its_start_to_its_death(
    script: Any, run: Any, options: list[str]
) -> None:
    """From Python 3.12 on a fork warns where a second thread runs: none of ours does."""
    script(FORKING)
    same_as_python(run, "script.py", cold=True, options=options)


LOADING = """
import signal
import torch
from torch.utils.data import DataLoader

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000
    def __getitem__(self, at):
        return torch.tensor(float(at))

signal.alarm(60)  # rather than for ever
for line in range(3000):  # a trace that takes its time to be saved
    exec(compile("\\n" * line + "torch.ones(1).item()", "lines.py", "exec"))
loader = DataLoader(Numbers(), batch_size=4, num_workers=2)
for at, batch in enumerate(loader):
    batch.sum().item()
    if at == 3:
        print("ready", flush=True)
"""


@pytest.mark.parametrize("options", [[], ["--save-on-signal"]])
def test_a_group_with_loader_workers_dies_of_sigterm(
    script: Any, tmp_path: Path, options: list[str]
) -> None:
    """torch raises from a handler of SIGCHLD that finds a worker gone: the first signal ends it."""
    require("torch")
    script(LOADING)
    program = subprocess.Popen(
        [sys.executable, *ASYNCGUARD, *options, "script.py"], cwd=tmp_path, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        os.killpg(program.pid, signal.SIGTERM)
        assert program.wait(120) == -signal.SIGTERM
    assert (tmp_path / "trace.json").exists() == bool(options)


def test_warnings_of_the_main_module_are_told_as_python_tells_them(script: Any, run: Any) -> None:
    text = """
        import warnings
        for level in (1, 2, 3, 4, 9):
            warnings.warn("beyond", stacklevel=level)
            warnings.warn("and old", DeprecationWarning, stacklevel=level)
        def inner():
            for level in (1, 2, 3, 4):
                warnings.warn("within", stacklevel=level)
        inner()
        """
    script(text)
    same_as_python(run, "script.py", cold=True)
    same_as_python(run, "-m", "script", cold=True)


def test_modules_called_like_libraries_of_ours_are_the_programs(script: Any, run: Any) -> None:
    for name in ("rich", "msgspec", "tomli"):
        script("mine = __name__", f"{name}.py")
    script(
        f"""
        import sys
        import rich, msgspec
        {WAIT.splitlines()[0]}
        np.ones(1).wait_to_read()
        print(rich.mine, msgspec.mine, sys.modules["rich"] is rich)
        """
    )
    words = [word for word in ASYNCGUARD if word != "-q"]
    ran = run(words, "script.py", cold=True)
    assert (ran.status, ran.out) == (0, "rich msgspec True\n")
    assert "trace saved to" in ran.err
    assert "Traceback" not in ran.err
    assert ran.total() == 1


def test_what_the_program_printed_stands_before_the_report(script: Any, tmp_path: Path) -> None:
    """Also where its output is buffered, being no terminal's."""
    script("print('hello')")
    command = [sys.executable, "-m", "asyncguard", "run", "-o", "t.json", "script.py"]
    told = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ).stdout
    assert told.startswith("hello\n")
    assert "trace saved to" in told


@pytest.mark.parametrize("stdout", ["None", "object()", "open(os.devnull, 'w')"])
def test_a_program_may_put_anything_in_place_of_stdout(stdout: str, script: Any, run: Any) -> None:
    script(f"import os, sys\nsys.stdout = {stdout}\nif 'open' in {stdout!r}: sys.stdout.close()")
    ran = run([word for word in ASYNCGUARD if word != "-q"], "script.py", cold=True)
    assert ran.status == run(["script.py"], cold=True).status
    assert "trace saved to" in ran.err
    assert "Traceback" not in ran.err


def test_a_program_may_leave_open_and_dumps_changed(script: Any, run: Any) -> None:
    script(
        f"""
        import builtins, json
        {WAIT.splitlines()[0]}
        np.ones(1).wait_to_read()
        builtins.open = lambda *a, **k: 1 / 0
        json.dumps = lambda *a, **k: "mine"
        """
    )
    ran = run(ASYNCGUARD, "script.py")
    assert (ran.status, ran.err) == (0, "")
    assert ran.total() == 1


@pytest.mark.parametrize(
    ("ending", "status", "exception"),
    [
        ("pass", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('why')", 1, ""),
        ("raise ValueError('why')", 1, "ValueError: why"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_the_trace_says_how_the_program_ended(
    script: Any, run: Any, ending: str, status: int, exception: str
) -> None:
    script(WAIT + ending)
    ran = run(ASYNCGUARD, "script.py")
    record = store.load(ran.trace)
    assert (record.complete, record.exit_status, record.exception) == (True, status, exception)
    judged = run(["-m", "asyncguard", "gate", "--update"], "trace.json")
    assert judged.status == (2 if status else 0), judged.err


def test_a_program_that_refuses_its_arguments_leaves_the_trace_before(
    script: Any, run: Any
) -> None:
    script(f"import sys\nif len(sys.argv) > 1: sys.exit(2)\n{WAIT}")
    run(ASYNCGUARD, "script.py")
    ran = run(ASYNCGUARD, "script.py", "--wrong")
    assert ran.status == 2
    assert "trace.json is left as it was" in ran.err
    assert ran.total() == 1


def test_the_folder_of_a_trace_is_made(script: Any, run: Any, tmp_path: Path) -> None:
    script(WAIT)
    assert run([*ASYNCGUARD[:-1], "new/er/t.json"], "script.py").status == 0
    assert store.load(tmp_path / "new/er/t.json").total_syncs == 1


def test_a_trace_that_cannot_be_written_leaves_the_scripts_status(
    script: Any, run: Any, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    script("import os; os.rmdir('out'); raise SystemExit(5)")
    command = [*ASYNCGUARD[:-1], "out/trace.json"]
    ran = run(command, "script.py")
    assert ran.status == 5
    assert "cannot write the trace" in ran.err


@pytest.mark.parametrize("kind", ["FIFO", "link", "device", "script.py", "directory"])
def test_a_trace_replaces_neither_the_script_nor_what_is_no_file(
    script: Any, run: Any, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "out"
    script("print('ran')")
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("elsewhere")
    elif kind == "device":
        path = Path("/dev/null")
    elif kind == "directory":
        path.mkdir()
    else:
        os.link(tmp_path / "script.py", path)
    before = path.lstat()
    ran = run([*ASYNCGUARD[:-1], str(path)], "script.py")
    assert (ran.status, ran.out) == (2, "")
    assert kind in ran.err
    assert ran.err.count("\n") == 1
    assert path.lstat() == before


def test_nor_what_the_program_has_put_there_meanwhile(
    script: Any, run: Any, tmp_path: Path
) -> None:
    script("import os; os.symlink('elsewhere', 'trace.json'); raise SystemExit(5)")
    ran = run(ASYNCGUARD, "script.py")
    assert ran.status == 5
    assert "cannot write the trace: is a link, not a file" in ran.err
    assert (tmp_path / "trace.json").is_symlink()


def test_nor_the_module_that_ran(script: Any, run: Any, tmp_path: Path) -> None:
    script("print('ran')", "module.py")
    ran = run([*ASYNCGUARD[:-1], "module.py"], "-m", "module")
    assert (ran.status, ran.out) == (0, "ran\n")
    assert "cannot write the trace: is" in ran.err
    assert "print" in (tmp_path / "module.py").read_text()


def test_a_missing_module_is_told_as_python_tells_it_and_leaves_no_trace(run: Any) -> None:
    ran = run([*ASYNCGUARD[:-3], "-o", "trace.json"], "-m", "nosuch")
    assert ran.status == 1
    assert "No module named nosuch" in ran.err
    assert "sync points" not in ran.err
    assert not ran.trace.exists()


def test_two_dashes_may_stand_before_the_script(script: Any, run: Any) -> None:
    script("import sys; print(sys.argv)")
    assert run(ASYNCGUARD, "--", "script.py", "--fast").out == "['script.py', '--fast']\n"


def test_ten_thousand_increments_on_mxnet_without_a_word_about_numpy(script: Any, run: Any) -> None:
    require("mxnet")
    script(
        """
        from mxnet import np, npx
        x = np.ones((2, 2))
        for _ in range(10000):
            y = x + 1
            y.wait_to_read()
        for _ in range(10000):
            y = x + 1
        npx.waitall()
        """
    )
    ran = run(ASYNCGUARD, "script.py", "once", cold=True)
    assert ran.status == 0, ran.err
    record = store.load(ran.trace)
    counts = {(site.path, site.line): site.count for site in record.sites}
    assert counts == {("script.py", 6): 10_000, ("script.py", 9): 1}
    assert record.command == "script.py once"


def test_torch_is_hooked_when_the_script_imports_it(script: Any, run: Any) -> None:
    """Its own processes, forked and spawned, are given functions of torch and end as ever."""
    require("torch")
    script(
        """
        import torch
        from torch.utils.data import DataLoader
        from torch import nonzero
        if __name__ == "__main__":
            nonzero(torch.ones(2))
            for method in ("fork", "spawn"):
                loader = DataLoader(range(8), 2, num_workers=1,
                                    multiprocessing_context=method, collate_fn=torch.tensor)
                print(sum(batch.sum() for batch in loader).item())
        """
    )
    ran = run(ASYNCGUARD, "script.py")
    assert (ran.status, ran.out) == (0, "28\n28\n"), ran.err
    assert {s.api: s.count for s in store.load(ran.trace).sites} == {
        "torch.nonzero": 1,
        "torch.Tensor.item": 2,
    }


def test_nothing_of_asyncguard_is_in_a_modules_traceback(script: Any, run: Any) -> None:
    script("import torch_is_not_here\n", "broken.py")
    same_as_python(run, "-m", "broken")


def test_full_depth_goes_below_python_once_the_script_imports_torch(script: Any, run: Any) -> None:
    require("torch")
    script("import torch\ntorch.ops.aten.nonzero(torch.ones(2))\n")
    ran = run([*ASYNCGUARD, "--depth", "full"], "script.py")
    assert ran.status == 0, ran.err
    assert [site.api for site in store.load(ran.trace).sites] == ["torch.nonzero"]


def test_full_depth_says_where_it_saw_nothing_below_python(script: Any, run: Any) -> None:
    script(WAIT)
    (note,) = store.load(run([*ASYNCGUARD, "--depth", "full"], "script.py").trace).notes
    assert note.startswith("Full depth saw nothing below Python")


def test_call_paths_end_where_the_program_begins(run: Any, script: Any) -> None:
    """The script that starts us (`bin/asyncguard`) is nobody's caller."""
    starter = script("from asyncguard.cli import main\nmain()\n", "starter.py")
    name = script(
        """\
        from asyncguard.engine import np
        def train():
            np.ones(1).wait_to_read()
        train()
        """
    )
    ran = run([starter, *ASYNCGUARD[2:]], name)
    assert ran.status == 0, ran.err
    (site,) = store.load(ran.trace).sites
    assert site.callers == ("script.py:4 <module>",)
