"""Syntax of every supported Python is read under each of them, whichever runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.check import check_source as check_bytes
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import fix_files
from asyncguard.model import Finding

STEP = """\
import torch
{before}
def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
{inside}
"""


def check_source(text: str) -> list[Finding]:
    return [*check_bytes(text.encode(), "a.py", Settings())]


READ = "print(loss.item())"
NEWER = {
    "3.8 walrus": ("", "if (n := loss.item()) > 1: pass", "loss.item()"),
    "3.8 positional only": ("def f(a, /, b): return a", READ, "loss.item()"),
    "3.9 any decorator": ("@[staticmethod][0]\ndef f(): pass", READ, "loss.item()"),
    "3.10 match": ("", "match loss.item():\n    case 1 | 2: pass", "loss.item()"),
    "3.10 with in parentheses": ("", f"with (a as b, c as d,):\n    {READ}", "loss.item()"),
    "3.11 except*": ("", f"try:\n    {READ}\nexcept* ValueError: pass", "loss.item()"),
    "3.11 star in an index": ("def f(x, i): return x[*i]", READ, "loss.item()"),
    "3.11 star in an annotation": ("def f(*a: *tuple[int, ...]): pass", READ, "loss.item()"),
    "3.12 type (PEP 695)": ("type Batch = dict[str, torch.Tensor]", READ, "loss.item()"),
    "3.12 class (PEP 695)": ("class A[T: int, *Ts, **P](B): pass", READ, "loss.item()"),
    "3.12 function (PEP 695)": ("def f[T](x: T) -> T: return x", READ, "loss.item()"),
    "3.12 f-string (PEP 701)": ("", 'print(f"{f"{loss.item()}"}")', "loss.item()"),
    "3.13 default (PEP 696)": ("class A[T = int]: pass", READ, "loss.item()"),
    "3.14 t-string (PEP 750)": ("", 'print(t"{loss.item()}")', "loss.item()"),
    "3.14 except (PEP 758)": ("try: pass\nexcept A, B: pass", READ, "loss.item()"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEWER)
def test_newer_syntax_is_read(name: str) -> None:
    before, inside, site = NEWER[name]
    inside = "\n".join(f"        {line}" for line in inside.split("\n"))
    text = STEP.format(before=before, inside=inside)
    found = check_source(text)
    assert [finding.code for finding in found] == ["ASG102"]
    line = text.split("\n")[found[0].line - 1]
    assert line[found[0].column - 1 : found[0].end_column - 1] == site


def test_a_generic_class_is_interpreted() -> None:
    text = """\
import torch
class Pipeline[TIn, TOut](torch.nn.Module):
    def run(self, x: TIn) -> TOut:
        return self(x).cpu()
def train(pipeline: Pipeline, loader):
    for x in loader:
        loss = pipeline(x).mean()
        loss.backward()
        pipeline.run(x)
"""
    assert [(finding.code, finding.line) for finding in check_source(text)] == [("ASG103", 4)]


def test_newer_syntax_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    text = STEP.format(before="type Batch = dict[str, torch.Tensor]", inside="        {}")
    text = text.replace("    for x", "    total = 0.0\n    for x")
    path.write_text(text.format("total += loss.item()\n    return total"), encoding="utf-8")
    outcome = fix_files(check_paths([path], Settings()).findings, unsafe=True, write=True)
    assert (outcome.fixed, outcome.remaining) == (1, ())
    after = "total += loss.detach().double()\n    total = float(total)\n    return total"
    assert path.read_text(encoding="utf-8") == text.format(after)


def test_a_file_of_no_framework_may_be_newer(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("type A = int\nclass B[T](C): pass\n", encoding="utf-8")
    assert not check_paths([tmp_path], Settings(cache=False)).findings


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("x = (\n", 1, 5),
        ("x = 1 +\n", 1, 8),
        ("import torch\nif x:\npass\n", 3, 1),
        ("\tx = 1\n  y = 2\n", 1, 1),
        ("f() = 1\n", 1, 1),  # which libcst reads
    ],
)
def test_what_no_python_reads_is_told_with_its_place(text: str, line: int, column: int) -> None:
    (found,) = check_source(text)
    assert (found.code, found.line, found.column) == ("ASG000", line, column)


NESTED = {
    "brackets": "(" * 3_000 + ")" * 3_000,
    "lists": "[" * 3_000 + "]" * 3_000,
    "signs": "-" * 20_000 + "1",
    "attributes": "a" + ".b" * 20_000,
    "calls": "a" + "()" * 20_000,
    "sums": "1" + " + 1" * 20_000,
}


@pytest.mark.parametrize("newer", ["", "type A = int\n"], ids=["plain", "newer"])
@pytest.mark.parametrize("name", NESTED)
def test_what_nests_without_end_is_told_at_once(name: str, newer: str) -> None:
    """libcst's parser has no bound, and takes a time that grows with the square."""
    (found,) = check_source(f"import torch\n{newer}x = {NESTED[name]}\n")
    assert found.code == "ASG000"
