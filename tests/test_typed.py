"""Type checkers know the public names, what they return, and that there are no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import asyncguard

USES = Path(__file__).parent / "typed" / "uses.py"
ROOT = Path(__file__).parent.parent


def test_mypy_takes_the_uses_and_refuses_what_is_wrong() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version=3.11",
        "--follow-imports=silent", str(USES)]  # fmt: skip
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_pyright_takes_the_uses_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("basedpyright")
    settings = tmp_path / "pyrightconfig.json"
    about = {
        "include": [str(USES)],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": "error",
        "reportUnusedExpression": False,
    }
    settings.write_text(json.dumps(about))
    command = [sys.executable, "-m", "basedpyright", "--project", str(settings), "--outputjson"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(said.stdout)
    assert found["summary"]["filesAnalyzed"] == 1
    assert found["generalDiagnostics"] == []


def test_the_package_shows_its_public_names_alone() -> None:
    assert dir(asyncguard) == sorted([*asyncguard.__all__, "__version__"])
