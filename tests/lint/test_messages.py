"""Messages quote the expression that waits, and name the calls that lead to a read."""

from __future__ import annotations

from pathlib import Path

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False, jobs=1)
LONG = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        return (x.reshape(-1, 3) * y.reshape(-1, 3)).sum(dim=1).mean(dim=0).item()
"""
HELPER = """\
import torch
def keep_best(scores: torch.Tensor):
    return scores[scores > 0.5]
"""
CALLER = """\
import torch
from nms import keep_best
class Head(torch.nn.Module):
    def forward(self, scores: torch.Tensor):
        return keep_best(scores)
"""


def test_a_long_expression_is_quoted_with_its_end() -> None:
    (finding,) = check_source(LONG, "a.py", SETTINGS)
    assert ".mean(dim=0).item()` copies" in finding.message


def test_a_read_in_another_file_names_the_call(tmp_path: Path) -> None:
    (tmp_path / "nms.py").write_text(HELPER)
    (tmp_path / "head.py").write_text(CALLER)
    (finding,) = check_paths([tmp_path], SETTINGS).findings
    assert Path(finding.path).name == "nms.py"
    assert [(Path(c.path).name, c.line) for c in finding.reached_from] == [("head.py", 5)]
