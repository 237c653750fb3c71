"""`asyncguard demo` on real MXNet, real torch; tests/lint/test_d2l.py has its real library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from asyncguard import cli, demo
from asyncguard.demo import fetch_library
from asyncguard.model import AsyncguardError
from tests import warm
from tests.frameworks import require
from tests.smoke import TRAIN


@pytest.fixture
def shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Run the demo with a small library where it keeps the one that it downloads."""
    library = tmp_path / "cache" / "asyncguard" / "-".join(demo.LIBRARY) / "d2l"
    library.mkdir(parents=True)
    (library / "torch.py").write_text(TRAIN)
    current = tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(python: str) -> str:
        monkeypatch.setattr(sys, "executable", python)
        status = cli.main(["demo"])
        out, err = capfd.readouterr()
        assert status == 0, out + err
        assert "Found 1 finding in 1 file (1 file checked)" in out
        assert "d2l/torch.py:7:15: ASG102" in out
        assert "1 site is new or waits more often" in out
        assert "80 steps" in err
        assert list(current.iterdir()) == []
        assert max(map(len, out.splitlines())) <= 80
        return out + err

    return run


def test_the_demo_lints_traces_and_gates(shown: Callable[[str], str]) -> None:
    require("mxnet")
    require("torch")
    out = shown(warm.executable("torch"))
    assert "10,000 x  mxnet.NDArray.wait_to_read" in out
    assert "1 x  mxnet.waitall" in out
    assert "new -> 1 per step  torch.Tensor.item" in out


def test_the_demo_runs_on_the_reference_engine_where_no_framework_is(
    shown: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_first_installed", lambda framework: "engine")
    out = shown(warm.executable())
    assert "10,000 x  engine.ndarray.wait_to_read" in out
    assert "new -> 1 per step  engine.ndarray.item" in out


def test_a_library_that_cannot_be_had_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AsyncguardError, match="could not be downloaded") as caught:
        fetch_library("d2l", "0.0.0.nothing", tmp_path)
    assert str(tmp_path / "d2l-0.0.0.nothing") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_command_of_the_demo_is_as_wide_as_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where there is no terminal, a command alone keeps a finding and its message on one line."""
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "def train(model, loader, optimizer):\n"
        "    for x in loader:\n"
        "        loss = model(x).sum()\n"
        "        loss.backward()\n"
        "        optimizer.step()\n"
        "        print(loss.item())\n"
    )
    monkeypatch.delenv("COLUMNS", raising=False)
    demo._asyncguard(Console(width=64), tmp_path, "check", "train.py", expected=1)
    lines = capfd.readouterr().out.splitlines()
    assert any("ASG102" in line for line in lines)
    assert max(map(len, lines)) <= 64
