"""A call of a method reaches the overriding methods of its class family, and no others."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from asyncguard.lint.domain.hotness import Hotness
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.run import worker

BASE = """
    import torch
    class Loss(torch.nn.Module):
        def forward(self, out, target):
            print(out.mean())
            return self.sum_up(out, target)
        def sum_up(self, out, target):
            return (out - target).sum()
    """
MASKED = """
    import torch
    from base import Loss
    class Masked(Loss):
        def sum_up(self, out, target):
            return out.sum().item()
    """
UNRELATED = """
    import torch
    class Report:
        def sum_up(self, out: torch.Tensor, target: torch.Tensor):
            return out.sum().item()
    """


def test_a_call_heats_the_methods_that_it_may_mean(tmp_path: Path) -> None:
    """Not all functions of that name: `sum_up` of other classes says nothing of this call."""
    sources = {"base.py": BASE, "masked.py": MASKED, "other.py": UNRELATED}
    paths = {name: str(tmp_path / name) for name in sources}
    for name, text in sources.items():
        (tmp_path / name).write_text(dedent(text))
    checker = worker.Worker(worker.index([*paths.values()]), worker.Options())
    graph = CallGraph({path: checker.check(path) for path in paths.values()})
    assert graph.entered[paths["masked.py"], "Masked.sum_up"] == Hotness.STEP
    assert (paths["other.py"], "Report.sum_up") not in graph.entered
