"""What advice takes a value to be made of, and where it follows it: one small program each."""

from __future__ import annotations

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False)
HOISTED = "read it once, on the host, before the model"
REDUCED = "weight by the mask instead of selecting"
CONSTANT = "compute it once, where the attribute is set"

PROGRAMS = {
    "a helper for lengths is told by them": (
        """
    def forward(self, x: torch.Tensor, input_lengths: torch.Tensor):
        y = self.encode(x)
        lengths = self.tower._get_output_lengths(input_lengths)
        mask = torch.arange(y.shape[1], device=y.device)[None, :] < lengths[:, None]
        return y[mask]
""",
        HOISTED,
    ),
    "an entry is named as an input": (
        """
    def forward(self, x: torch.Tensor, batch: dict[str, torch.Tensor]):
        return self.split(x, batch["image_sizes"].tolist())
""",
        HOISTED,
    ),
    "an array that something is written into is no input any more": (
        """
    def forward(self, x: torch.Tensor, input_ids: torch.Tensor):
        keep = torch.ones_like(input_ids, dtype=torch.bool)
        keep[input_ids == 3] = self.prune(x)
        return x[keep]
""",
        "select once",
    ),
    "tokens that were generated are no input": (
        """
    def forward(self, input_ids: torch.Tensor, scores: torch.Tensor):
        if (input_ids == 3).any():
            scores = self.again(scores)
        return scores
""",
        "read the flags of all tests at once",
    ),
    "a shape is no attribute": (
        """
    def forward(self, x: torch.Tensor):
        sizes = torch.tensor(x.shape[2:], device=x.device) * self.stride
        return self.crop(x, self.scale(sizes).item())
""",
        "accumulate on the device",
    ),
    "a number that is kept in an attribute and decides in the end": (
        """
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        count = mask.sum().item()
        self.average = 0.9 * self.average + 0.1 * count
        smooth = self.average / 2
        if smooth > self.limit:
            return self.stop(x)
        return x
""",
        "decide on the device",
    ),
    "a number that only scales arrays which are compared": (
        """
    def forward(self, x: torch.Tensor, mask: torch.Tensor):
        wide = x * mask.sum().item()
        return torch.where(wide > 3, x, 0)
""",
        "keep it a tensor",
    ),
    "parts of it, one after another, are handed to a host library": (
        """
    def forward(self, x: torch.Tensor, sizes):
        cost = self.cost(x).cpu()
        groups = cost.split(8, dim=1)
        group = groups[0]
        return [linear_sum_assignment(c[i]) for i, c in enumerate(group.split(sizes))]
""",
        "copy all that the host needs at once",
    ),
    "a name that holds something else by then": (
        """
    def forward(self, x: torch.Tensor):
        x = self.encode(x)
        kept = x[x > 3]
        kept = kept.mean()
        return self.more(kept)
""",
        REDUCED,
    ),
    "the sum along the dimension of the mask": (
        """
    def forward(self, x: torch.Tensor):
        y = self.encode(x)
        return y[:, y[0] > 3].any(1)
""",
        REDUCED,
    ),
    "the sum along another dimension": (
        """
    def forward(self, x: torch.Tensor):
        y = self.encode(x)
        return y[:, y[0] > 3].any(0)
""",
        "select once",
    ),
    "a loss that takes what it is given through a network": (
        """
    def forward(self, x: torch.Tensor):
        y = self.encode(x)
        return self.loss(y[y > 3], 1, 2, head=self.head, config=self.config, more=3, training=True)
""",
        "select once",
    ),
    "a loop pairs what it goes over": (
        """
    def forward(self, x: torch.Tensor, groups: list):
        cost = self.cost(x).cpu()
        return [linear_sum_assignment(c[:, :n]) for c, n in zip(cost, groups)]
""",
        "copy all that the host needs at once",
    ),
    "a list that the loop adds to is not the same in each round": (
        """
    def forward(self, x: torch.Tensor):
        found = []
        for i in range(100):
            found.append(self.step(x))
            if (torch.stack(found) == 3).any():
                break
        return found
""",
        "test every few rounds",
    ),
    "a collective may change what was uploaded": (
        """
    def forward(self, x: torch.Tensor, done: bool):
        flag = torch.tensor(0.0 if done else 1.0, device=x.device)
        torch.distributed.all_reduce(flag)
        if flag.item() == 0.0:
            return self.first(x)
        return self.second(x)
""",
        "decide on the device",
    ),
    "an attribute that is written into changes": (
        """
    def forward(self, x: torch.Tensor):
        self.seen[0] = 1
        if (self.seen == 1).all():
            return self.first(x)
        return self.second(x)
""",
        "do the work without asking",
    ),
    "a list of numbers that a loop compares with is read by nobody": (
        """
    def forward(self, x: torch.Tensor, steps: list):
        y = self.encode(x).mean()
        for step in steps:
            if y > step:
                return self.first(x)
        return self.second(x)
""",
        "test every few rounds",
    ),
    "a list of clones of a tensor is stacked on the device": (
        """
    def forward(self, x: torch.Tensor, end: torch.Tensor):
        start = end.clone()
        end = end + 8
        return self.second(x, torch.tensor([start, end], device=x.device))
""",
        "put the tensors together on the device",
    ),
}
HEAD = """\
import torch
from scipy.optimize import linear_sum_assignment
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(8, device="cuda")
        self.stride = torch.ones(2, device="cuda")
"""


@pytest.mark.parametrize("says", PROGRAMS)
def test_advice_goes_by_what_a_value_is(says: str) -> None:
    source, remedy = PROGRAMS[says]
    found = check_source(HEAD + source.lstrip("\n"), "model.py", SETTINGS)
    messages = [f.message for f in found if f.code.startswith("ASG10")]
    assert any(f": {remedy}" in message for message in messages), messages
    assert not any(CONSTANT in message for message in messages), messages
