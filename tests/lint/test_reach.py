"""What reaches a definition: programs, tests, configuration, or nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings

LOSS = """
import torch

class {name}(torch.nn.Module):
    def forward(self, outputs, targets):
        for output in outputs:
            print(torch.mean(output).item())
"""
TRAIN = """
import torch
{imports}

def train(model, loader, optimizer):
    loss = {made}
    for x, y in loader:
        loss(model(x), y).backward()
        optimizer.step()

if __name__ == "__main__":
    train(None, [], None)
"""


def project(root: Path, files: dict[str, str]) -> dict[str, str]:
    """Write a project; return what reaches each of its classes and functions with a finding."""
    (root / "pyproject.toml").write_text("")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    report = check_paths([root], Settings(cache=False, min_probability=0, tests="check"))
    return {
        f"{Path(f.path).relative_to(root)}:{f.function.partition('.')[0]}": reached
        for f in report.findings
        for reached in (item.partition(".")[2] for item in f.evidence)
        if f"reach.{reached}" in f.evidence
    }


def program(imports: str, made: str) -> str:
    return TRAIN.format(imports=imports, made=made)


def losses(*names: str) -> str:
    return "".join(LOSS.format(name=name) for name in names)


def test_what_a_program_uses_is_told_from_what_stands_beside_it(tmp_path: Path) -> None:
    files = {"train.py": program("from losses import Used", "Used()"),
             "losses.py": losses("Used", "Dead")}  # fmt: skip
    found = project(tmp_path, files)
    assert found["losses.py:Used"] == "program"
    assert found["losses.py:Dead"] == "beside"


def test_what_only_something_dead_uses_is_dead(tmp_path: Path) -> None:
    files = {
        "train.py": program("from losses import Used", "Used()"),
        "losses.py": losses("Used", "Inner") + "\nclass Outer(Inner):\n    pass\n",
    }
    assert project(tmp_path, files)["losses.py:Inner"] == "beside"


@pytest.mark.parametrize(
    ("imports", "made"),
    [
        ("import losses", "losses.Loss()"),
        ("import losses as known", "known.Loss()"),
        ("from losses import *", "Loss()"),
        ("from package import Loss", "Loss()"),
        ("from package import losses", "losses.Loss()"),
        ("import package.losses", "package.losses.Loss()"),
        ("import losses", "getattr(losses, 'Lo' + 'ss')()"),
        ("", "load('losses.Loss')"),
        ("", "load(options.loss)"),  # which configuration names
    ],
)
def test_each_way_to_name_a_class_reaches_it(imports: str, made: str, tmp_path: Path) -> None:
    configured = "loss: Loss\n" if "options" in made else ""
    files = {
        "train.py": program(imports, made),
        "losses.py": losses("Loss", "Other"),
        "package/__init__.py": "from .losses import Loss\n",
        "package/losses.py": losses("Loss"),
        "train.yaml": configured,
    }
    found = project(tmp_path, files)
    home = "package/losses.py" if "package" in imports else "losses.py"
    assert found[f"{home}:Loss"] == "program"
    if "getattr" not in made:
        assert found["losses.py:Other"] != "program"


def test_a_comment_reaches_nothing(tmp_path: Path) -> None:
    files = {
        "train.py": program("from losses import Used  # , Dead", "Used()  # or Dead()"),
        "losses.py": losses("Used", "Dead"),
    }
    assert project(tmp_path, files)["losses.py:Dead"] == "beside"


def test_of_several_of_a_name_the_one_that_is_imported_is_reached(tmp_path: Path) -> None:
    files = {
        "train.py": program("from models.losses import Loss", "Loss()"),
        "models/losses.py": losses("Loss"),
        "other/losses.py": losses("Loss"),
    }
    found = project(tmp_path, files)
    assert found["models/losses.py:Loss"] == "program"
    assert found["other/losses.py:Loss"] == "nothing"


def test_what_a_decorator_registers_is_reached_with_its_file(tmp_path: Path) -> None:
    registered = losses("Loss", "Plain").replace("class Loss", "@register\nclass Loss")
    files = {"train.py": program("import losses", "make('loss')"), "losses.py": registered}
    found = project(tmp_path, files)
    assert found["losses.py:Loss"] == "program"
    assert found["losses.py:Plain"] != "program"


def test_programs_beside_the_training_and_tests_are_told_apart(tmp_path: Path) -> None:
    files = {
        "train.py": program("from losses import Used", "Used()"),
        "benchmarks/speed.py": program("from losses import Measured", "Measured()"),
        "tests/test_losses.py": "from losses import Tested\n\ndef test_it():\n    Tested()\n",
        "losses.py": losses("Used", "Measured", "Tested"),
    }
    found = project(tmp_path, files)
    reached = {name: found[f"losses.py:{name}"] for name in ("Used", "Measured", "Tested")}
    assert reached == {"Used": "program", "Measured": "aside", "Tested": "tests"}


def test_a_part_of_something_unknown_is_not_called_dead(tmp_path: Path) -> None:
    assert project(tmp_path, {"losses.py": losses("Loss")}) == {"losses.py:Loss": "unknown"}


def test_a_package_with_one_program_is_made_for_its_users(tmp_path: Path) -> None:
    names = [f"part{number}" for number in range(8)]
    files = {f"package/{name}.py": losses("Loss") for name in names}
    files["package/__init__.py"] = "".join(f"from .{name} import Loss\n" for name in names)
    files["package/part8.py"] = losses("Loss") + "\nif __name__ == '__main__':\n    Loss()\n"
    found = project(tmp_path, files)
    assert found["package/part0.py:Loss"] == "users"
    assert found["package/part8.py:Loss"] == "program"


def test_a_file_that_runs_nothing_is_a_part_of_something_where_all_stand_alone(
    tmp_path: Path,
) -> None:
    files = {
        "losses.py": losses("Loss"),
        "run.py": losses("Loss") + "\nif __name__ == '__main__':\n    Loss()\n",
    }
    found = project(tmp_path, files)
    assert found == {"losses.py:Loss": "unknown", "run.py:Loss": "program"}
