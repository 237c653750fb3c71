"""The text and the applicability of repairs that need a library or a machine that is not here."""

from __future__ import annotations

import json
import re
import textwrap

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.fixes import refills
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.families import truth
from asyncguard.lint.fixes.spots import spot_of
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import apply, choose
from asyncguard.lint.source.notebook import read_notebook
from asyncguard.model import Finding

SETTINGS = Settings(cache=False)
STEP = """\
import torch
{imports}

def train(model, loader, optimizer, device):
    for x, y in loader:
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = model(x, y)
        loss.backward()
        optimizer.step()
{body}
"""


def source(body: str, imports: str = "") -> str:
    return STEP.format(imports=imports, body=textwrap.indent(textwrap.dedent(body), " " * 8))


def findings(text: str) -> list[Finding]:
    return check_source(text, "program.py", SETTINGS)


def repaired(text: str, *, unsafe: bool) -> str:
    return apply(text, choose(findings(text), unsafe=unsafe).values())


def test_a_check_that_takes_a_function_gets_one_for_its_message() -> None:
    check = 'torch_compilable_check(x.shape == y.shape, f"a loss of {loss}")'
    text = source(check, "from ..utils import torch_compilable_check")
    assert repaired(text, unsafe=False) == text.replace('f"', 'lambda: f"')


def test_a_message_that_does_more_than_show_is_made_later_only_if_asked() -> None:
    check = 'torch_compilable_check(x.shape == y.shape, f"a loss of {loss} at {log.pop()}")'
    text = source(check, "from ..utils import torch_compilable_check")
    assert repaired(text, unsafe=False) == text
    assert repaired(text, unsafe=True) == text.replace('f"', 'lambda: f"')


REPORTS_LESS = """
import torch
def train(model, loader, optimizer):
    total, best, mean = 0.0, -1.0, 0.0
    for step, (x, y) in enumerate(loader):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        loss = model(x, y).mean()
        loss.backward()
        optimizer.step()
{body}
    return total, best, mean
"""


@pytest.mark.parametrize(
    ("body", "reports_less"),
    [
        ("print(loss.item())", True),
        ("value = loss.item()\nprint(value)", True),
        ("total += loss.item()\nprint(total)", True),
        ("best = max(best, loss.item())\nprint(best)", True),
        ("value = loss.item()\ntotal += value\nprint(total)", True),
        ("total += loss.item()", False),
        ("best = max(best, loss.item())", False),
    ],
)
def test_a_repair_says_that_it_reports_less(body: str, reports_less: bool) -> None:
    text = REPORTS_LESS.format(body=textwrap.indent(body, " " * 8))
    (found,) = [f for f in findings(text) if f.fix is not None]
    assert found.fix is not None
    assert found.fix.reports_less == reports_less
    assert ("% 100 == 0" in "".join(edit.text for edit in found.fix.edits)) == reports_less
    assert bool(re.search("report|every n-th", found.fix.message)) == reports_less
    assert Finding.from_dict(found.to_dict()) == found


DEVICES = """
import torch
def train(model, other, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = model(x.to("cuda:0", non_blocking=True)).mean().to("cuda:0")
        extra = other(y.to("{device}", non_blocking=True)).mean().to("{device}")
        loss.backward()
        optimizer.step()
        {body}
    return total
"""


@pytest.mark.parametrize(
    "body",
    ["total += loss.item(); total += extra.item()", "total += loss.item() + extra.item()",
     "total = max(loss.item(), extra.item())"],
)  # fmt: skip
def test_values_of_two_devices_are_not_computed_with_together(body: str) -> None:
    apart = DEVICES.format(body=body, device="cuda:1")
    assert repaired(apart, unsafe=True) == apart
    together = DEVICES.format(body=body, device="cuda:0")
    assert repaired(together, unsafe=True) != together


def test_a_sum_of_apples_devices_has_the_type_that_they_have() -> None:
    text = source("total += loss.item()\n").replace("    for x", "    total = 0.0\n    for x")
    text = text.replace('"""', "") + "    print(total)\n"
    assert ".double()" in repaired(text, unsafe=True)
    apple = text.replace("import torch\n", 'import torch\ndevice = torch.device("mps")\n', 1)
    assert ".float()" in repaired(apple, unsafe=True)
    assert ".double()" not in repaired(apple, unsafe=True)


def test_a_sum_that_others_may_see_is_said_to_be_a_tensor_until_it_is_read() -> None:
    text = REPORTS_LESS.replace("total, best, mean", "self.total, best, mean")
    text = text.replace("def train(", "class T:\n  def train(self, ")
    (found,) = [f for f in findings(text.format(body=" " * 8 + "self.total += loss.item()"))
                if f.fix is not None]  # fmt: skip
    assert found.fix is not None
    assert "until then, after an exception too, it is a tensor" in found.fix.message


NEIGHBOURS = """
import torch
class Trainer:
    def fit(self, model, loader, optimizer, writer):
        self.step = 0
        for x, y in loader:
            loss = model(x.cuda(non_blocking=True), y.cuda(non_blocking=True)).mean()
            loss.backward()
            optimizer.step()
            print(loss)
            writer.add_scalar("loss", loss.item(), self.step)
            if self.step % 100 == 0:
                print("at", self.step)
            self.step += 1
"""
ONE_BRANCH = """\
            if self.step % 100 == 0:
                print(loss)
                writer.add_scalar("loss", loss.item(), self.step)
                print("at", self.step)
            self.step += 1
"""


def test_reports_in_a_row_share_a_branch_by_the_counter_that_the_loop_has() -> None:
    text = repaired(NEIGHBOURS, unsafe=True)
    assert text.endswith(f"optimizer.step()\n{ONE_BRANCH}")
    assert "enumerate" not in text


def notebook_findings(*cells: str) -> list[Finding]:
    """Return what is found in the cells of a notebook, placed in them."""
    data = {"cells": [{"cell_type": "code", "source": cell} for cell in cells], "metadata": {}}
    notebook = read_notebook(json.dumps(data).encode())
    assert notebook is not None
    return [notebook.place(finding) for finding in findings(notebook.source)]


LOADER = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm
model = torch.nn.Linear(4, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,)))
losses = []
loader = DataLoader(data, batch_size=6)
"""
TRAIN = """\
pbar = tqdm(loader)
for x, y in pbar:
    x, y = x.to("cuda"), y.to("cuda")
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
"""


def test_a_repair_of_several_cells_is_told_in_words_and_not_made() -> None:
    told = {f.code: f.fix for f in notebook_findings(LOADER, TRAIN) if f.fix is not None}
    together = {f.code: f.fix for f in findings(LOADER + TRAIN) if f.fix is not None}
    assert told.keys() == together.keys() == {"ASG102", "ASG106"}
    assert all(not fix.edits and not fix.is_applied(unsafe=True) for fix in told.values())
    assert all(fix.is_applied(unsafe=True) for fix in together.values())
    assert "pin the batches of `loader` (cell 1, line 8)" in told["ASG106"].message
    assert "pin the batches of `loader` (line 8)" in together["ASG106"].message


def test_a_check_of_unknown_origin_is_only_shown() -> None:
    text = source('my_check(x.shape == y.shape, f"a loss of {loss}")', "from a import my_check")
    assert repaired(text, unsafe=True) == text
    (found,) = findings(text)
    assert found.fix is not None
    assert found.fix.applicability.value == "shown"


def test_an_upload_of_what_may_be_a_tensor_is_only_shown() -> None:
    text = source(
        "sizes = torch.tensor(batch_sizes, device=x.device)\n", "from a import batch_sizes"
    )
    assert repaired(text, unsafe=True) == text
    (found,) = findings(text)
    assert found.fix is not None
    assert "non_blocking=True" in found.fix.edits[0].text


def test_what_else_a_condition_asks_keeps_its_parentheses() -> None:
    code = Code("if (a or b) and m.any() and c: pass\n")
    test = code.tree.body[0].test  # type: ignore[union-attr]
    asked = test.left.right  # type: ignore[union-attr]
    assert truth.rest_of_test(code, test, asked) == "(a or b) and c"  # type: ignore[arg-type]


def test_variables_that_are_none_hold_no_memory_together() -> None:
    source = STEP.format(imports="", body="        held = None\n        other = None")
    made = "held = torch.ones(9)\n        x, y = held.cuda()"
    source = source.replace("x, y = x.cuda(non_blocking=True)", made)
    (found,) = check_source(
        source.encode(), "train.py", Settings(cache=False, select=("ASG106", "ASG108"))
    )
    spot = spot_of(Code(source), found)
    assert spot is not None
    assert not refills.has_other_names(spot, spot.node.func.value)  # type: ignore[attr-defined]
