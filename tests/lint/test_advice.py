"""Advice by pattern: each pattern's snippets, and the same words wherever a finding is shown."""

from __future__ import annotations

import json

import pytest

from asyncguard.catalogue import load
from asyncguard.lint.advice.choice import NEGATION, PREDICATES
from asyncguard.lint.advice.patterns import Pattern, patterns
from asyncguard.lint.check import check_source
from asyncguard.lint.labels import labels
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding

SETTINGS = Settings(cache=False)
PATTERNS = patterns()
IDS = [pattern.id for pattern in PATTERNS]


def found(source: str, rules: tuple[str, ...]) -> list[Finding]:
    return [f for f in check_source(source, "model.py", SETTINGS) if f.code in rules]


def has_advice(finding: Finding, pattern: Pattern) -> bool:
    """Whether a finding's help is the pattern's, whatever stands for the marks in that."""
    if "{better}" in pattern.help:
        return pattern.remedy in finding.message
    pieces = pattern.help.split("{others}")
    return all(piece in finding.advice for piece in pieces)


@pytest.mark.parametrize("pattern", PATTERNS, ids=IDS)
def test_a_hit_has_the_advice_of_its_pattern(pattern: Pattern) -> None:
    advised = [f for f in found(pattern.hit, pattern.rules) if has_advice(f, pattern)]
    assert advised, [(f.code, f.message, f.advice) for f in found(pattern.hit, pattern.rules)]
    for finding in advised:
        assert "{" not in finding.message.replace("{n}", "")
        assert "{" not in finding.advice.replace('f\\"..."', "")
        if "{" not in pattern.remedy:
            assert finding.message.endswith(f": {pattern.remedy}")
        assert pattern.fact in finding.message


@pytest.mark.parametrize("pattern", PATTERNS, ids=IDS)
def test_a_miss_is_found_and_has_other_advice(pattern: Pattern) -> None:
    others = check_source(pattern.miss, "model.py", SETTINGS)
    assert others
    assert not any(has_advice(f, pattern) for f in others if f.code in pattern.rules)


def test_patterns_ask_for_what_there_is_and_for_all_of_it() -> None:
    asked = {name.removeprefix(NEGATION) for pattern in PATTERNS for name in pattern.when}
    assert asked == set(PREDICATES)


def test_patterns_speak_of_rules_and_apis_that_there_are() -> None:
    rules = {label.code: label for label in labels()}
    apis = {point.id for point in load()}
    assert len(set(IDS)) == len(IDS)
    for pattern in PATTERNS:
        assert all(rules[code].remedy for code in pattern.rules), pattern.id
        assert apis.issuperset(pattern.apis), pattern.id
        assert pattern.when or pattern.apis or pattern.devices, pattern.id


@pytest.mark.parametrize("label", [x for x in labels() if x.remedy], ids=lambda label: label.code)
def test_a_message_ends_with_the_remedy_of_its_rule(label) -> None:  # type: ignore[no-untyped-def]
    assert label.message.startswith("`{site}` ")
    assert label.message.endswith(" {when}")


SOURCE = """\
import torch
class Vision(torch.nn.Module):
    def forward(self, x: torch.Tensor, grid_thw: torch.Tensor):
        sizes = grid_thw.prod(-1).tolist()
        return torch.split(x, sizes)
"""


def test_a_read_in_a_helper_has_the_advice_of_the_place_where_it_stands() -> None:
    source = SOURCE + "def run(model, loader):\n    for x, thw in loader:\n        model(x, thw)\n"
    (finding,) = found(source, ("ASG102",))
    assert finding.message.endswith("read it once, on the host, before the model")


def test_findings_that_are_not_hot_keep_the_advice_of_their_entry() -> None:
    everything = Settings(cache=False, select=("ALL",))
    (finding,) = [
        f
        for f in check_source(
            "import torch\nn = torch.ones(3, device='cuda').sum().item()\n", "a.py", everything
        )
        if f.code == "ASG102"
    ]
    assert finding.advice == load()["torch.Tensor.item"].advice
    assert json.dumps(finding.to_dict())


def test_a_move_of_a_name_made_of_itself_has_advice() -> None:
    source = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        kept = kept.to("cuda")
        loss = model(kept, y)
        loss.backward()
        optimizer.step()
"""
    assert found(source, ("ASG106",))


def test_parts_of_a_pinned_batch_need_non_blocking_alone() -> None:
    source = """\
import torch
from torch.utils.data import DataLoader
def train(model, dataset, optimizer):
    for batch in DataLoader(dataset, pin_memory=True):
        x, y = [value.to("cuda") for value in batch]
        loss = model(x, y)
        loss.backward()
        optimizer.step()
"""
    (moved,) = check_source(source, "train.py", SETTINGS)
    assert moved.message.endswith("pass `non_blocking=True`, which is all that is missing")
