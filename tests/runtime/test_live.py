"""`run --live`: rows at the foot of a real terminal, and a program that cannot tell."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
from pathlib import Path

import pytest

from asyncguard.cli import live as cli_live
from asyncguard.region import Region
from asyncguard.render import live
from asyncguard.runtime.figures import Figures, Progress
from asyncguard.runtime.session import Session
from tests import warm
from tests.frameworks import require
from tests.records import site
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
STEPS = """
import os, sys
import asyncguard
from asyncguard.engine import np

def train():
    for step in range(200):
        np.ones(2).wait_to_read()
        asyncguard.step()
        print("step", step)
        if step == 100:
            os.system("echo from another process")
        if step == 150:
            print("warned", file=sys.stderr)
            input("go on? ")

train()
"""


def run(folder: Path, script: str, *options: str, rows: int = 30, **streams: object) -> Terminal:
    (folder / "script.py").write_text(script)
    command = [*warm.python(), "-m", "asyncguard", "run", "--live", *options, "script.py"]
    environment = {"PYTHONPATH": str(ROOT)}
    return Terminal(command, folder, rows=rows, environment=environment, **streams)


def shown(lines: list[str]) -> bool:
    return any("waits a step" in line and "steps/s" in line for line in lines)


def test_rows_show_how_it_goes_and_the_programs_lines_stay_whole(tmp_path: Path) -> None:
    terminal = run(tmp_path, STEPS)
    lines = terminal.until(lambda lines: "go on?" in lines[23] and "151 steps" in lines[24])
    assert lines[24].startswith(" asyncguard: 1.00 waits a step, stall ")
    assert lines[25].startswith("1.00 a step")
    assert "script.py:8 train  np.ones(2).wait_to_read()" in lines[25]
    terminal.type("yes\n")
    assert terminal.end() == 0
    told = [line for line in terminal.everything if line]
    steps = [f"step {number}" for number in range(200)]
    expected = [*steps[:101], "from another process", *steps[101:151], "warned", "go on? yes"]
    assert told[: len(steps) + 3] == [*expected, *steps[151:]]
    report = told[len(steps) + 3 :]
    assert report[1] == "200 waits at 1 site; " + report[1].split("; ")[1]
    assert not shown(report)


@pytest.mark.parametrize(("ending", "status", "told"), [
    ("raise SystemExit(3)", 3, "asyncguard: trace saved to"),
    ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    ("os.kill(os.getpid(), 2)", -2, "KeyboardInterrupt"),
    ("sys.stderr.close()", 0, ""),
    ("os.close(2)", 0, ""),
    ("os.kill(os.getpid(), 9)", -9, ""),
    ("sys.stdout.flush(); os._exit(4)", 4, ""),
    ("child = os.fork()\nif child:\n    os.wait()\n    os.kill(os.getpid(), 15)", -15, ""),
    ("import threading; threading.Thread(target=print, args=['a thread']).start()", 0, "a thread"),
])  # fmt: skip
def test_however_it_ends_the_terminal_is_as_it_was(
    ending: str, status: int, told: str, tmp_path: Path
) -> None:
    terminal = run(tmp_path, STEPS + ending)
    terminal.until(lambda lines: any("go on?" in line for line in lines) and shown(lines))
    terminal.type("\n")
    assert terminal.end() == status
    assert any(told in line for line in terminal.everything)
    assert terminal._screen.margins in (None, (0, 29))  # it scrolls whole again
    assert not shown(terminal.lines)


def test_ctrl_c_at_the_keyboard(tmp_path: Path) -> None:
    terminal = run(tmp_path, STEPS)
    terminal.until(lambda lines: any("go on?" in line for line in lines) and shown(lines))
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == -signal.SIGINT
    everything = terminal.everything
    assert "KeyboardInterrupt" in everything
    assert any("151 waits at 1 site" in line for line in everything)


@pytest.mark.parametrize("library", ["rich", "tqdm"])
def test_programs_that_draw_themselves(library: str, tmp_path: Path) -> None:
    require(library)
    draws = {
        "rich": "from rich.progress import track\nbar = track(range(40), 'learning')\n",
        "tqdm": "from tqdm import tqdm\nbar = tqdm(range(40), desc='learning')\n",
    }
    loop = "for step in bar:\n    np.ones(2).wait_to_read()\n    asyncguard.step()\n"
    head = "import asyncguard\nfrom asyncguard.engine import np\n"
    again = "print('between')\ninput('go on? ')\n"
    terminal = run(tmp_path, head + draws[library] + loop + again + draws[library] + loop)
    terminal.until(lambda lines: any("go on?" in line for line in lines) and shown(lines))
    terminal.type("\n")
    assert terminal.end() == 0
    told = [line for line in terminal.everything if "learning" in line or "between" in line]
    assert [("learning" in line, "100%" in line) for line in told] == [
        (True, True), (False, False), (True, True),
    ]  # fmt: skip


def test_nothing_where_stderr_is_no_terminal(tmp_path: Path) -> None:
    terminal = run(tmp_path, STEPS, stderr=subprocess.PIPE)
    terminal.until(lambda lines: "step 150" in lines)
    terminal.type("\n")
    assert terminal.process.stderr is not None
    assert b"200 waits at 1 site" in terminal.process.stderr.read()
    terminal.end()
    assert b"\x1b" not in terminal.written


def test_a_window_that_changes_its_size(tmp_path: Path) -> None:
    terminal = run(tmp_path, STEPS)
    terminal.until(lambda lines: "go on?" in lines[23] and shown(lines))
    terminal.resize(40, 100)
    lines = terminal.until(lambda lines: len(lines) == 40 and shown(lines[34:]))
    assert not shown(lines[:34])
    terminal.resize(10, 60)
    lines = terminal.until(lambda lines: len(lines) == 10 and " asyncguard: " in lines[9])
    assert len(lines[9]) < 60
    terminal.type("\n")
    terminal.end()


class Drawn:
    """A region of a terminal that is written to a pipe, of a size that can be changed."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.reader, writer = os.pipe()
        self.region = Region(writer, 6, lambda _: os.terminal_size((80, self.rows)))
        os.close(writer)

    def text(self) -> str:
        self.region.end()
        with open(self.reader, encoding="utf-8") as stream:
            return stream.read()


def test_a_small_terminal_keeps_its_rows() -> None:
    asked: list[int] = []

    def picture(columns: int, rows: int) -> list[str]:
        asked.append(rows)
        return ["head", "more"]

    drawn = Drawn(5)
    for rows in (5, 6, 15, 16):
        drawn.rows = rows
        drawn.region.draw(picture)
    assert asked == [1, 1, 6]
    text = drawn.text()
    assert "\x1b[1;5r" in text
    assert "\x1b[1;10r\x1b[11;1H\x1b[0m\x1b[2Khead\x1b[12;1H\x1b[0m\x1b[2Kmore" in text
    drawn.region.draw(picture)
    assert len(asked) == 3  # it has ended


def test_a_picture_is_one_write_that_puts_the_cursor_back() -> None:
    drawn = Drawn(24)
    drawn.region.draw(lambda columns, rows: ["x" * (columns - 1)] * 99)
    written = os.read(drawn.reader, 10_000).decode()
    assert written.startswith("\x1bD" * 6 + "\x1b[6A\x1b7")
    assert written.endswith("\x1b8")
    assert written.count("x" * 79) == 6


def test_sites_of_every_step_come_first() -> None:
    np = pytest.importorskip("asyncguard.engine").np
    time = itertools.count(0, 10)
    with Session(clock=lambda: next(time)) as session:
        np.ones(1).asnumpy()  # before the steps; far longer than all others
        next(itertools.islice(time, 10_000, None))
        for step in range(6):
            np.ones(1).item()
            if step == 3:
                np.ones(1).wait_to_read()
                np.ones(1).wait_to_read()
            session.step()
        shown = session.progress(2)
        assert shown.sites[0].api.endswith(".item")
        assert len(shown.sites) == 2
        assert len(session.progress(9).sites) == 4
        assert shown.figures.step_count == 6
        assert not shown.modelled


def progress(**changes: object) -> Progress:
    figures = Figures(20, 18, 3_000_000, None, 10, 9, 90_000_000)
    sites = (
        site(
            path="train.py",
            line=5,
            count=10,
            steady_count=9,
            steady_stall_ns=9_000,
            source="\x1b[2Jx\n" * 9,
        ),
        site(path="b" * 300 + ".py", line=7, count=3),
    )
    given = Progress(figures, sites, 100_000_000, modelled=False)
    return given._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", [2, 10, 40, 80, 200])
@pytest.mark.parametrize("color", [False, True])
def test_rows_fit_whatever_the_names(columns: int, color: bool) -> None:
    rows = live.rows(progress(), 7.0, columns, 3, color)
    assert len(rows) <= 3
    if not color:
        assert all(len(row) < columns for row in rows)
    assert not any("\x1b[2J" in row or "\n" in row for row in rows)


def test_what_rows_say() -> None:
    head, first, _ = live.rows(progress(), 12.345, 120, 6, False)
    assert head.strip() == (
        "asyncguard: 2.00 waits a step, stall 3.00 ms (3%), 10 steps, 12.3 steps/s"
    )
    assert first.split()[:6] == ["1.00", "a", "step", "1.00", "us", "train.py:5"]
    assert "\\x1b[2Jx" in first
    (head,) = live.rows(progress(sites=(), modelled=True), None, 120, 6, False)
    assert head.strip().endswith("10 steps, times are modelled")


def test_the_rate_is_that_of_the_last_pictures() -> None:
    shows = cli_live.Live(Region(0, 6), color=False)
    rates = [shows._rate(steps, ns) for steps, ns in [(0, 0), (2, 10**9), (2, 10**9), (1, 5)]]
    assert rates == [None, 2.0, 2.0, 1 / 5 * 1e9]
    for at in range(cli_live.WINDOW * 2):  # ten times as fast
        rate = shows._rate(10 + at * 10, 10**10 + at * 10**9)
    assert rate == 10.0
    shows.end()
