"""`host-names`, `device-names` and `step-functions`: a team's own names of values and functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.settings import Settings

NET = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x, seq_lens, table):
        if seq_lens.max() > 8:
            x = x * 2
        return x
"""
ENGINE = """\
import torch
class Builder:
    def assemble(self, rows: list[int]):
        return torch.tensor(rows, device="cuda")
"""


def lines(path: Path, text: str, **settings: object) -> list[int]:
    path.write_text(text)
    chosen = Settings(cache=False, root=path.parent, **settings)  # type: ignore[arg-type]
    return [finding.line for finding in check_paths([path], chosen).findings]


def test_values_of_a_listed_name_are_in_host_memory(tmp_path: Path) -> None:
    assert lines(tmp_path / "net.py", NET) == [4]
    assert lines(tmp_path / "net.py", NET, host_names=("seq_lens",)) == []


def test_values_of_a_listed_name_are_on_the_device(tmp_path: Path) -> None:
    for test in ("self.limits > 3", "limits"):
        text = NET.replace("seq_lens.max() > 8", test).replace("table", "limits")
        assert lines(tmp_path / "net.py", text) == []
        assert lines(tmp_path / "net.py", text, device_names=("limits",)) == [4]


def test_a_listed_function_runs_in_every_step(tmp_path: Path) -> None:
    assert lines(tmp_path / "engine.py", ENGINE) == []
    assert lines(tmp_path / "engine.py", ENGINE, step_functions=("assemble",)) == [4]


def test_a_serving_engine_calls_execute_model_in_every_step(tmp_path: Path) -> None:
    assert lines(tmp_path / "engine.py", ENGINE.replace("assemble", "execute_model")) == [4]


@pytest.mark.parametrize("key", ["host-names", "device-names", "step-functions"])
def test_they_are_read_from_the_configuration(tmp_path: Path, key: str) -> None:
    (tmp_path / "asyncguard.toml").write_text(f'{key} = ["assemble"]\n')
    settings = Configuration().of(tmp_path)
    assert getattr(settings, key.replace("-", "_")) == ("assemble",)
