"""A fast start: what a check does not need is not imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from asyncguard.lint.labels import labels
from asyncguard.lint.report import registry

CHECK = """
import sys
from asyncguard.cli import main
status = main(["check", "code.py", *sys.argv[1:]])
print(status, *sorted({"libcst", "jinja2", "msgspec"} & sys.modules.keys()), file=sys.stderr)
"""
HOT = """\
import torch
def train(model, loader):
    for x in loader:
        loss = model(x)
        loss.backward()
        print(loss.item())
"""


def imports(folder: Path, *options: str) -> str:
    """Check a folder's file in a new process; returns its status and what it has imported."""
    command = [sys.executable, "-c", CHECK, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stderr.strip()


def test_what_the_cache_answers_needs_no_tree(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(HOT, encoding="utf-8")
    assert imports(tmp_path) == "1 libcst msgspec"
    assert imports(tmp_path) == "1 msgspec"


def test_msgspec_is_for_caches_alone(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(HOT, encoding="utf-8")
    assert imports(tmp_path, "--no-cache") == "1 libcst"
    assert imports(tmp_path) == "1 libcst msgspec"


def test_labels_say_what_the_rules_say() -> None:
    told = [(label.code, label.name, label.default, label.refines) for label in labels()]
    assert told == [(r.code, r.name, r.default, r.refines) for r in registry.rules()]
