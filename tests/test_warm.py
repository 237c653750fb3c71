"""A warm process does what a new interpreter does, and holds the modules that it was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm

PROGRAMS = {
    "what it sees": "import sys, os; print(sys.argv, sys.path[0], __name__, os.getcwd()); "
    "print(sorted(n for n in globals() if n.startswith('__')), sys.stdin.read(), os.environ['A'])",
}
ERROR = "def f(): 1 / 0\nf()"
ENDS = {
    "a status": "raise SystemExit(3)",
    "a message": "raise SystemExit('no')",
    "a hook": "import sys; sys.excepthook = lambda *a: print('hooked', a[0]); 1 / 0",
    "an interrupt": "raise KeyboardInterrupt",
    "a signal": "import os; os.kill(os.getpid(), 9)",
    "an exit function": "import atexit; atexit.register(print, 'bye'); raise SystemExit(4)",
    "a thread": "import threading, time\nthreading.Thread(target=print, args=['thread']).start()",
    "a fork": "import os, sys\nif os.fork() == 0: sys.exit(5)\nprint(os.wait()[1])",
}


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        *((text, 3) for text in PROGRAMS.values()),
        (ERROR, 3 if sys.version_info < (3, 13) else 2),  # which shows the source of -c
        *((text, 1) for text in ENDS.values()),
    ],
    ids=[*PROGRAMS, "an error", *ENDS],
)
def test_a_program_cannot_tell_it_from_a_new_interpreter(
    text: str, ways: int, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(text)

    def run(python: tuple[str, ...], *arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [*python, *arguments],
            cwd=tmp_path, env={**os.environ, "A": "b"}, input="typed",
            capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    for arguments in (["program.py", "x"], ["-m", "program", "x"], ["-c", text, "x"])[:ways]:
        assert run(warm.python(), *arguments) == run((sys.executable,), *arguments)


def test_it_holds_the_modules() -> None:
    code = "import sys; print('numpy' in sys.modules)"
    for python, held in ((warm.python(), "True\n"), ((sys.executable,), "False\n")):
        assert subprocess.run([*python, "-c", code], capture_output=True, text=True).stdout == held


def test_what_only_an_interpreter_of_its_own_can_have_it_has() -> None:
    code = "import sys; print(sys.flags.dev_mode, sys.flags.optimize)"
    done = subprocess.run(
        [*warm.python(), "-X", "dev", "-O", "-c", code], capture_output=True, text=True
    )
    assert done.stdout == "True 1\n"
