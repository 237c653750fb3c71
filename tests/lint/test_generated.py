"""What is found in a generated file is reported once, in the file that people edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.modules.copies import Notice, named_source, notices
from asyncguard.lint.program.merging import Told, merged
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import fix_files
from asyncguard.model import Finding, Loop

NOTICE = "# This file was automatically generated from src/models/modular_net.py.\n"
BASE = """\
import torch
class Base(torch.nn.Module):
    def count(self, mask: torch.Tensor):
        return mask.sum().item()
    def forward(self, x: torch.Tensor):
        return x[: self.count(x > 0)]
"""
MODULAR = """\
import torch
from base import Base
class Net(Base):
    def embed(self, x: torch.Tensor):
        # what follows waits
        return x.tolist()
    def forward(self, x: torch.Tensor):
        return x[: self.count(x > 0)], self.embed(x)
"""
MODELING = (
    NOTICE
    + """\
import torch
class Net(torch.nn.Module):
    def count(self, mask: torch.Tensor):
        return mask.sum().item()
    def embed(self, x: torch.Tensor):
        # what follows waits
        return x.tolist()
    def forward(self, x: torch.Tensor):
        return x[: self.count(x > 0)], self.embed(x)
"""
)


def found(folder: Path, **texts: str) -> list[tuple[str, int, list[tuple[str, int]]]]:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [
        (Path(f.path).stem, f.line, [(Path(c.path).stem, c.line) for c in f.reached_from])
        for f in check_paths([folder], Settings(cache=False, jobs=1)).findings
    ]


@pytest.mark.parametrize("notice", notices().notice, ids=lambda notice: notice.id)
def test_a_notice_fits_its_example_and_nothing_close_by(notice: Notice) -> None:
    assert named_source(notice.hit) == notice.source
    assert named_source(notice.miss) == ""


def test_only_the_start_of_a_file_holds_notices() -> None:
    assert named_source("\n" * (notices().lines - 1) + NOTICE)
    assert named_source("\n" * notices().lines + NOTICE) == ""


def test_findings_stand_in_the_source_and_copies_of_inherited_lines_in_the_base(
    tmp_path: Path,
) -> None:
    assert found(tmp_path, base=BASE, modular_net=MODULAR, modeling_net=MODELING) == [
        ("base", 4, [("base", 6), ("modular_net", 8)]),
        ("modular_net", 6, [("modular_net", 8)]),
    ]


def test_what_is_found_in_the_copy_alone_moves_to_the_line_it_was_copied_from(
    tmp_path: Path,
) -> None:
    """The copy knows the class of `self`, which the source only inherits from elsewhere."""
    modular = MODULAR.replace("x: torch.Tensor", "x").replace("import torch\n", "")
    copied = MODELING.replace("        # what follows waits\n", "")
    names = {name for name, *_ in found(tmp_path, modular_net=modular, modeling_net=copied)}
    assert names == {"modeling_net", "modular_net"}  # `count` is in no other file


def test_a_generated_file_whose_source_is_not_checked_keeps_its_findings(tmp_path: Path) -> None:
    assert {name for name, *_ in found(tmp_path, modeling_net=MODELING)} == {"modeling_net"}


def test_a_comment_in_the_source_silences_the_copy_too(tmp_path: Path) -> None:
    quiet, copied = (
        text.replace("x.tolist()", "x.tolist()  # asyncguard: ignore[ASG102] rare")
        for text in (MODULAR, MODELING)
    )
    names = found(tmp_path, base=BASE, modular_net=quiet, modeling_net=copied)
    assert [name for name, *_ in names] == ["base"]


SCALED = """\
import torch
class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        scale = torch.tensor(0.5, device=x.device)
        return x * scale
"""


def test_a_generated_file_is_repaired_in_its_source_alone(tmp_path: Path) -> None:
    settings = Settings(cache=False, jobs=1)
    for name, text in (("modular_net", SCALED), ("modeling_net", NOTICE + SCALED)):
        (tmp_path / f"{name}.py").write_text(text)
    first = check_paths([tmp_path], settings).findings
    assert fix_files(first, unsafe=False, write=True).fixed == 1
    assert "torch.full" in (tmp_path / "modular_net.py").read_text()
    assert check_paths([tmp_path], settings).findings == ()  # the generator is to be run again


def test_a_generated_file_without_its_source_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "modeling_net.py").write_text(NOTICE + SCALED)
    (found,) = check_paths([tmp_path], Settings(cache=False, jobs=1)).findings
    assert found.fix is not None


def test_of_two_functions_copied_from_one_line_the_same_is_named_in_any_order() -> None:
    told = [
        Told(Finding("ASG106", "copies", "model.py", 3, 1, 3, 9, function=name))
        for name in ("Text.move", "Vision.move")
    ]
    assert list(merged(told)) == list(merged(reversed(told)))


HELPER = """\
import torch
def spread(x):
    return (torch.ones(3, device="cuda") * x).sum().item()
"""
LOOP = """\
import torch
from modeling_net import spread
def train(model, loader, optimizer):
    for batch in loader:
        model(batch).backward()
        optimizer.step()
        spread(2)
"""


def test_a_call_of_a_generated_function_is_one_of_its_source(tmp_path: Path) -> None:
    """Imports name the generated module, which is not looked at for its own sake."""
    for name, text in (("modular_net", HELPER), ("modeling_net", NOTICE + HELPER), ("loop", LOOP)):
        (tmp_path / f"{name}.py").write_text(text)
    (read,) = check_paths([tmp_path], Settings(cache=False, jobs=1)).findings
    assert (Path(read.path).stem, read.line, read.loop) == ("modular_net", 3, Loop.STEP)
    assert {Path(why.path).stem for why in read.reasons if why.path} == {"modular_net", "loop"}


def test_what_a_source_inherits_from_elsewhere_is_looked_at_in_the_copy(tmp_path: Path) -> None:
    """Also where an earlier run, with the base at hand, took nothing from the copy."""
    settings = Settings(root=tmp_path, jobs=1)
    for name, text in (("base", BASE), ("modular_net", MODULAR), ("modeling_net", MODELING)):
        (tmp_path / f"{name}.py").write_text(text)

    def files() -> set[str]:
        return {Path(f.path).stem for f in check_paths([tmp_path], settings).findings}

    assert files() == {"base", "modular_net"}
    (tmp_path / "base.py").write_text(BASE.replace("mask.sum().item()", "0"))
    (tmp_path / "modular_net.py").write_text(MODULAR.replace("from base", "from elsewhere.base"))
    assert files() == {"modeling_net", "modular_net"}
