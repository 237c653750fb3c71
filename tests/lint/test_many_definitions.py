"""A method called by name on an unknown object: which of many definitions the name reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings

SETTINGS = Settings(cache=False, jobs=1, min_probability=0.2)
MANY = 14
EVALUATOR = """\
import torch
class Evaluator:
    def process_scores(self, scores: torch.Tensor):
        self.kept = scores.cpu()
"""
EVALUATION = """\
import torch
def evaluate(model, loader, evaluator):
    for batch in loader:
        evaluator.process_scores(model(batch))
"""
SCRIPT = """\
import tensorflow as tf
class Model(tf.keras.Model):
    def action_value(self, observation):
        return self.predict(observation)
def try_it(env):
    return Model().action_value(env.reset())
class Agent:
    def train(self, env):
        while True:
            state, reward, done, info = env.step(self.model.action_value(state))
"""
BASE = """\
import torch
class Algorithm:
    def log_info(self, info):
        return info.item()
"""
OVERRIDE = """\
import torch
from base import Algorithm
class Algorithm{number}({base}):
    def log_info(self, info):
        return info["loss"].item()
"""
RUN = """\
import torch
def run(model, count):
    for _ in range(count):
        info = model.train_on_batch()
        model.log_info(info)
"""


def found(folder: Path, files: dict[str, str]) -> list[tuple[str, int]]:
    """The files and lines of the findings in a program."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [(Path(f.path).name, f.line) for f in check_paths([folder], SETTINGS).findings]


def test_a_name_with_thirteen_unrelated_definitions_reaches_none(tmp_path: Path) -> None:
    evaluators = {f"evaluator{number}.py": EVALUATOR for number in range(13)}
    assert found(tmp_path, {"evaluation.py": EVALUATION, **evaluators}) == []


def test_a_name_reaches_the_definition_in_its_own_script_among_many_alike(tmp_path: Path) -> None:
    scripts = {f"script{number}.py": SCRIPT for number in range(MANY)}
    assert sorted(found(tmp_path, scripts)) == sorted((name, 4) for name in scripts)


@pytest.mark.parametrize(("base", "reached"), [("Algorithm", True), ("object", False)])
def test_a_name_reaches_many_definitions_if_they_are_of_one_family(
    base: str, reached: bool, tmp_path: Path
) -> None:
    overrides = {f"a{n}.py": OVERRIDE.format(number=n, base=base) for n in range(MANY)}
    lines = found(tmp_path, {"base.py": BASE, "run.py": RUN, **overrides})
    expected = {("base.py", 4), *((name, 5) for name in overrides)} if reached else set()
    assert set(lines) == expected


def test_however_many_classes_override_a_method_a_call_by_their_base_reaches_each(
    tmp_path: Path,
) -> None:
    builders = [f"builder_{number}.py" for number in range(45)]
    files = {
        "base.py": (
            "class Builder:\n    def build(self, lengths):\n        raise NotImplementedError\n"
        ),
        "run.py": (
            "import torch\nfrom base import Builder\n"
            "def run(model, loader, builder: Builder):\n"
            "    for batch in loader:\n"
            "        out = model(batch)\n"
            "        builder.build(out)\n"
        ),
        **{
            name: "import torch\nfrom base import Builder\n"
            f"class {name[:-3].title()}(Builder):\n"
            "    def build(self, lengths: torch.Tensor):\n"
            "        return lengths.cpu()\n"
            for name in builders
        },
    }
    assert found(tmp_path, files) == [(name, 5) for name in sorted(builders)]
