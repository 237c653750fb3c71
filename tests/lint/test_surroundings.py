"""A file checked alone gives the findings that it has when its project is checked."""

from __future__ import annotations

import json
from pathlib import Path

import libcst as cst
import pytest

from asyncguard.lint import live
from asyncguard.lint.check import check_paths
from asyncguard.lint.live import check_text
from asyncguard.lint.modules.project import Project
from asyncguard.lint.run import bases, context, surroundings, worker
from asyncguard.lint.run.cache import stamped
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.syntax.unit import parse, parse_ahead
from asyncguard.model import Finding

UTILS = "import torch\ndef note(meters, value):\n    meters.append(value.item())\n"
TRAIN = """\
import torch
from {module} import note
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        note([], loss)
"""
SETTINGS = Settings(cache=False, jobs=1, min_probability=0.2)


def project(folder: Path, marker: str = "pyproject.toml") -> Path:
    """A project whose step loop is two folders away from what it calls."""
    (folder / "pkg" / "meters").mkdir(parents=True)
    (folder / "scripts").mkdir()
    if marker:
        (folder / marker).write_text("")
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "meters" / "__init__.py").write_text("")
    (folder / "pkg" / "meters" / "utils.py").write_text(UTILS)
    (folder / "scripts" / "train.py").write_text(TRAIN.format(module="pkg.meters.utils"))
    return folder


def of(findings: tuple[Finding, ...], name: str) -> list[Finding]:
    return [finding for finding in findings if finding.path.endswith(name)]


@pytest.mark.parametrize("marker", ["pyproject.toml", "setup.py", "asyncguard.toml"])
def test_a_file_alone_and_its_project_tell_the_same(tmp_path: Path, marker: str) -> None:
    project(tmp_path, marker)
    whole = check_paths([tmp_path], SETTINGS).findings
    for name in ("pkg/meters/utils.py", "scripts/train.py"):
        alone = check_paths([tmp_path / name], SETTINGS)
        assert list(alone.findings) == of(whole, name)
        assert alone.files_checked == 1
    assert [finding.line for finding in whole] == [3]


def test_standard_input_is_checked_within_its_project(tmp_path: Path) -> None:
    project(tmp_path)
    path = tmp_path / "pkg" / "meters" / "utils.py"
    data = f"\n{UTILS}".encode()  # as it stands in an editor
    (finding,) = check_text(data, str(path), Configuration.fixed(SETTINGS))
    assert (finding.path, finding.line) == (str(path), 4)


def test_files_of_no_project_have_the_others_of_their_folder(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(UTILS)
    (tmp_path / "train.py").write_text(TRAIN.format(module="utils"))
    (finding,) = check_paths([tmp_path / "utils.py"], SETTINGS).findings
    assert finding.line == 3
    assert check_paths([tmp_path / "train.py"], SETTINGS).findings == ()


def test_context_can_be_turned_off(tmp_path: Path) -> None:
    project(tmp_path)
    settings = Settings(cache=False, jobs=1, context=False)
    assert check_paths([tmp_path / "pkg" / "meters" / "utils.py"], settings).findings == ()


def test_of_a_large_project_those_that_mention_the_file_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "WHOLE", 100)
    project(tmp_path)
    (tmp_path / "pkg" / "other.py").write_text("import torch\nprint(1)\n")
    (tmp_path / "run.py").write_text("from scripts import train\ntrain.train(net, batches, adam)\n")
    (tmp_path / "list.py").write_text("from scripts import train\nprint(train)\n")
    named = [str(tmp_path / "pkg" / "meters" / "utils.py")]
    others = surroundings.around(named, Configuration.fixed(SETTINGS))
    found = surroundings.related(named, stamped(others), 100)
    assert [Path(path).name for path in found.paths] == ["train.py", "run.py"]
    assert found.callers == set(found.paths)
    monkeypatch.setattr(surroundings, "MOST", 200)
    assert surroundings.related(named, stamped(others), 100).paths == []


def test_of_a_large_project_users_count_however_many_files_lie_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package hands the function on; a class that mentions it is used by a script."""
    project(tmp_path)
    inside = tmp_path / "pkg" / "meters"
    (inside / "__init__.py").write_text("from .utils import note\n")
    (inside / "meter.py").write_text(
        "import torch\nfrom pkg.meters import note\nclass Meter:\n"
        "    def add(self, value):\n        note([], value)\n"
    )
    (tmp_path / "scripts" / "train.py").write_text(
        "import torch\nfrom pkg.meters.meter import Meter\n"
        "def train(model, loader, optimizer):\n    meter = Meter()\n    for x, y in loader:\n"
        "        loss = model(x, y)\n        loss.backward()\n        optimizer.step()\n"
        "        meter.add(loss)\n"
    )
    monkeypatch.setattr(context, "WHOLE", 100)
    found = check_paths([inside / "utils.py"], SETTINGS).findings
    assert [finding.line for finding in found] == [3]


def test_of_a_large_project_notebooks_are_users_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    cells = [{"cell_type": "code", "source": TRAIN.format(module="pkg.meters.utils")}]
    (tmp_path / "scripts" / "train.py").unlink()
    (tmp_path / "scripts" / "train.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(context, "WHOLE", 100)
    found = check_paths([tmp_path / "pkg" / "meters" / "utils.py"], SETTINGS).findings
    assert [finding.line for finding in found] == [3]


def test_tests_are_the_last_users_that_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    train = (tmp_path / "scripts" / "train.py").read_text()
    (tmp_path / "pkg" / "meters" / "test_utils.py").write_text(train)
    monkeypatch.setattr(context, "WHOLE", 100)
    monkeypatch.setattr(surroundings, "MOST", len(train))
    named = [str(tmp_path / "pkg" / "meters" / "utils.py")]
    others = surroundings.around(named, Configuration.fixed(SETTINGS))
    (found,) = surroundings.related(named, stamped(others), 100).paths
    assert found == str(tmp_path / "scripts" / "train.py")


@pytest.mark.parametrize("is_called", [False, True])
def test_of_a_file_that_only_calls_the_checked_one_no_import_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_called: bool
) -> None:
    """Unless the checked file calls it in turn, and so asks what its calls make."""
    project(tmp_path)
    train = tmp_path / "scripts" / "train.py"
    train.write_text(f"from scripts.plots import draw\n{train.read_text()}        draw(loss)\n")
    (tmp_path / "scripts" / "__init__.py").write_text("")
    (tmp_path / "scripts" / "plots.py").write_text("import torch\ndef draw(x):\n    return x\n")
    utils = tmp_path / "pkg" / "meters" / "utils.py"
    utils.write_text(UTILS + "from scripts.train import train\n" * is_called)
    monkeypatch.setattr(context, "WHOLE", 100)
    read: list[str] = []
    load = Project._load
    monkeypatch.setattr(Project, "_load", lambda self, path: read.append(path) or load(self, path))
    (found,) = check_paths([utils], SETTINGS).findings
    assert found.line == 3
    assert [Path(path).name for path in read] == ["plots.py"] * is_called


def test_a_read_in_a_file_that_is_not_looked_at_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    monkeypatch.setattr(context, "WHOLE", 10)  # so what the file imports is read on demand
    train = tmp_path / "scripts" / "train.py"
    train.write_text(f"{train.read_text()}        print(loss)\n")
    alone = check_paths([train], SETTINGS).findings
    assert [(finding.path, finding.line) for finding in alone] == [(str(train), 9)]


def test_nothing_is_read_again_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    settings = Settings(root=tmp_path, jobs=1)
    path = tmp_path / "pkg" / "meters" / "utils.py"
    first = check_paths([path], settings).findings
    with monkeypatch.context() as patch:
        patch.setattr(worker.Worker, "check", lambda *_: pytest.fail("analysed again"))
        patch.setattr(context, "related", lambda *_: pytest.fail("searched again"))
        assert check_paths([path], settings).findings == first
    (tmp_path / "scripts" / "train.py").write_text("import torch\n")
    assert check_paths([path], settings).findings == ()


def test_a_generated_file_alone_says_where_its_findings_are(tmp_path: Path) -> None:
    (tmp_path / "modular_net.py").write_text(UTILS)
    text = "# This file was automatically generated from x/modular_net.py.\n" + UTILS
    (tmp_path / "modeling_net.py").write_text(text)
    result = check_paths([tmp_path / "modeling_net.py"], SETTINGS)
    (note,) = result.notes
    assert note.endswith("modular_net.py, where its findings are reported")


def test_the_home_and_the_root_are_not_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    named = [str(tmp_path / "scripts" / "train.py")]
    assert surroundings.around(named, Configuration.fixed(SETTINGS)) == []


PREDICTOR = """\
import torch
class Predictor:
    def stream(self, source):
        for batch in source:
            image = self.preprocess(batch)
            result = self.model(image)
    def preprocess(self, batch):
        return batch
"""
CLASSIFIER = """\
import torch
from ..engine import Predictor
class Classifier(Predictor):
    def preprocess(self, image):
        image = torch.stack([self.transform(part) for part in image])
        return image.to(self.model.device)
"""


def test_of_a_large_project_those_that_define_bases_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that overrides another is as hot as the calls of the other, by its own class."""
    monkeypatch.setattr(context, "WHOLE", 10)
    for folder in ("pkg", "pkg/engine", "pkg/models"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "pkg/engine/__init__.py").write_text("from .predictor import Predictor\n")
    (tmp_path / "pkg/engine/predictor.py").write_text(PREDICTOR)
    (tmp_path / "pkg/models/classifier.py").write_text(CLASSIFIER)
    whole = check_paths([tmp_path], SETTINGS).findings
    assert [(f.code, f.line) for f in whole] == [("ASG106", 6)]
    assert check_paths([tmp_path / "pkg/models/classifier.py"], SETTINGS).findings == whole
    monkeypatch.setattr(surroundings, "MOST_OF_BASES", 10)
    assert check_paths([tmp_path / "pkg/models/classifier.py"], SETTINGS).findings == ()


def test_a_file_with_odd_escapes_is_read_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    tree = bases.parsed(b'from a import B\nPATTERN = "\\d"\nclass C(B): pass\n')
    assert [bound for bound, _ in bases.imports(tree)] == ["B"]
    assert not recwarn.list


def test_text_that_is_no_python_defines_nothing() -> None:
    for text in (b"def (", b"# coding: nonsense\nx = 1", b"x = '\0'", b"(" * 10_000):
        assert not bases.parsed(text).body


def test_what_is_parsed_for_bases_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    read = cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: parsed.append(text) or read(text))
    assert parse_ahead("a = 1\n") is parse("a = 1\n")
    assert parse_ahead("a = 1\n") is not None
    assert parse("a = 1\n") is not parse("a = 1\n")  # each is handed on once
    assert parsed == ["a = 1\n"] * 3


def checked(path: Path, folder: Path, **settings: object) -> list[Finding]:
    return list(check_paths([path], Settings(root=folder, jobs=1, **settings)).findings)  # type: ignore[arg-type]


def test_the_last_check_of_a_large_project_is_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is looked at again but what changed, and what tells of it."""
    monkeypatch.setattr(context, "WHOLE", 0)
    monkeypatch.setattr(surroundings, "MOST", 0)
    project(tmp_path)
    (tmp_path / "scripts" / "other.py").write_text("import torch\nfrom pkg.meters import utils\n")
    utils = tmp_path / "pkg" / "meters" / "utils.py"
    assert checked(utils, tmp_path) == []  # of the files around, none
    whole = checked(tmp_path, tmp_path)
    assert [finding.line for finding in whole] == [3]
    seen: list[str] = []
    check = worker.Worker.check

    def spy(self: worker.Worker, path: str, *rest: object) -> object:
        seen.append(Path(path).name)
        return check(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(worker.Worker, "check", spy)
    assert checked(utils, tmp_path) == whole
    assert seen == []  # the answer holds
    utils.write_text(f"\n{UTILS}")
    assert [finding.line for finding in checked(utils, tmp_path)] == [4]
    assert seen == ["utils.py", "train.py"]
    (finding,) = check_text(f"\n\n{UTILS}".encode(), str(utils), settled(tmp_path))
    assert finding.line == 5
    assert "other.py" not in seen


def settled(folder: Path) -> Configuration:
    return Configuration.fixed(Settings(root=folder, jobs=1))


def test_who_told_of_a_changed_file_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that a helper makes for a call is told of by the file of the call."""
    monkeypatch.setattr(context, "WHOLE", 0)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "helper.py").write_text("def note(value):\n    return float(value)\n")
    (tmp_path / "train.py").write_text(TRAIN.format(module="helper").replace("[], ", ""))
    assert [finding.line for finding in checked(tmp_path, tmp_path)] == [2]
    (tmp_path / "helper.py").write_text("\n\ndef note(value):\n    return float(value)\n")
    assert [finding.line for finding in checked(tmp_path / "helper.py", tmp_path)] == [4]


def test_a_small_project_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path)
    (first,) = checked(tmp_path / "pkg" / "meters" / "utils.py", tmp_path)
    monkeypatch.setattr(worker.Worker, "check", lambda *_: pytest.fail("looked at again"))
    assert first.line == 3
    assert checked(tmp_path / "scripts" / "train.py", tmp_path) == []


def test_a_file_that_is_gone_is_no_context(tmp_path: Path) -> None:
    project(tmp_path)
    utils = tmp_path / "pkg" / "meters" / "utils.py"
    assert len(checked(tmp_path, tmp_path)) == 1
    (tmp_path / "scripts" / "train.py").unlink()
    assert checked(utils, tmp_path) == checked(tmp_path, tmp_path) == []


def test_an_editor_names_files_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project was checked by a path from the working directory."""
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(live, "SMALL", 0)
    monkeypatch.setattr(surroundings, "MOST", 0)
    utils = tmp_path / "pkg" / "meters" / "utils.py"
    assert check_text(UTILS.encode(), str(utils), settled(tmp_path)) == []
    assert len(checked(Path("."), tmp_path)) == 1
    (finding,) = check_text(UTILS.encode(), str(utils), settled(tmp_path))
    assert (finding.path, finding.line) == (str(utils), 3)
