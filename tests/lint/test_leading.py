"""Of the files around a file that is checked alone, what cannot lead to it is not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.modules.leading import Leading, Leads
from asyncguard.lint.run.settings import Settings

NAMED = "def note(value):\n    return value.item()\n"


def names(near: str, named: str = NAMED) -> set[str] | None:
    leads = Leads([named])
    leads.add(near)
    return None if leads.by_no_name else leads.names


def test_what_mentions_a_checked_function_leads_to_it_and_so_does_what_mentions_that() -> None:
    near = (
        "def step(x):\n    return note(x)\n"
        "def train(xs):\n    for x in xs:\n        step(x)\n"
        "def plot(xs):\n    draw(xs)\n"
    )
    assert names(near) == {"note", "step", "train"}


def test_a_class_leads_where_making_it_does() -> None:
    near = (
        "class Meter:\n    def __init__(self):\n        note(0)\ndef make():\n    return Meter()\n"
    )
    assert names(near) == {"note", "__init__", "Meter", "make"}


def test_a_decorator_is_part_of_a_function() -> None:
    assert names("@watched(\n    note,\n)\ndef step(x):\n    return x\n") == {"note", "step"}


def test_a_nested_function_is_part_of_the_one_around_it() -> None:
    near = "def outer():\n    def inner(x):\n        return note(x)\n    return inner\n"
    assert names(near) == {"note", "inner", "outer"}


def test_a_variable_of_a_module_leads_where_what_it_is_made_of_does() -> None:
    near = "fast = jit(note)\ndef train(x):\n    kept = fast(x)\n    return kept\n"
    assert names(near) == {"note", "fast", "train"}


def test_what_a_module_defines_for_others_is_told_apart() -> None:
    leads = Leads([NAMED])
    leads.add("class Meter:\n    def add(self, x):\n        note(x)\n")
    assert (leads.names, leads.tops) == ({"note", "add", "Meter"}, {"note", "Meter"})


def test_texts_may_be_added_in_any_order() -> None:
    far, near = "def train(x):\n    step(x)\n", "def step(x):\n    note(x)\n"
    leads = Leads([NAMED])
    leads.add(far)
    leads.add(near)
    assert leads.names == {"note", "step", "train"}


@pytest.mark.parametrize("name", ["forward", "call", "__call__", "__iter__"])
def test_everything_may_lead_to_what_is_called_by_no_name(name: str) -> None:
    named = f"class Model:\n    def {name}(self, x):\n        return x.item()\n"
    assert names("def plot(xs):\n    draw(xs)\n", named) is None
    near = f"class Model:\n    def {name}(self, x):\n        return note(x)\n"
    assert names(near) is None


def test_a_longer_text_takes_as_many_times_longer() -> None:
    """Nothing is looked at once for each function of a file: 30,000 of them are no trouble."""
    near = "@watched\ndef plot(x): draw(x)\n" * 30_000
    assert names(near) == {"note"}
    chain = "".join(f"def f{n + 1}(x): f{n}(x)\n" for n in range(30_000))
    assert len(names(f"def f0(x): note(x)\n{chain}") or ()) == 30_002


def test_only_files_of_which_nothing_is_reported_are_passed_over() -> None:
    leading = Leading(frozenset({"near.py"}), frozenset({"note"}))
    assert leading.leads("other.py", ["x = 1"])
    assert leading.leads("near.py", ["def step(x):", "    note(x)"])
    assert not leading.leads("near.py", ["def plot(x):", "    draw(x)"])


def test_a_file_that_imports_another_and_uses_nothing_of_it_is_not_read(tmp_path: Path) -> None:
    """`bases.py` of a large project is imported for its name alone; a user of it comes after."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "pad.py").write_text("# " + "x" * 310_000 + "\n")
    (tmp_path / "meters.py").write_text("import torch\n" + NAMED)
    filler = "# " + "y" * 50_000 + "\n"
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"import torch\nimport meters\n{filler}")
    (tmp_path / "user.py").write_text(
        "import torch\nfrom meters import note\n"
        "def train(model, loader, optimizer):\n    for x in loader:\n"
        "        loss = model(x)\n        loss.backward()\n        optimizer.step()\n"
        f"        note(loss)\n{filler}"
    )
    found = check_paths([tmp_path / "meters.py"], Settings(cache=False, jobs=1)).findings
    assert [finding.line for finding in found] == [3]


def test_a_user_of_the_generated_copy_is_a_user_of_its_source(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "pad.py").write_text("# " + "x" * 310_000 + "\n")
    (tmp_path / "modular_a.py").write_text("import torch\n" + NAMED)
    (tmp_path / "modeling_a.py").write_text(
        "# This file was automatically generated from modular_a.py.\nimport torch\n" + NAMED
    )
    (tmp_path / "user.py").write_text(
        "import torch\nfrom modeling_a import note\n"
        "def train(model, loader, optimizer):\n    for x in loader:\n"
        "        loss = model(x)\n        loss.backward()\n        optimizer.step()\n"
        "        note(loss)\n"
    )
    found = check_paths([tmp_path / "modular_a.py"], Settings(cache=False, jobs=1)).findings
    assert [finding.line for finding in found] == [3]
