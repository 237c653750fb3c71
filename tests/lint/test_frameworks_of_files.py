"""Which frameworks a file uses that imports none itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint import knowledge
from asyncguard.lint.modules.naming import index
from asyncguard.lint.modules.project import Project


@pytest.mark.parametrize(("imported", "found"), [("mxnet", ("mxnet",)), ("jax", ())])
def test_a_file_uses_the_framework_of_its_folder_if_it_calls_methods_of_that(
    tmp_path: Path, imported: str, found: tuple[str, ...]
) -> None:
    text = "def to_numpy(array):\n    return array.asnumpy()\n"
    files = {"__init__.py": "", "arrays.py": text, "checks.py": f"import {imported}\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    project = Project(index(str(tmp_path / name) for name in files), knowledge.load())
    assert project.screen.frameworks(str(tmp_path / "arrays.py"), text) == found


@pytest.mark.parametrize(
    ("made", "frameworks"),
    [
        ("model = tf.keras.Sequential()", ("tensorflow",)),
        ("x = tf.placeholder(tf.float32)", ()),
        ("sess = tf.Session(config=CONFIG)", ()),
        ("sess = tf.Session()\nwith tf.GradientTape() as tape: pass", ("tensorflow",)),
    ],
)
def test_a_file_beside_one_that_builds_graphs_gets_host_arrays(
    made: str, frameworks: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "runner.py").write_text("import numpy as np\n")
    (tmp_path / "train.py").write_text(f"import tensorflow as tf\nimport runner\n{made}\n")
    paths = [str(tmp_path / name) for name in ("runner.py", "train.py")]
    module = Project(index(paths), knowledge.load()).module("runner", paths[1])
    assert module is not None
    assert module.frameworks == frameworks
