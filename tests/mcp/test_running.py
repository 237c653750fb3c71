"""`run`: bounded, kept apart from the protocol, ended with its children; and what a loop makes."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from asyncguard.mcp import children
from asyncguard.mcp.root import AGAIN, OUTPUT, RUNS
from tests.frameworks import require
from tests.mcp.client import TRAIN, Agent, endless, serve, served, watched

require("torch")

LINUX = Path("/proc/self/environ").exists()
EIGHT = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
device = torch.device("cuda")
steps = 16
features = torch.randn(steps, 8, 16, device=device)
labels = torch.randint(0, 4, (steps, 8), device=device)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total_loss, correct, largest, entropy = 0.0, 0, 0.0, 0.0
losses, norms = [], []
for step in range(steps):
    weight = torch.tensor([1.0, 1.0, 2.0, 1.0], device=device)
    logits = model(features[step])
    loss = F.cross_entropy(logits, labels[step], weight=weight)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    total_loss += loss.item()
    correct += (logits.argmax(1) == labels[step]).sum().item()
    largest = max(largest, norm.item())
    entropy += F.softmax(logits, 1).mul(F.log_softmax(logits, 1)).sum().item()
    losses.append(loss.item())
    norms.append(norm.item())
    torch.cuda.synchronize()
print(f"loss {total_loss / steps:.4f}, correct {correct}, largest norm {largest:.4f}")
print(f"entropy {entropy / steps:.4f}, last losses {losses[-3:]}, last norm {norms[-1]:.4f}")
"""
LOUD = """\
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(2, 4, device="cuda")
total = 0.0
for step in range(300):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
    total += loss.sum().item()
print(total)
"""


def write(root: Path, text: str) -> None:
    (root / "train.py").write_text(text)


def test_a_run_reports_and_is_kept_under_its_name(tmp_path: Path) -> None:
    write(tmp_path, TRAIN.replace("print(total)", "print(total); print('x' * 90_000)"))

    async def work(agent: Agent) -> None:
        told = await agent.call("run", script="train.py", name="before", output=600)
        assert (told["ended"], told["exit_status"]) == ("finished", 0)
        assert told["verdict"].startswith("2 waits a step, ")
        assert told["report"]["basis"] == "modelled"
        assert [site["place"] for site in told["report"]["sites"][:2]] == [
            "train.py:13", "train.py:14",
        ]  # fmt: skip
        shown = told["stdout"]
        assert len(shown["text"]) < 700
        assert shown["characters"] == shown["cut"] + 600
        assert f"[... {shown['cut']:,} characters left out ...]" in shown["text"]
        assert told["stderr"]["text"] == ""
        assert told["report"]["trace"] == f"{RUNS}/before.json"
        kept = {path.name for path in (tmp_path / RUNS).iterdir()}
        assert kept == {".gitignore", "before.json", f"before{OUTPUT}"}
        assert (await agent.call("report", trace="before"))["waits_per_step"] == 2.0

    serve(tmp_path, work, quickly=True)


def test_arguments_modules_and_the_machine_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "go.py").write_text(
        "import sys, torch\nprint(sys.argv[1:])\ntorch.ones(1).item()\n"
    )

    async def work(agent: Agent) -> None:
        told = await agent.call("run", module="pkg.go", args=["--a", "b c"], simulate=False)
        assert told["stdout"]["text"] == "['--a', 'b c']\n"
        assert told["report"]["basis"] in ("stand-in", "measured")
        assert "no step was marked" in told["verdict"]

    serve(tmp_path, work, quickly=True)


def test_what_a_program_prints_does_not_meet_the_protocol(tmp_path: Path) -> None:
    write(
        tmp_path,
        'import os, sys\nprint(\'{"jsonrpc": "2.0", "id": 1, "result": {}}\')\n'
        "os.write(1, b'\\xff\\xfe raw\\n')\nos.system('echo from a shell')\n"
        "print('err', file=sys.stderr)\nprint(repr(sys.stdin.read()))\n",
    )

    async def work(agent: Agent) -> None:
        told = await agent.call("run", script="train.py")
        text = told["stdout"]["text"]
        assert "jsonrpc" in text
        assert "\ufffd\ufffd raw" in text
        assert "from a shell" in text
        assert text.endswith("''\n")  # its input is empty, not the protocol's
        assert told["stderr"]["text"] == "err\n"
        assert (await agent.call("check"))["total"] == 0

    serve(tmp_path, work)


def test_a_program_that_fails_is_told_with_its_trace_as_far_as_it_went(tmp_path: Path) -> None:
    write(tmp_path, TRAIN.replace("if torch.isnan(loss):", "if step == 5:"))

    async def work(agent: Agent) -> None:
        told = await agent.call("run", script="train.py")
        assert (told["ended"], told["exit_status"]) == ("failed", 1)
        assert told["verdict"].startswith("failed with exit status 1: see stderr")
        assert told["stderr"]["text"].endswith("nan\n")
        assert "exit status 1" in told["report"]["troubles"][0]
        write(tmp_path, "def broken(:\n")
        told = await agent.call("run", script="train.py", name="broken")
        assert told["ended"] == "failed"
        assert "SyntaxError" in told["stderr"]["text"]
        write(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        told = await agent.call("run", script="train.py", name="killed")
        assert (told["ended"], told["exit_status"], told["report"]) == ("failed", -9, None)
        assert "no trace was left" in told["verdict"]

    serve(tmp_path, work, quickly=True)


@pytest.mark.skipif(not LINUX, reason="processes show their environment on Linux alone")
def test_a_program_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    async def go() -> None:
        async with watched() as watch:
            write(tmp_path, endless(watch.port))
            command = [sys.executable, "train.py"]
            done = await children.ended(
                command, tmp_path, 60, clock=lambda: 1e6 if watch.started.is_set() else 0.0
            )
            assert done == children.Ended(None, b"it runs\n", b"", 1e6, too_late=True)
            await watch.gone.wait()

    asyncio.run(asyncio.wait_for(go(), 120))


def test_a_run_ends_at_its_timeout(tmp_path: Path) -> None:
    write(tmp_path, "while True: pass\n")

    async def work(agent: Agent) -> None:
        told = await agent.call("run", script="train.py", timeout=1, simulate=False)
        assert (told["ended"], told["exit_status"]) == ("timed out", None)
        assert told["verdict"].startswith("stopped after 1 s: shorten the run or raise `timeout`")

    serve(tmp_path, work)


@pytest.mark.skipif(not LINUX, reason="processes show their environment on Linux alone")
def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    async def work(agent: Agent) -> None:
        async with watched() as watch:
            write(tmp_path, endless(watch.port))
            call = agent.call("run", script="train.py", timeout=600, simulate=False)
            running = asyncio.ensure_future(call)
            await watch.started.wait()
            assert (await agent.call("check"))["files_checked"] == 1  # answered meanwhile
            assert not running.done()
            running.cancel()
            await watch.gone.wait()
            assert [path.name for path in (tmp_path / RUNS).glob("*.json")] == []

    serve(tmp_path, work)


@pytest.mark.skipif(not LINUX, reason="processes show their environment on Linux alone")
def test_a_client_that_leaves_takes_the_program_along(tmp_path: Path) -> None:
    async def go() -> None:
        async with watched() as watch:
            write(tmp_path, endless(watch.port))

            async def work(agent: Agent) -> None:
                asyncio.ensure_future(  # noqa: RUF006  # nobody waits for it
                    agent.raw("run", script="train.py", timeout=600, simulate=False)
                )
                await watch.started.wait()

            await served(tmp_path, work)
            await watch.gone.wait()

    asyncio.run(asyncio.wait_for(go(), 120))


def test_one_that_writes_without_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "MOST", 100_000)
    code = "while True: print('x' * 1000)"
    ended = asyncio.run(children.ended([sys.executable, "-c", code], tmp_path, 60))
    assert ended.too_much
    assert ended.status is None
    assert len(ended.stdout) == 100_000


def test_outputs_are_compared_with_those_of_a_run_before(tmp_path: Path) -> None:
    fewer = TRAIN.replace("total += loss.item()", "total += loss.detach().double()")
    fewer = fewer.replace("print(total)", "print(float(total))")
    timed = "import time; print('took', time.perf_counter_ns())\n"

    async def work(agent: Agent) -> None:
        write(tmp_path, TRAIN)
        await agent.call("run", script="train.py", name="before")
        write(tmp_path, fewer)
        told = await agent.call("run", script="train.py", name="after", compare_to="before")
        assert told["verdict"] == "2 -> 1 waits a step, outputs equal"
        assert told["comparison"]["better"] is True
        assert told["comparison"]["exit_statuses"] == [0, 0]
        write(tmp_path, fewer.replace("lr=0.01", "lr=0.02"))
        told = await agent.call("run", script="train.py", name="other", compare_to="before")
        assert told["verdict"].startswith("2 -> 1 waits a step, outputs differ: '")
        assert told["comparison"]["better"] is False
        assert "record the run before with `repeat`" in told["verdict"]
        write(tmp_path, f"{fewer}\nraise SystemExit(3)\n")
        told = await agent.call("run", script="train.py", name="other", compare_to="before")
        assert "outputs equal, exit status 0 -> 3; waits may be missing" in told["verdict"]
        assert told["comparison"]["better"] is False
        told = await agent.call(
            "run", script="train.py", name="real", compare_to="before", simulate=False
        )
        assert told["comparison"] is None
        assert told["report"]["basis"] != "modelled"
        write(tmp_path, TRAIN + timed)
        await agent.call("run", script="train.py", name="before", repeat=True)
        assert (tmp_path / RUNS / f"before{AGAIN}").exists()
        write(tmp_path, fewer + timed)
        told = await agent.call("run", script="train.py", name="after", compare_to="before")
        assert told["verdict"] == "2 -> 1 waits a step, outputs equal"
        assert told["comparison"]["lines_unstable"] == 1

    serve(tmp_path, work, quickly=True)


def example() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "agent_loop.py"
    spec = importlib.util.spec_from_file_location("agent_loop", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_loop_brings_a_program_from_8_waits_a_step_to_less_than_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, EIGHT)
    status = asyncio.run(asyncio.wait_for(example().main(str(tmp_path), "train.py"), 240))
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("before: 8 waits a step, ")
    assert told[1:] == ["all repairs: kept: 8 -> 0 waits a step, outputs equal"]
    assert status == 0
    # What the loop was told is so: both programs, run by themselves, print the same.
    (tmp_path / "old.py").write_text(EIGHT)
    command = [sys.executable, "-m", "asyncguard", "run", "-q", "--sim", "cuda", "-o", "t.json"]
    printed = [
        subprocess.run([*command, name], cwd=tmp_path, capture_output=True, check=True).stdout
        for name in ("old.py", "train.py")
    ]
    assert printed[0] == printed[1] != b""
    assert (tmp_path / "train.py").read_text() != EIGHT


def test_a_loop_undoes_what_changes_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, LOUD)

    async def work(agent: Agent) -> None:
        assert await example().Loop(agent.client, tmp_path, "train.py").improve() == 1.0

    serve(tmp_path, work, quickly=True)
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("before: 2 waits a step, ")
    assert told[1].startswith("all repairs: undone: ")
    assert "no longer printed" in told[1]
    assert told[-1].endswith(": kept: 2 -> 1 waits a step, outputs equal")
    assert "print(step, loss.item())" in (tmp_path / "train.py").read_text()
