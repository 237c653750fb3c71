"""The real pre-commit, with this repository as its hook, in a scratch git repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from asyncguard import cli

ROOT = Path(__file__).parent.parent
BAD = """\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
FIXABLE = "x = 1  # asyncguard: ignore[ASG102]\n"
CLEAN = BAD.replace("        print(loss.item())\n", "    print(loss.item())\n")

CALLER = """\
import torch
from meters import note
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        note([], loss)
"""
CALLED = "import torch\ndef note(meters, value):\n    meters.append(value.item())\n"


def git(directory: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-c", "user.name=Test", "-c", "user.email=test@example.invalid", *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        **options,
    )


@pytest.fixture(scope="module")
def hook_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository of the working tree as it is now, so that what is tested is this code."""
    target = tmp_path_factory.mktemp("hook")
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    git(target, "init", "--quiet", check=True)
    git(target, "add", "--all", check=True)
    git(target, "commit", "--quiet", "-m", "hook", check=True)
    git(target, "tag", "v0", check=True)
    return target


@pytest.fixture(scope="module")
def repository(
    hook_repository: Path, needed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A scratch repository with pre-commit installed as its git hook."""
    scratch = tmp_path_factory.mktemp("scratch")
    (scratch / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hook_repository}\n  rev: v0\n  hooks:\n  - id: asyncguard\n"
        "  - id: asyncguard-fix\n    stages: [manual]\n"
        "  - id: asyncguard-gate\n    stages: [manual]\n"
    )
    git(scratch, "init", "--quiet", check=True)
    git(scratch, "config", "user.name", "Test", check=True)
    git(scratch, "config", "user.email", "test@example.invalid", check=True)
    git(scratch, "add", "--all", check=True)
    install = [sys.executable, "-m", "pre_commit", "install"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRE_COMMIT_HOME", str(tmp_path_factory.mktemp("pre-commit-home")))
        patch.setenv("PYTHONPATH", str(needed))  # pip and setuptools too, so that these need
        patch.setenv("VIRTUALENV_NO_SEED", "1")  # no installation, neither in the environment
        patch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # nor, for the build, in another
        patch.setenv("PIP_COMPILE", "0")  # only what the hook imports
        patch.setenv("ASYNCGUARD_PURE_PYTHON", "1")  # packaging's tests compile the rest
        subprocess.run(install, cwd=scratch, check=True, capture_output=True)
        yield scratch


def commit(repository: Path, name: str, source: str) -> subprocess.CompletedProcess[str]:
    (repository / name).write_text(source)
    git(repository, "add", name, check=True)
    return git(repository, "commit", "-m", name)


def test_no_python_file_staged_passes(repository: Path) -> None:
    done = commit(repository, "notes.txt", "nothing to check\n")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_bad_file_blocks_the_commit(repository: Path) -> None:
    done = commit(repository, "bad.py", BAD)
    assert done.returncode == 1
    assert "bad.py:8:15: ASG102" in done.stdout + done.stderr
    git(repository, "rm", "--quiet", "--force", "bad.py", check=True)


def test_one_staged_file_finds_what_its_whole_project_finds(repository: Path) -> None:
    (repository / "pyproject.toml").write_text("")
    (repository / "train.py").write_text(CALLER)
    git(repository, "add", "pyproject.toml", "train.py", check=True)
    done = git(repository, "commit", "--no-verify", "-m", "the loop")
    assert done.returncode == 0, done.stdout + done.stderr
    done = commit(repository, "meters.py", CALLED)
    assert done.returncode == 1
    assert "meters.py:3:19: ASG102" in done.stdout + done.stderr
    command = [sys.executable, "-m", "asyncguard", "check", "--no-cache", "."]
    whole = subprocess.run(command, cwd=repository, capture_output=True, text=True).stdout
    (line,) = [line for line in whole.splitlines() if "ASG102" in line]
    assert line in done.stdout + done.stderr
    git(
        repository,
        "rm",
        "--quiet",
        "--force",
        "meters.py",
        "train.py",
        "pyproject.toml",
        check=True,
    )


def test_a_clean_file_passes(repository: Path) -> None:
    done = commit(repository, "clean.py", CLEAN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout + done.stderr


def hook(repository: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run one of the hooks that the scratch repository runs on request only."""
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--hook-stage", "manual", "--all-files", name],
        cwd=repository,
        capture_output=True,
        text=True,
    )


def test_the_fixing_hook_repairs_the_file_and_stops_the_commit_once(repository: Path) -> None:
    (repository / "fixable.py").write_text(FIXABLE)
    git(repository, "add", "fixable.py", check=True)
    done = hook(repository, "asyncguard-fix")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert (repository / "fixable.py").read_text() == "x = 1\n"
    assert hook(repository, "asyncguard-fix").returncode == 0
    git(repository, "rm", "--quiet", "--force", "fixable.py", check=True)


def test_the_gate_hook_fails_on_what_is_not_in_the_baseline(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "old.py").write_text(BAD)
    git(repository, "add", "old.py", check=True)
    without = hook(repository, "asyncguard-gate")
    assert without.returncode == 1
    assert "asyncguard gate --update" in without.stdout
    monkeypatch.chdir(repository)
    assert cli.main(["gate", "--update", "."]) == 0
    git(repository, "add", "asyncguard-baseline.json", check=True)
    assert hook(repository, "asyncguard-gate").returncode == 0
    (repository / "new.py").write_text(BAD)
    git(repository, "add", "new.py", check=True)
    grown = hook(repository, "asyncguard-gate")
    assert grown.returncode == 1
    assert "new.py:8:15: ASG102" in grown.stdout
    assert "old.py" not in grown.stdout
