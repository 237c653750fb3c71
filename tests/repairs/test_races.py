"""No repair introduces a race: none is left in any repaired program, and where one would, none is.

A copy that does not wait may only be offered from memory that nobody fills anew before it is done.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from tests.frameworks import require
from tests.repairs.same import found_in
from tests.repairs.test_programs import Program, done_as_shown, every_program, load, repaired

RACES = {"ASG404", "ASG405"}
ALL = Settings(select=("ALL",), cache=False)


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[Any]:
    require("torch")
    with asyncguard.simulate_cuda(races="ignore") as simulation:
        yield simulation.machine.races


def versions(source: str) -> list[str]:
    """The program after the repairs that are made, that are shown, and after both.

    Where nothing copies without waiting there is nothing to race with.
    """
    made = repaired(source)
    found = dict.fromkeys([made, done_as_shown(source), done_as_shown(made)])
    return [after for after in found if after != source and "non_blocking" in after]


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name) for p in every_program() if p.framework == "torch"]
)
def test_no_repaired_program_has_a_race(program: Program, device: Any, tmp_path: Path) -> None:
    for at, after in enumerate(versions(program.source)):
        assert races_told(after) <= races_told(program.source), after
        path = tmp_path / f"after{at}.py"
        path.write_text(after, encoding="utf-8")
        device.found.clear()
        with contextlib.redirect_stdout(io.StringIO()):
            getattr(load(path), program.name)("cuda")
        assert not device.found, after


def races_told(source: str) -> set[tuple[str, str]]:
    findings = check_source(source, "program.py", ALL)
    return {(f.code, f.source) for f in findings if f.code in RACES}


HEAD = """
import numpy as np
import torch
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.rounds = model, optimizer, 0
        self.staging = torch.zeros(64, 1024{pinned})

    def fill(self, batch):
        self.staging.copy_(batch)

    def train(self, batches, device):
        staging, index = torch.zeros(64, 1024{pinned}), 0
        pair = [torch.zeros(64, 1024{pinned}), torch.zeros(64, 1024{pinned})]
        array = np.zeros((64, 1024))
        for batch in batches:
"""
TAIL = """
            loss = self.model(x).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""
REFILLED = {
    "filled before": "staging.copy_(batch)\nx = staging.to(device)",
    "filled after": "x = staging.to(device)\nstaging.copy_(batch)",
    "a part": "staging[: len(batch)] = batch\nx = staging[: len(batch)].to(device)",
    "moved by cuda": "staging.copy_(batch)\nx = staging.cuda()",
    "added to": "staging += batch\nx = staging.to(device)",
    "as `out`": "torch.mul(batch, 2, out=staging)\nx = staging.to(device)",
    "by a view": "view = staging.view(-1)\nview.copy_(batch.view(-1))\nx = staging.to(device)",
    "of a view": "staging.copy_(batch)\nrows = staging[:8]\nx = rows.to(device)",
    "an attribute": "self.staging.copy_(batch)\nx = self.staging.to(device)",
    "by a method": "self.fill(batch)\nx = self.staging.to(device)",
    "by NumPy": "array[:] = batch\nx = torch.from_numpy(array).to(device)",
    "by NumPy's view": "staging.numpy()[:] = batch\nx = staging.to(device)",
    "as NumPy copies": "np.copyto(array, batch)\nx = torch.from_numpy(array).to(device)",
    "to another's dtype": "staging.copy_(batch)\nx = staging.type_as(self.model.weight)",
    "row by row": "for row in staging:\n    row.copy_(batch[0])\nx = staging.to(device)",
    "under one name": "part = staging[:8]\npart.copy_(batch[:8])\npart = part.to(device)\nx = part",
    "in turns": "pair[index % 2].copy_(batch)\nx = pair[index % 2].to(device)\nindex += 1",
}
FRESH = {
    "a batch": "x = batch.to(device)",
    "under its name": "batch = batch.to(device)\nbatch += 1\nx = batch * 2",
    "changed before": "batch = batch.clone()\nbatch.mul_(2)\nx = batch.to(device)",
    "its copy is changed": "x = batch.to(device)\nx.mul_(2)",
    "counted beside": "self.rounds += 1\nx = batch.to(device)",
    "another attribute": "self.staging.copy_(batch)\nself.batch = batch\nx = self.batch.to(device)",
    "items": "batch['y'] = batch['y'].to(device)\nx = batch['x'].to(device)",
    "kept in a list": "pair.append(batch)\nx = batch.to(device)",
}


def program(body: str, pinned: str) -> str:
    lines = "".join(f"            {line}\n" for line in body.split("\n"))
    return HEAD.replace("{pinned}", pinned) + lines + TAIL


def offered(source: str) -> bool:
    """Whether a repair or what is shown has an upload that does not wait."""
    fixes = [f.fix for f in found_in(source) if f.code == "ASG106" and f.fix is not None]
    return any("non_blocking" in edit.text for fix in fixes for edit in fix.edits)


def advised(source: str) -> list[str]:
    return [f.message for f in found_in(source) if f.code == "ASG106"]


@pytest.mark.parametrize("pinned", ["", ", pin_memory=True"], ids=["pageable", "pinned"])
@pytest.mark.parametrize("name", REFILLED)
def test_an_upload_from_memory_that_is_filled_anew_stays_one_that_waits(
    name: str, pinned: str
) -> None:
    source = program(REFILLED[name], pinned)
    assert advised(source)
    assert not offered(source)
    assert not any("pass `non_blocking=True`" in message for message in advised(source))
    assert any("event" in message for message in advised(source))


INDEX = """
import torch
import numpy as np

def train(model, batches, optimizer, device):
    rows, array = torch.zeros(8, dtype=torch.long), np.zeros(8)
    for batch in batches:
        x = batch.to(device)
        {line}
        loss = model(x[{index}], {given})
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("fills", [True, False])
@pytest.mark.parametrize(
    ("index", "given"),
    [("rows", "x"), ("0", "torch.as_tensor(array, device=device)")],
    ids=["an index", "an array"],
)
def test_so_does_one_that_an_index_or_an_array_stands_for(
    index: str, given: str, fills: bool
) -> None:
    line = "rows[:] = array[0] = len(batch)" if fills else "pass"
    source = INDEX.format(line=line, index=index, given=given)
    fixes = [f.fix for f in found_in(source) if f.code == "ASG106" and f.fix is not None]
    texts = [edit.text for fix in fixes for edit in fix.edits]
    assert sum("non_blocking" in text for text in texts) == (1 if fills else 2)


@pytest.mark.parametrize("name", FRESH)
def test_an_upload_of_what_is_made_in_each_round_need_not_wait(name: str) -> None:
    assert offered(program(FRESH[name], ""))
