"""Messages say which parameter must be given, or turned on, for a wait to happen in every step."""

from __future__ import annotations

import re

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings

MODEL = """
import torch
OPTIONS = dict(smooth=True, audio=True, rate=0.5, scale=2.0)  # what is on in this program
class Model(torch.nn.Module):
    def __init__(self, smooth=False, scale=None, bias=True):
        super().__init__()
        self.smooth = smooth
        self.scale = scale or 1.0
        self.bias = bias

    def forward(self, x: torch.Tensor, labels=None, full=True, *, audio=False, rate=0.0):
        loss = x.sum()
{body}
        return loss
"""


def named(body: str) -> list[str]:
    """Return what the messages about a `forward` name, "" where they name nothing."""
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    findings = check_source(MODEL.format(body=indented), "model.py", Settings())
    found = [re.search(r"in every step(?: with ([^:]*))?:", f.message) for f in findings]
    return [match[1] or "" for match in found if match]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("loss.item()", ""),
        ("if labels is not None:\n    loss.item()", "`labels`"),
        ("if labels is None:\n    pass\nelse:\n    loss.item()", "`labels`"),
        ("if labels is None:\n    loss.item()", ""),
        ("if audio:\n    loss.item()", "`audio`"),
        ("if not audio:\n    loss.item()", ""),
        ("if not audio:\n    return loss\nloss.item()", "`audio`"),
        (
            "if labels is None or not audio:\n    return loss\nloss.nonzero()",
            "`labels` and `audio`",
        ),
        ("if audio and x.shape[0] > 1:\n    loss.sum().cpu()", "`audio`"),
        ("if audio or x.shape[0] > 1:\n    loss.sum().cpu()", ""),
        ("z = loss.item() if audio else 0", "`audio`"),
        ("z = 0 if audio else loss.item()", ""),
        ("z = audio and loss.item() > 1", "`audio`"),
        ("z = labels is None or loss.item() > 1", "`labels`"),
        ("z = audio or loss.item() > 1", ""),
        ("if self.smooth:\n    loss.item()", "`self.smooth`"),
        ("if rate > 0:\n    loss.item()", "`rate`"),
        ("if rate != 0.0:\n    loss.item()", "`rate`"),
        ("if rate <= 0:\n    return loss\nloss.item()", "`rate`"),
        ("if rate > 1:\n    loss.item()", ""),
        ("if 0 < rate < 1:\n    loss.item()", ""),
    ],
)
def test_a_message_names_the_options_that_a_wait_takes(body: str, expected: str) -> None:
    assert named(body) == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "if full:\n    loss.item()",  # on by default
        "if self.bias:\n    loss.item()",
        "if self.scale:\n    loss.item()",  # not the parameter itself
        "audio = x.shape[0] > 1\nif audio:\n    loss.item()",  # decided here
        'if labels is None:\n    raise ValueError("labels")\nloss.item()',  # all give them
        "if x.shape[0] > 1:\n    loss.item()",
    ],
)
def test_what_every_program_does_is_no_option(body: str) -> None:
    assert named(body) == [""]
