"""The wheel holds every package and the catalogue, and works in a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomli

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(target)]
    subprocess.run([*command, str(ROOT)], check=True)
    (built,) = target.glob("*.whl")
    return built


def test_every_package_of_the_checkout_is_listed() -> None:
    settings = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(settings["tool"]["setuptools"]["packages"])
    present = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "asyncguard").rglob("__init__.py")
    }
    assert listed == present | {"asyncguard.data"}


def test_the_wheel_holds_the_catalogue_and_the_type_marker(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    rules = {f"asyncguard/data/{path.name}" for path in (ROOT / "rules").glob("*.toml")}
    assert rules
    assert rules | {"asyncguard/py.typed"} <= names


@pytest.fixture(scope="session")
def clean_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and its `engine` extra alone."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", f"{wheel}[engine]"]
    subprocess.run(install, check=True)
    return python


def test_the_wheel_works_in_a_clean_environment(clean_python: Path, tmp_path: Path) -> None:
    python = clean_python
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "def train(model, loader, optimizer):\n"
        "    for x, y in loader:\n"
        "        loss = torch.nn.functional.cross_entropy(model(x), y)\n"
        "        loss.backward()\n"
        "        optimizer.step()\n"
        "        print(loss.item())\n"
    )
    code = "from asyncguard import catalogue; print(catalogue.load()['torch.Tensor.item'].rule)"
    loaded = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "ASG102\n"
    check = subprocess.run(
        [python, "-m", "asyncguard", "check", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert check.returncode == 1, check.stderr
    assert "train.py:7:15: ASG102" in check.stdout


def test_the_demo_runs_on_the_reference_engine_where_no_framework_is(
    clean_python: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [clean_python, "-m", "asyncguard", "demo"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10,000 x  engine.ndarray.wait_to_read" in done.stderr
    assert "new -> 1 a step  engine.ndarray.item" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
