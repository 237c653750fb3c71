"""Fixes: edits against a model, files as they were but for the edits, rules' fixes as promised."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.report import registry
from asyncguard.lint.report.registry import Example, Rule
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import apply, choose, fix_files
from asyncguard.model import Applicability, AsyncguardError, Edit, Finding, Fix
from tests.records import finding

RULES = registry.rules()
EVERY_RULE = Settings(select=tuple(rule.code for rule in RULES), cache=False)
FIXED = [(rule, example) for rule in RULES for example in rule.invalid if example.fixed]
IDLE = "import torch\nx = 1  # asyncguard: ignore[ASG102] read below\n"


def name(value: object) -> str:
    if isinstance(value, Rule):
        return value.code
    assert isinstance(value, Example)
    return value.source.strip().splitlines()[-1].strip()


def of_rule(rule: Rule, source: str) -> list[Finding]:
    return [f for f in check_source(source, "example.py", EVERY_RULE) if f.code == rule.code]


# ---- what each rule promises


@pytest.mark.parametrize(("rule", "example"), FIXED, ids=name)
def test_the_fix_makes_what_the_example_says(rule: Rule, example: Example) -> None:
    found = of_rule(rule, example.source)
    assert apply(example.source, choose(found, unsafe=True).values()) == example.fixed
    assert (choose(found, unsafe=False) != {}) == example.safe


@pytest.mark.parametrize(("rule", "example"), FIXED, ids=name)
def test_a_second_run_finds_nothing_more_to_fix(rule: Rule, example: Example) -> None:
    assert choose(of_rule(rule, example.fixed), unsafe=True) == {}


# ---- edits against a model


def place(source: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset."""
    before = source[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1)


def fix_at(source: str, start: int, end: int, text: str) -> Fix:
    return Fix("", (Edit(*place(source, start), *place(source, end), text),), Applicability.SAFE)


TEXT = st.text(alphabet="ab\n# \u00e9\U0001f600", max_size=40)


@st.composite
def spans(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    source = draw(TEXT)
    offset = st.integers(0, len(source))
    drawn = draw(st.lists(st.tuples(offset, offset, TEXT), max_size=6))
    return source, [(min(a, b), max(a, b), text) for a, b, text in drawn]


def model(source: str, wanted: list[tuple[int, int, str]]) -> str:
    """Take each span that is clear of those before, then build the text from the left.

    At one place text for the line itself stands before lines below it, the deepest of them first.
    """
    taken: list[tuple[int, int, str]] = []
    for start, end, text in wanted:
        clear = all((start, end, text) != t and not (start < t[1] and t[0] < end) for t in taken)
        if clear and not any(at_one_place((start, end, text), other) for other in taken):
            taken.append((start, end, text))
    built, at = "", 0
    for start, end, text in sorted(taken, key=lambda t: (*t[:2], *rank(t[2]))):
        built += source[at:start] + text
        at = end
    return built + source[at:]


def rank(text: str) -> tuple[bool, int]:
    """Whether a text begins with a line's end, and of such a one how shallow it is."""
    indent = re.match(r"\n([ \t]*)", text)
    return indent is not None, -len(indent[1]) if indent else 0


def at_one_place(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Whether both insert text into a line at one place."""
    return one[:2] == other[:2] and one[0] == one[1] and "\n" not in one[2] + other[2]


@given(spans())
def test_edits_do_what_a_model_does(case: tuple[str, list[tuple[int, int, str]]]) -> None:
    source, wanted = case
    assert apply(source, [fix_at(source, *span) for span in wanted]) == model(source, wanted)


@given(spans(), st.sampled_from(["\r\n", "\r"]))
def test_line_ends_are_those_of_the_file(
    case: tuple[str, list[tuple[int, int, str]]], newline: str
) -> None:
    source, wanted = case
    fixes = [fix_at(source, *span) for span in wanted]
    expected = apply(source, fixes)
    foreign = apply(source.replace("\n", newline), fixes)
    if "\n" in source:
        assert foreign == expected.replace("\n", newline)


def test_of_overlapping_fixes_the_first_wins_and_the_other_remains() -> None:
    source = "abcdef"
    first = finding(line=1, fix=fix_at(source, 0, 3, "X"))
    second = finding(line=2, fix=fix_at(source, 2, 4, "Y"))
    third = finding(line=3, fix=fix_at(source, 3, 6, "Z"))
    assert list(choose([first, second, third], unsafe=False)) == [first, third]


def test_of_two_arguments_at_one_place_one_is_written() -> None:
    source = "arange(n)"
    first = finding(line=1, fix=fix_at(source, 8, 8, ", device=a"))
    second = finding(line=2, fix=fix_at(source, 8, 8, ", device=b"))
    chosen = choose([first, second], unsafe=False)
    assert apply(source, chosen.values()) == "arange(n, device=a)"


# ---- files


def write(path: Path, data: bytes) -> list[Finding]:
    path.write_bytes(data)
    return list(check_paths([path], EVERY_RULE).findings)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IDLE.encode(), b"import torch\nx = 1\n"),
        (IDLE.encode().rstrip(b"\n"), b"import torch\nx = 1"),
        (IDLE.replace("\n", "\r\n").encode(), b"import torch\r\nx = 1\r\n"),
        (IDLE.encode("utf-8-sig"), b"\xef\xbb\xbfimport torch\nx = 1\n"),
        (
            ("# coding: latin-1\ny = '\u00e9'\n" + IDLE).encode("latin-1"),
            b"# coding: latin-1\ny = '\xe9'\nimport torch\nx = 1\n",
        ),
        (b"a = 1\r\nb = 2\n" + IDLE.encode(), b"a = 1\r\nb = 2\nimport torch\nx = 1\n"),
    ],
    ids=["plain", "no last newline", "crlf", "byte-order mark", "latin-1", "mixed line ends"],
)
def test_the_rest_of_the_file_stays_as_it_was(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "a.py"
    outcome = fix_files(write(path, before), unsafe=False, write=True)
    assert (outcome.fixed, outcome.remaining) == (1, ())
    assert path.read_bytes() == after
    assert check_paths([path], EVERY_RULE).findings == ()


def test_permissions_and_links_are_kept_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    link = tmp_path / "link.py"
    path.write_bytes(IDLE.encode())
    path.chmod(0o754)
    link.symlink_to(path)
    found = check_source(IDLE, str(link), EVERY_RULE)
    fix_files(found, unsafe=False, write=True)
    assert path.read_text() == "import torch\nx = 1\n"
    assert path.stat().st_mode & 0o777 == 0o754
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.py", "link.py"]


def test_the_patch_is_what_git_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = IDLE.rstrip("\n").replace("\n", "\r\n").encode()
    outcome = fix_files(write(Path("a.py"), source), unsafe=False, write=False)
    assert Path("a.py").read_bytes() == source
    subprocess.run(["git", "apply"], input=outcome.diff.encode(), check=True)
    assert Path("a.py").read_bytes() == b"import torch\r\nx = 1"


def test_a_file_that_has_changed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 2\n")
    stale = finding(path=str(path), line=1, source="x = 1", fix=fix_at("x = 1", 0, 1, "y"))
    with pytest.raises(AsyncguardError, match="changed since"):
        fix_files([stale], unsafe=False, write=True)
    assert path.read_text() == "x = 2\n"


@pytest.mark.parametrize("edit", [Edit(1, 0, 1, 1, "("), Edit(7, 0, 7, 0, "y")])
def test_what_would_be_no_python_is_not_written(tmp_path: Path, edit: Edit) -> None:
    good, bad = tmp_path / "a.py", tmp_path / "b.py"
    found = write(good, IDLE.encode())
    bad.write_text("x = 1\n")
    broken = finding(path=str(bad), line=1, source="", fix=Fix("", (edit,), Applicability.SAFE))
    with pytest.raises(AsyncguardError, match=r"b\.py"):
        fix_files([*found, broken], unsafe=False, write=True)
    assert good.read_text() == IDLE
    assert bad.read_text() == "x = 1\n"


def test_unsafe_and_shown_fixes_remain(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    edit = Edit(1, 0, 1, 1, "y")
    unsafe = finding(path=str(path), line=1, source="", fix=Fix("", (edit,), Applicability.UNSAFE))
    shown = finding(path=str(path), line=1, source="", fix=Fix("", (edit,), Applicability.SHOWN))
    outcome = fix_files([unsafe, shown], unsafe=False, write=True)
    assert (outcome.fixed, outcome.remaining, outcome.diff) == (0, (unsafe, shown), "")
    assert fix_files([shown], unsafe=True, write=True).remaining == (shown,)
    assert path.read_text() == "x = 1\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder without rights")
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    found = write(path, IDLE.encode())
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(AsyncguardError, match=r"a\.py: cannot be written"):
            fix_files(found, unsafe=False, write=True)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == IDLE


# ---- what is safe


TENSORS = "TensorDataset(data, data)"
UPLOADS = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
DEVICE = {device}
def train(model, data, optimizer):
    for x, y in DataLoader({data}, pin_memory=True):
        {line}
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("device", "data", "line", "applicability"),
    [
        ('"cuda"', TENSORS, "x = x.to(DEVICE)", Applicability.SAFE),
        ('"cuda"', TENSORS, "x = x.to(DEVICE); y += 1", Applicability.SAFE),
        ('"cuda"', TENSORS, "d = x.to(DEVICE); x += 1", None),  # the copy may read that
        ('"cuda"', "data", "x = x.to(DEVICE)", Applicability.UNSAFE),  # of whatever class
        ('"mps"', TENSORS, "x = x.to(DEVICE)", Applicability.UNSAFE),
        ('"cuda"', TENSORS, "x = torch.tensor([1, 2], device=DEVICE)", Applicability.UNSAFE),
    ],
)
def test_uploads_are_safe_from_pinned_memory_alone(
    device: str, data: str, line: str, applicability: Applicability | None
) -> None:
    """MPS has none, and reads what is freed meanwhile."""
    source = UPLOADS.format(device=device, data=data, line=line)
    fixes = [f.fix for f in check_source(source, "train.py", EVERY_RULE) if f.code == "ASG106"]
    assert [fix and fix.applicability for fix in fixes] == [applicability]


ALARM = """\
import sys
import torch
def train(model, data, optimizer):
    for step, x in enumerate(data):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if torch.isnan(loss):
            sys.exit({text})
"""


@pytest.mark.parametrize(
    ("text", "count"), [('"no number"', 1), ('"""no\n            number"""', 0)]
)
def test_no_text_over_several_lines_is_moved(text: str, count: int) -> None:
    """Its lines would begin elsewhere, and so it would be another text."""
    found = check_source(ALARM.format(text=text), "train.py", EVERY_RULE)
    assert sum(f.fix is not None for f in found if f.code == "ASG104") == count


NESTED = """\
import torch

def run(device):
    t = torch.rand(4, 3, device=device)
    y = torch.randint(0, 3, (4,), device=device)
    log, best, c = [], -1.0, 0
    for step in range(4):
        while c < step:
            c += 1
            log.append(t.norm().item())
            while c < step:
                c += 1
                best = max(best, y.sum().item())
    return log, best
"""


def test_lines_below_loops_that_end_together_go_to_their_own_loops() -> None:
    fixes = choose(check_source(NESTED, "train.py", EVERY_RULE), unsafe=True).values()
    assert apply(NESTED, fixes).splitlines()[-4:] == [
        "            best = float(best)",
        "    if log:",
        "        log = torch.stack(log).tolist()",
        "    return log, best",
    ]
