"""Entries that say for themselves how they wait, and what to do about it."""

from __future__ import annotations

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings

SOURCE = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        {line}
"""


@pytest.mark.parametrize("select", [(), ("ALL",)])
def test_a_solver_checks_its_status_and_branches_on_nothing(select: tuple[str, ...]) -> None:
    (finding,) = check_source(
        SOURCE.format(line="parts = torch.linalg.svd(loss)"), "a.py", Settings(select=select)
    )
    assert finding.message == (
        "`torch.linalg.svd(loss)` checks the status of its solver on the host, which waits in "
        "every step: decompose every N steps, or outside the loop"
    )


def test_what_an_entry_says_leaves_its_rules_remedy_to_patterns() -> None:
    line = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)"
    (finding,) = check_source(SOURCE.format(line=line), "a.py", Settings())
    assert " checks the norm on the host, which waits in every step: pass `" in finding.message
