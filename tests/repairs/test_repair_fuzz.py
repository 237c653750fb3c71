"""Programs drawn at random do the same after their repairs: 300 in each run of the suite.

The law: no safe repair changes the output, the values (with their types, dtypes, gradients and
places), the exception or the exit status; an unsafe one changes what its text says and no more.
`benchmarks/repair_fuzz.py` draws as many as one likes.
"""

from __future__ import annotations

import pytest

from tests.frameworks import require
from tests.repairs import loops, same

EXAMPLES = {"torch": 130, "mxnet": 120, "jax": 50}


@pytest.mark.parametrize("framework", loops.FRAMEWORKS)
def test_random_programs_do_the_same_after_their_repairs(framework: str) -> None:
    require(framework)

    sources = loops.drawn(framework, EXAMPLES[framework])  # the benchmark draws others
    with same.device_of(framework):
        for source in sources:
            for _, _, difference in same.compare(source):
                assert difference is None, str(difference)


HEAD = """import torch
import torch.nn.functional as F

class Odd:
    def to(self, device):
        return self

def cool(value):
    t.mul_(0.5)
    return value

def run(device):
    global t
    torch.manual_seed(0)
    t = torch.rand(4, 3, device=device)
    x = torch.rand(4, 3, device=device)
    mask = x[:, 0] > 0.3
    counts, kept, nobody = [1, 2, 1, 2], [], []
"""
# What safe repairs broke: each statement of a training loop, and what stands before the loop.
BROKEN = {
    "a read again behind a view": ("", "p = torch.softmax(x, 1); row = p[0]; a = p.sum().item(); "
                                  "row[0] = 5.0; b = p.sum().item(); kept += [a, b]"),
    "a read again behind a loop over a list": ("g = torch.ones(3, device=device); grads = [g]",
        "a = g.sum().item()\nfor each in grads: each *= 0.1\nb = g.sum().item(); kept += [a, b]"),
    "a read again behind a closure": ("def more(): t.add_(1)",
        "a = t.sum().item()\nmore()\nb = t.sum().item(); kept += [a, b]"),
    "a name whose last value is shown first": ("n = 0",
        "print(x.sum().item(), n)\nn = t.mean().item(); kept += [n]"),
    "a mask that a closure binds anew": ("def flip():\n    nonlocal mask\n    mask = ~mask",
        "u = x[mask]; flip(); v = t[mask]; kept += [u.sum().item(), v.sum().item()]"),
    "a mask that a view writes to": ("head = mask[:2]\ndef stain(): head[:] = False",
        "u = x[mask]; stain(); v = t[mask]; kept += [u.sum().item(), v.sum().item()]"),
    "a comprehension whose calls change the value": ("",
        "kept += [f(t.sum().item()) for f in (cool, abs, cool)]"),
    "one number of repeats for all rows": ("", "r = torch.tensor([2], device=device); "
        "kept += [torch.repeat_interleave(x, r, dim=0).sum().item()]"),
    "counts that change": ("",
        "r = torch.tensor(counts, device=device); counts.append(1); counts[0] = 7\n"
        "kept += [torch.repeat_interleave(x, r, dim=0).sum().item()]; counts = [1, 2, 1, 2]"),
    "a number beyond the type": ("",
        "kept += [torch.tensor(torch.finfo(torch.float64).max, device=device).item()]"),
    "a number beyond the type that is cast": ("",
        "kept += [torch.tensor(1e300).type_as(mask).item()]"),
    "a leaf": ("", "w = torch.zeros(4, requires_grad=True).to(device); kept += [w.is_leaf]"),
    "elements that share memory": ("",
        "w = torch.zeros(1).expand(4).to(device); w[0] = step; kept += [w.sum().item()]"),
    "a list that goes beyond the end": ("",
        "try: x[:, [1, 9]] = 2.0\nexcept IndexError: kept += [step]\nkept += [x.sum().item()]"),
    "a class with a `to` of its own": (
        "from torch.utils.data import DataLoader\n"
        "loader = DataLoader([1], collate_fn=lambda _: Odd(), pin_memory=True)",
        "for batch in loader: kept += [type(batch.to(device)).__name__, x.sum().item()]"),
}  # fmt: skip


@pytest.mark.parametrize("unsafe", [False, True])
def test_programs_that_repairs_broke_do_the_same(unsafe: bool) -> None:
    require("torch")
    different = {}
    with same.device_of("torch"):
        for name, (before, inside) in BROKEN.items():
            lines = [*before.splitlines(), "for step in range(3):"]
            lines += [f"    {line}" for line in inside.splitlines()] + ["return kept, t, x, mask"]
            source = HEAD + "".join(f"    {line}\n" for line in lines)
            assert same.do(source).end == "returned", source
            for _, _, difference in same.compare(source, (unsafe,)):
                if difference is not None:
                    different[name] = str(difference)
    assert not different, "\n\n".join(different.values())


def test_a_generator_gives_what_its_caller_left() -> None:
    """The caller of a generator changes what it is given before the next value is asked for."""
    require("torch")
    source = """import torch

def run(device):
    t = torch.ones(3, device=device)
    for step in range(3):
        before = t.norm().item()
        yield t
        after = t.norm().item()
        print(before, after)
    return t
"""
    with same.device_of("torch"):
        assert [d for _, _, d in same.compare(source) if d is not None] == []


SCRIPTED = """import torch

@torch.jit.script
def places(x: torch.Tensor, y: torch.Tensor):
    mask = x > 0
    return x[mask], y[mask], torch.tensor(0.0, device=x.device)

def run(device):
    x = torch.tensor([1.0, -1.0], device=device)
    return [places(x, x)[0].sum().item() for _ in range(3)]
"""


def test_what_torchscript_compiles_is_left_alone() -> None:
    findings = same.found_in(SCRIPTED)
    assert [f.line for f in findings if f.fix is not None and f.line < 9] == []
