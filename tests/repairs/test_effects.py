"""The analysis of effects: whether a stretch of code may change a value that is read around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
import pytest

from asyncguard.lint.fixes import effects, kept, sorts
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.syntax.nodes import Expression, body, name_of, targets

PROGRAM = """
import torch
import torch.nn.functional as F

class Odd:
    def item(self):
        return 1

def run(given, known: torch.Tensor, call):
    probs = torch.softmax(known, 0)
    first = probs.norm().item()
    {stretch}
    again = {read}
    row = probs[0]
    both = [probs, known * 2]
    for each in both:
        scaled = each * 2
    keep = known > 0
    odd = Odd()
    number = 3
    loss = F.cross_entropy(call(given), number)
    return first, again
"""

# What runs in between, and whether `probs.norm().item()`, which nobody else holds, may change.
OWN = {
    "pass": False,
    "row[0] = 5.0": True,
    "for each in both: each *= 0.1": True,
    "each.add_(1)": True,
    "scaled.add_(1)": False,
    "both.append(given)": True,
    "both[0] = given": True,
    "torch.add(known, 1, out=row)": True,
    "call(probs)": True,
    "call(row)": True,
    "given.probs = probs; call()": True,
    "other = probs.view(-1); other.zero_()": True,
    "del probs": True,
    "probs, other = known, 3": True,
    "probs.grad = None": True,
    "hidden = lambda: probs.zero_()\n    call()": True,
    "def hidden():\n        nonlocal probs\n        probs = known\n    call()": True,
    "yield": False,
    "yield probs\n    call()": True,
    "call(given)": False,
    "loss.backward()": False,
    "given.add_(1)": False,
    "keep[0] = True": False,
    "print(first)": False,
    "other = {n: 1 for n in both}": False,
    "with given: pass": False,
}
# Likewise for `known.norm().item()`, which the caller holds as well.
GIVEN = {
    "pass": False,
    "print(first)": False,
    "other = known + 1": False,
    "other = given.mean": False,
    "with torch.no_grad(): other = known * 2": False,
    "keep[0] = True": False,
    "probs.add_(1)": False,
    "number += 1": False,
    "yield": True,
    "call()": True,
    "loss.backward()": True,
    "given.zero_()": True,
    "given += 1": True,
    "given[0] = 1": True,
    "for each in given: pass": True,
    "with given: pass": True,
    "odd.item()": True,
    "import os": True,
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    kept.forget()


def parsed(stretch: str, read: str) -> tuple[Code, Sequence[cst.CSTNode], Expression]:
    """Return a program, the statements in between, and the read behind them."""
    code = Code(PROGRAM.format(stretch=stretch, read=read))
    run = body(code.tree.body[-1])
    at = next(n for n, s in enumerate(run) if [*map(name_of, targets(s))] == ["again"])
    return code, run[2:at], run[at].value


@pytest.mark.parametrize(
    ("read", "cases"), [("probs.norm().item()", OWN), ("known.norm().item()", GIVEN)]
)
def test_what_runs_in_between_may_change_a_value(read: str, cases: dict[str, bool]) -> None:
    found = {}
    for stretch in cases:
        code, between, value = parsed(stretch, read)
        found[stretch] = effects.may_change(code, between, value)
        kept.forget()
    assert found == cases


def test_only_what_is_proven_may_be_evaluated_again() -> None:
    cases = {
        "probs.norm().item()": True,
        "(known > 0).sum().item()": True,
        "float(known.mean() + number)": True,
        "given.norm().item()": False,
        "odd.item()": False,
        "call(known)": False,
        "torch.randn(3).sum().item()": False,
        "probs.add_(1).item()": False,
        "(other := probs).item()": False,
    }
    found = {}
    for read in cases:
        code, _, value = parsed("pass", read)
        found[read] = effects.is_repeatable(code, value)
        kept.forget()
    assert found == cases


def test_a_special_method_of_the_file_may_change_anything() -> None:
    code, between, value = parsed("other = given + 1", "known.norm().item()")
    assert not effects.may_change(code, between, value)
    kept.forget()
    own = PROGRAM.replace("def item(self)", "def __radd__(self, other)")
    code = Code(own.format(stretch="other = 1 + given", read="known.norm().item()"))
    run = body(code.tree.body[-1])
    assert effects.may_change(code, [run[2]], run[3].value)


def test_a_list_is_of_what_is_put_into_it_by_whatever_name() -> None:
    cases = {
        "pass": True,
        "row.add_(1)": True,
        "alias = both; alias.append(given)": False,
        "call(both)": False,
        "hidden = lambda: both": False,
    }
    found = {}
    for stretch in cases:
        code, _, value = parsed(stretch, "both[0].norm()")
        found[stretch] = sorts.is_tensor(code, value)
        kept.forget()
    assert found == cases
