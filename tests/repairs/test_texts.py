"""The text and the applicability of repairs that need a library or a machine that is not here."""

from __future__ import annotations

import textwrap

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import apply, choose
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
