"""What evidence is worth: one sum, fitted elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.catalogue import CatalogueError
from asyncguard.lint.check import check_source
from asyncguard.lint.evidence import weights as module
from asyncguard.lint.evidence.weights import in_words, probability, weighed, weights
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence, Finding
from tests.records import finding

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "evidence.json"
ITEMS = sorted({*weights().waits.items, *weights().hot.items, "runs.step", "runs.guarded"})
AUDIT = Settings(select=("ALL",))


@given(st.lists(st.sampled_from(ITEMS), unique=True), st.randoms(use_true_random=False))
def test_a_probability_is_a_sum_that_no_order_changes(items, random) -> None:
    found = probability(items)
    assert 0 < found < 1
    random.shuffle(items)
    assert probability(items) == pytest.approx(found)


@given(st.lists(st.sampled_from(ITEMS), unique=True), st.sampled_from(ITEMS))
def test_doubts_never_speak_for_a_wait(items, item) -> None:
    if item.startswith("doubt.") and item not in weights().hot.items:
        assert probability([*items, item]) <= probability(items) or item in items


def test_each_weight_is_one_that_the_fit_has_a_row_of() -> None:
    tables = json.loads(RESULTS.read_text(encoding="utf-8"))["weights"]
    for question, known in (("waits", weights().waits), ("hot", weights().hot)):
        assert {item: row["weight"] for item, row in tables[question].items()} == known.items
        assert all(row["packages"] >= 3 for row in tables[question].values())
    assert sum(map(len, tables.values())) <= 150


def test_what_is_said_to_run_in_every_step_is_asked_whether_it_does() -> None:
    waits, hot = weights().waits, weights().hot
    once = probability(["runs.none"])
    assert once == waits.probability(["runs.none"])
    assert probability(["runs.step"]) == pytest.approx(
        waits.probability(["runs.step"]) * hot.probability(["runs.step"])
    )
    assert probability(["runs.step", "runs.guarded"]) == waits.probability(
        ["runs.step", "runs.guarded"]
    )


def test_what_is_not_listed_weighs_nothing() -> None:
    assert probability(["no.such_item"]) == probability([])


@pytest.mark.parametrize(("found", "word"), [(0.0, Confidence.LOW), (1.0, Confidence.HIGH)])
def test_words_follow_from_probabilities(found: float, word: Confidence) -> None:
    assert in_words(found) is word
    assert in_words(weights().shown) in (Confidence.MEDIUM, Confidence.HIGH)


def test_a_finding_without_evidence_stays_as_it_is() -> None:
    assert weighed(finding()) == finding()


def test_a_finding_states_what_it_rests_on() -> None:
    source = (
        "import torch\ndef train(model, loader, optimizer):\n    for x in loader:\n"
        "        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n"
        "        print(loss.item())\n"
    )
    (read,) = (f for f in check_source(source, "a.py", AUDIT) if f.code == "ASG102")
    assert {"api.torch.Tensor.item", "runs.step", "subject.name", "in.function"} <= {*read.evidence}
    assert read.probability == round(probability(read.evidence), 3)
    assert read.confidence is in_words(read.probability)
    assert Finding.from_dict(read.to_dict()) == read


def test_classes_that_inherit_from_each_other_end_the_search_for_a_model() -> None:
    source = (
        "import torch\nclass A(B):\n    def f(self, x):\n        return torch.relu(x).item()\n"
        "class B(A):\n    pass\n"
    )
    (read,) = check_source(source, "a.py", AUDIT)
    assert "in.class" in read.evidence


def test_a_probability_in_the_settings_takes_the_place_of_words() -> None:
    likely = replace(finding(), probability=0.5, confidence=Confidence.LOW)
    assert Settings(min_probability=0.5).shows(likely)
    assert not Settings(min_probability=0.51).shows(likely)
    assert not Settings().shows(likely)


@pytest.mark.parametrize(
    "text",
    [
        "schema = 2\n",
        "shown = 0.5\nsure = 1\nwaits = 3\n",
        "shown = 0.5\nsure = 1\n[waits]\n[hot]\n",
    ],
)
def test_a_broken_table_is_told_with_its_name(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evidence.toml").write_text(text)
    monkeypatch.setattr(module, "rules_directory", lambda: tmp_path)
    with pytest.raises(CatalogueError, match=r"evidence.toml.*rules/README.md"):
        weights.__wrapped__()
