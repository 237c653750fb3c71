"""Constants of a module that become buffers, and those that do not; some run in `programs/`."""

from __future__ import annotations

import pytest

from tests.repairs.test_programs import repaired

MODULE = """
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        scale = torch.tensor([1.0, 2.0, 3.0], device=x.device)
        return self.linear(x * scale)

def train(loader, device):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
MADE = "        scale = torch.tensor([1.0, 2.0, 3.0], device=x.device)\n"
USED = "        return self.linear(x * scale)\n"


def test_a_constant_is_made_where_the_module_begins() -> None:
    after = repaired(MODULE)
    assert after == MODULE.replace(MADE, "        scale = self.scale\n").replace(
        "super().__init__()\n",
        "super().__init__()\n        self.register_buffer("
        '"scale", torch.tensor([1.0, 2.0, 3.0]), persistent=False)\n',
    )
    assert repaired(after) == after


def test_a_name_that_the_module_has_is_not_taken() -> None:
    other = MODULE.replace("scale", "train")
    assert 'register_buffer("train_2"' in repaired(other.replace("def train(", "def main("))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (USED, "        return self.linear(x * scale), scale\n"),
        (USED, "        scale[0] = 2\n" + USED),
        (USED, "        scale.mul_(2)\n" + USED),
        (USED, "        scale += 1\n" + USED),
        (USED, "        torch.mul(x, 2, out=scale)\n" + USED),
        (USED, "        self.kept = scale\n" + USED),
        (USED, "        self.kept.append(scale.view(3))\n" + USED),
        (USED, "        change(scale)\n" + USED),
        (USED, "        for row in scale:\n            row.zero_()\n" + USED),
        (USED, "        return (lambda v: v * scale)(x)\n"),
        (USED, "        return nn.init.zeros_(scale) * x\n"),
        (USED, "        return torch.squeeze(scale)\n"),
        ("device=x.device", "device=x.device, dtype=x.dtype"),
        ("device=x.device", "device=x.device, requires_grad=True"),
        ("[1.0, 2.0, 3.0]", "[1.0, 2.0, self.third]"),
        ("        super().__init__()\n", "        torch.nn.Module.__init__(self)\n"),
        ("(nn.Module)", "(nn.Module, Mixin)"),
        ("(nn.Module)", "(Base)"),
        ("    def forward(self, x)", "    @staticmethod\n    def forward(self, x)"),
        (MADE, "        self = self.inner\n" + MADE),
        (
            "def train(",
            "class Other(Net):\n    def __init__(self):\n        nn.Module.__init__(self)\n\n"
            "def train(",
        ),
    ],
)
def test_a_constant_that_may_be_seen_elsewhere_is_no_buffer(before: str, after: str) -> None:
    assert before in MODULE
    assert "register_buffer" not in repaired(MODULE.replace(before, after))


LOOP = """
import torch
import torch.nn.functional as F

def train(loader, model, optimizer, device):
    for x, y in loader:
        weight = torch.tensor([1.0, 2.0], device=device)
        loss = F.cross_entropy(model(x), y, weight=weight)
        loss.backward()
        optimizer.step()
"""


def test_a_constant_of_a_loop_is_uploaded_before_it() -> None:
    value = "torch.tensor([1.0, 2.0], device=device)"
    assert repaired(LOOP) == LOOP.replace(f"weight = {value}", "weight = weight_constant").replace(
        "    for x", f"    weight_constant = {value}\n    for x"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("device=device", "device=x.device"),
        ("    for x, y in loader", "    for device, x, y in loader"),
        ("        loss.backward()\n", "        loss.backward()\n        device = other\n"),
        ("        loss.backward()\n", "        loss.backward()\n        weight[0] += 1\n"),
        ("        loss.backward()\n", "        loss.backward()\n        kept.append(weight)\n"),
        ("[1.0, 2.0]", "[1.0, float(len(x))]"),
    ],
)
def test_a_constant_that_changes_stays_in_the_loop(before: str, after: str) -> None:
    assert before in LOOP
    assert "_constant" not in repaired(LOOP.replace(before, after))
