"""What CI systems run: the steps of action.yml and of the GitLab template, as plain shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from asyncguard.version import __version__
from tests import warm
from tests.released import wheel_in

ROOT = Path(__file__).parent.parent
BAD = """\
import torch

def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(loss)
"""
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, CHECK = ACTION["runs"]["steps"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "train.py").write_text(BAD)
    return folder


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub runs bash, with this environment's asyncguard on the path."""
    folders = [warm.commands(), str(Path(sys.executable).parent)]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
    )


def check(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the checking step with these inputs, the others as action.yml has them."""
    values = {name: item["default"] for name, item in ACTION["inputs"].items()} | inputs
    given = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)
        for name, text in CHECK["env"].items()
    }
    return shell(CHECK["run"], folder, **given)


def test_the_action_installs_itself_beside_the_project(
    built: Path, needed: Path, tmp_path: Path
) -> None:
    """From a wheel: pre-commit's hook is installed from the repository itself."""
    added, python = tmp_path / "path", tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --without-pip\n')  # it is in `needed`
    python.chmod(0o755)
    done = shell(
        f'PATH="{python.parent}:$PATH"\n{INSTALL["run"]}',
        tmp_path, RUNNER_TEMP=str(tmp_path / "a b"), PYTHONPATH=str(needed),
        GITHUB_ACTION_PATH=str(wheel_in(built / "pure")), GITHUB_PATH=str(added), PIP_COMPILE="0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folder = Path(added.read_text().strip())
    told = shell(f"'{folder}/asyncguard' --version", tmp_path, PYTHONPATH=str(needed))
    assert told.stdout == f"asyncguard {__version__}\n", told.stderr


def test_the_action_fails_with_annotations(repository: Path) -> None:
    done = check(repository)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::warning .*file=train\.py,line=8,", done.stdout, re.MULTILINE)
    assert not (repository / "asyncguard.sarif").exists()


def test_the_action_passes_what_the_baseline_holds(repository: Path) -> None:
    accept = "asyncguard check --write-baseline asyncguard-baseline.json ."
    assert shell(accept, repository).returncode == 0
    assert check(repository).returncode == 0
    (repository / "new.py").write_text(BAD)
    done = check(repository)
    assert done.returncode == 1
    assert "new.py" in done.stdout
    assert "train.py" not in done.stdout


def test_the_action_writes_sarif_beside_its_verdict(repository: Path) -> None:
    done = check(repository, sarif="found.sarif", args="--select ASG101 --no-cache")
    assert done.returncode == 1
    (run,) = json.loads((repository / "found.sarif").read_text())["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == "ASG101"


def test_inputs_of_the_action_are_words_and_never_run(repository: Path) -> None:
    done = check(repository, paths="$(touch pwned) `touch pwned`; touch pwned")
    assert done.returncode == 2
    assert not (repository / "pwned").exists()


def test_the_gitlab_job_reports_and_fails(repository: Path, tmp_path: Path) -> None:
    text = (ROOT / "templates" / "asyncguard.gitlab-ci.yml").read_text(encoding="utf-8")
    job = yaml.safe_load(text)["asyncguard"]
    install, *lines = job["script"]
    assert install == 'pip install --quiet "$ASYNCGUARD_PACKAGE"'
    done = shell("\n".join(lines), repository, **job["variables"])
    assert done.returncode == 1
    report = repository / job["artifacts"]["reports"]["codequality"]
    (found,) = json.loads(report.read_text())
    assert found["location"]["path"] == "train.py"
    assert shell("asyncguard check --write-baseline asyncguard-baseline.json .", repository)
    assert shell("\n".join(lines), repository, **job["variables"]).returncode == 0


def test_nothing_names_an_address_or_a_tag_of_its_own() -> None:
    """Who publishes asyncguard, and where, is not known here: examples leave OWNER and REVISION."""
    own = re.compile(r"asyncguard\.github\.io|github\.com/asyncguard|asyncguard@v\d|rev: v\d")
    folders = ("asyncguard", "docs", "templates", "tools", "examples", "rules")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    files += [ROOT / name for name in ("README.md", "action.yml", "mkdocs.yml", "pyproject.toml")]
    kinds = {".md", ".py", ".yml", ".toml", ".jinja", ".js"}
    texts = {
        path: path.read_text("utf-8", errors="replace") for path in files if path.suffix in kinds
    }
    assert [str(path) for path, text in texts.items() if own.search(text)] == []
    for name in ("docs/guides/ci.md", "action.yml"):
        assert set(re.findall(r"uses: (\S*asyncguard@\w+)", texts[ROOT / name])) == {
            "OWNER/asyncguard@REVISION"
        }


def test_five_lines_make_a_failing_gate() -> None:
    """What a user writes for GitHub, GitLab and pre-commit: five lines at most each."""
    text = (ROOT / "docs" / "guides" / "ci.md").read_text(encoding="utf-8")
    shortest = re.findall(r"<!-- file: (\S+) -->\n```yaml\n(.*?)```", text, re.DOTALL)
    first = dict(reversed(shortest))
    for name in (".github/workflows/asyncguard.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"):
        assert len(first[name].splitlines()) <= 5, name


def test_the_changelog_has_the_version_with_a_date_and_each_heading_once() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert sections[0].startswith("[Unreleased]")
    assert re.match(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d\n", sections[1])
    known = ["Security", "Added", "Changed", "Fixed", "Removed"]
    for section in sections:
        headings = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert headings == [name for name in known if name in headings]


def test_make_test_fails_where_a_framework_with_an_adapter_is_missing() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lists = re.findall(r"ASYNCGUARD_REQUIRE=(\S+)|REQUIRED = (\S+)|print\(\"(,\S+)\" if", makefile)
    required = set(re.findall(r"\w+", " ".join("".join(found) for found in lists)))
    folder = ROOT / "asyncguard" / "runtime" / "adapters"
    adapters = {path.stem for path in folder.iterdir() if not path.name.startswith("_")}
    assert adapters - {"engine"} <= required
