"""The wheel holds every package and the catalogue, and works in a clean environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import tomli

from tests.released import wheel_in

ROOT = Path(__file__).parent.parent
WAITS = "from asyncguard.engine import np\nnp.ones(1).wait_to_read()\n"


@pytest.fixture
def sdist(built: Path) -> Path:
    (archive,) = built.glob("*.tar.gz")
    return archive


@pytest.fixture
def wheel(built: Path) -> Path:
    """The wheel for every interpreter and platform."""
    return wheel_in(built / "pure")


def install(python: Path, package: str) -> None:
    """Install a package in the environment of an interpreter, which needs no pip of its own."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", package], check=True)


def test_one_wheel_is_for_every_platform(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith((".so", ".c"))]


def compiler() -> str | None:
    """The C compiler that this interpreter's extensions are built with, if it is there."""
    words = str(sysconfig.get_config_var("CC") or "").split()
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(words[0]) if words and header.exists() else None


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler, or no Python.h")
def test_where_there_is_a_compiler_the_wheel_holds_the_compiled_part(
    built: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(wheel_in(built / "compiled")) as archive:
        (name,) = (name for name in archive.namelist() if "_quick" in name and ".pyi" not in name)
        archive.extractall(tmp_path)
    assert name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))
    code = "from asyncguard.runtime import compiled; print(compiled.quick.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "ASYNCGUARD_PURE_PYTHON": ""}
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert loaded.stdout.strip() == str(tmp_path / name)


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


def interpreter_of(version: str) -> str | None:
    """Return an interpreter of a version: on the path, or one that pyenv keeps."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = [str(path) for path in root.glob(f"{version}.*/bin/python")]
    for name in (f"python{version}", *kept):
        try:
            subprocess.run([name, "-c", ""], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return name
    return None


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_a_fresh_installation_works(version: str, wheel: Path, tmp_path: Path) -> None:
    """The wheel alone, on every supported version that this machine has."""
    interpreter = interpreter_of(version)
    if interpreter is None:
        pytest.skip(f"python{version} is not installed")
    subprocess.run([interpreter, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install(python, str(wheel))
    done = run([python, ROOT / "tests" / "smoke.py"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        install(python, f"{wheel}[engine]")
        (tmp_path / "waits.py").write_text(WAITS)
        done = run([python, "-m", "asyncguard", "run", "waits.py"], tmp_path)
        assert "1 x  engine.ndarray.wait_to_read" in done.stderr, done.stderr


def run(command: Sequence[object], folder: Path) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_the_sdist_holds_what_a_packager_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files", "tests", "examples", "docs", "rules"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")  # fmt: skip
    assert {name for name in tracked if name} <= names
    assert {"CHANGELOG.md", "LICENSE", "Makefile", "action.yml", ".pre-commit-hooks.yaml"} <= names


def test_without_a_compiler_it_installs_all_the_same(built: Path) -> None:
    names = zipfile.ZipFile(wheel_in(built / "no_compiler")).namelist()
    assert "asyncguard/runtime/reads.py" in names
    assert not [name for name in names if name.endswith(".so")]


def test_the_description_is_whole_where_it_is_read(sdist: Path, wheel: Path) -> None:
    """What an index would show."""
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
