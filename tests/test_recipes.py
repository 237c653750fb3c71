"""The recipes for maintainers, followed in a copy of the package: each touches one place."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "maintainers" / "recipes.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## One place each\n")[2].partition("\n## ")[0]
RECIPES = [f"**{text}" for text in SECTION.split("\n- **")[1:]]

FRAMEWORK = '''\
schema = 1
framework = "toy"
modules = ["toy"]
checked_version = "1.0"
asynchronous_cpu = true

[returns]
device = ["toy.*"]

[[sync]]
id = "toy.Array.fetch"
rule = "ASG103"
kind = "array"
waits_for = "value"
url = "https://example.org/toy"
advice = "Fetch once, after the loop."
source = { methods = ["fetch"] }
one_sided = "A toy has no adapter."
hit = """
import toy
x = toy.ones(3)
for step in range(100):
    x = x + 1
    x.fetch()
"""
miss = """
import toy
x = toy.ones(3)
for step in range(100):
    x = x + 1
"""
'''
RULE = '''\
"""A value is printed.

Reference: https://example.org
"""

from asyncguard.lint.report.reports import report_site, sites_of

CODE = "ASG998"
NAME = "printed"
MESSAGE = "`{site}` prints {when}"
VALID: list[str] = []
INVALID: list[str] = []


def check(analysis):
    """Report each text."""
    for site in sites_of(analysis, "ASG101"):
        yield report_site(site, CODE, MESSAGE)
'''
FAMILY = """
[[name]]
id = "value.toy"
of = ["variable"]
says = "holds a toy"
words = ["toy"]
hit = ["new_toy"]
miss = ["toyota"]
"""
FORMAT = '''\
"""The lines alone."""


def findings(report, screen):
    """Return a line number for each finding."""
    return "".join(f"line {finding.line}\\n" for finding in report.findings)
'''
PATTERN = """\
schema = 1

[[pattern]]
id = "toy-print"
rules = ["ASG101"]
remedy = "print it with a toy"
help = "A toy prints without a wait."
hit = "..."
miss = "..."
"""
PROGRAM = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(loss)
"""

JSON = ("--output-format", "json")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its rules."""
    for name in ("asyncguard", "rules"):
        shutil.copytree(ROOT / name, tmp_path / name)  # with what is compiled, by its times
    return tmp_path


def python(copy: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def check(copy: Path, program: str, *options: str) -> str:
    (copy / "program.py").write_text(program)
    return python(copy, "-m", "asyncguard", "check", "--no-cache", *options, "program.py")


def place(title: str) -> str:
    """Return the one place that a recipe names."""
    (recipe,) = (text for text in RECIPES if text.startswith(f"**{title}**"))
    return next(iter(re.findall(r"`((?:rules|asyncguard)/\S+)`", recipe)))


def test_there_are_six_of_under_ten_lines() -> None:
    assert len(RECIPES) == 6
    assert all(recipe.count("\n") < 10 for recipe in RECIPES)


def test_a_framework(copy: Path) -> None:
    (copy / place("A framework").replace("NAME", "toy")).write_text(FRAMEWORK)
    program = FRAMEWORK.partition('hit = """')[2].partition('"""')[0].lstrip()
    (finding,) = json.loads(check(copy, program, *JSON))
    assert (finding["framework"], finding["line"]) == ("toy", 5)


def test_a_blocking_api(copy: Path) -> None:
    file, entry = copy / place("A blocking API").replace("NAME", "torch"), "[[sync]]\n"
    _, _, keys = FRAMEWORK.partition(entry)
    keys = keys.replace("toy.Array.fetch", "torch.Tensor.fetch").replace("toy.ones", "torch.ones")
    with file.open("a", encoding="utf-8") as rules:
        rules.write(f"\n{entry}{keys.replace('import toy', 'import torch')}")
    found = json.loads(check(copy, PROGRAM.replace("print(loss)", "loss.fetch()"), *JSON))
    assert [(finding["api"], finding["line"]) for finding in found] == [("torch.Tensor.fetch", 7)]


def test_an_advice_pattern(copy: Path) -> None:
    file = copy / place("An advice pattern")
    others = file.read_text(encoding="utf-8").partition("[[pattern]]")
    file.write_text(PATTERN + "\n" + "".join(others[1:]), encoding="utf-8")
    (finding,) = json.loads(check(copy, PROGRAM, *JSON))
    assert finding["message"].endswith(": print it with a toy")
    assert finding["advice"] == "A toy prints without a wait."


def test_a_rule(copy: Path) -> None:
    (copy / place("A rule").replace("NNN", "998")).write_text(RULE)
    found = json.loads(check(copy, PROGRAM, "--select", "ASG998", *JSON))
    assert [(finding["code"], finding["line"]) for finding in found] == [("ASG998", 7)]
    assert "printed" in python(copy, "-m", "asyncguard", "rules")


def test_a_name_family(copy: Path) -> None:
    with (copy / place("A family of names")).open("a", encoding="utf-8") as file:
        file.write(FAMILY)
    asked = "from asyncguard.lint.names import family; asks = family('value.toy'); "
    assert python(copy, "-c", f"{asked}print(asks('new_toy'), asks('toyota'))") == "True False\n"


def test_an_output_format(copy: Path) -> None:
    (copy / place("An output format").replace("NAME", "toy_lines")).write_text(FORMAT)
    assert check(copy, PROGRAM, "--output-format", "toy_lines") == "line 7\n"
