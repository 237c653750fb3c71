"""No input makes the linter raise, and one bad file never hides what it finds in the others."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.run import pool, worker
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.decode import decode
from asyncguard.model import AsyncguardError

SETTINGS = Settings(cache=False)
AUDIT = Settings(select=("ALL",), cache=False)
LOOP = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = loss.item()
"""
DEPTH = 20_000
STRANGE = {
    "nothing": b"",
    "null bytes": b"import torch\x00\nx = 1\n",
    "not UTF-8": b"import torch\nx = '\xff\xfe'\n",
    "an unknown encoding": b"# -*- coding: klingon -*-\nimport torch\n",
    "half a bracket": b"import torch\nprint((\n",
    "many brackets": b"import torch\nx = " + b"(" * DEPTH + b")" * DEPTH + b"\n",
    "many operators": b"import torch\nx = " + b"-" * DEPTH + b"1\n",
    "a long sum": b"import torch\ndef f(x):\n    return " + b"x + " * DEPTH + b"x\n",
    "a long chain": b"import torch\ndef f(x):\n    return x" + b".y" * DEPTH + b"\n",
    "many calls": b"import torch\ndef f(x):\n    return x" + b"()" * DEPTH + b"\n",
    "deep blocks": b"import torch\n"
    + b"".join(b" " * i + b"if x:\n" for i in range(95))
    + b" " * 95
    + b"pass\n",
}


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE.keys())
def test_strange_input_gives_at_most_a_finding(data: bytes) -> None:
    for finding in check_source(data, "strange.py", AUDIT):
        assert finding.code == "ASG000"
        assert "could not be analysed" not in finding.message


@pytest.mark.parametrize("before", [b"", b"import torch\n", b"import torch\n" * 9])
def test_what_is_no_text_is_told_by_its_place(before: bytes) -> None:
    (finding,) = check_source(before + b"x = '\xff'\n", "strange.py", Settings())
    assert (finding.line, finding.column) == (before.count(b"\n") + 1, 6)
    assert finding.message == "not utf-8 text: invalid start byte"


def test_a_file_that_is_no_python_is_told_once_though_others_read_it(tmp_path: Path) -> None:
    """Without a framework in it nothing else needs its syntax."""
    (tmp_path / "helper.py").write_text("def log(x):\n    print((x)\n")
    (tmp_path / "plain.py").write_text("def log(x):\n    return x\n")
    (tmp_path / "train.py").write_text(f"from helper import log\nimport plain\n{LOOP}")
    findings = check_paths([tmp_path], Settings(cache=False, jobs=1)).findings
    found = [(Path(f.path).name, f.code) for f in findings]
    assert found == [("helper.py", "ASG000"), ("train.py", "ASG102")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a byte-order mark", b"\xef\xbb\xbf" + LOOP.encode()),
        ("CRLF", LOOP.replace("\n", "\r\n").encode()),
        ("old Mac line ends", LOOP.replace("\n", "\r").encode()),
        ("form feeds", LOOP.replace("def ", "\fdef ").encode()),
        ("Latin-1", b"# coding: latin-1\n# \xe9\n" + LOOP.encode()),
        ("no line end", LOOP.rstrip("\n").encode()),
        ("tabs", LOOP.replace("    ", "\t").encode()),
    ],
)
def test_the_form_of_the_text_does_not_matter(name: str, data: bytes) -> None:
    found = [f for f in check_source(data, "x.py", Settings()) if f.code == "ASG102"]
    assert [f.source.strip() for f in found] == ["total = loss.item()"], name


def test_a_file_of_fifty_thousand_lines_is_analysed() -> None:
    functions = "".join(f"def f{i}(x):\n    return x + {i}\n" for i in range(2_500))
    table = "".join(f"    {i}: 'value {i}',\n" for i in range(45_000))
    source = f"{LOOP}{functions}TABLE = {{\n{table}}}\n"
    found = check_source(source, "long.py", Settings())
    assert [f.code for f in found if f.line == 7] == ["ASG102"]


def test_bad_files_do_not_hide_the_findings_of_good_ones(tmp_path: Path) -> None:
    for number, data in enumerate(STRANGE.values()):
        (tmp_path / f"bad{number}.py").write_bytes(data)
    for number in range(30):
        (tmp_path / f"good{number}.py").write_text(LOOP)
    result = check_paths([tmp_path], Settings(cache=False, jobs=2))
    assert sum(f.code == "ASG102" for f in result.findings) == 30
    assert result.files_checked == 30 + len(STRANGE)
    assert result.errors


def test_files_that_import_everything_from_each_other_are_analysed(tmp_path: Path) -> None:
    for name, other in (("fit", "models"), ("models", "fit")):
        text = f"from .{other} import *\nx = {other}_last(1)\n{LOOP}def {name}_last(y): return y\n"
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "__init__.py").write_text("")
    assert [f.code for f in check_paths([tmp_path], SETTINGS).findings] == ["ASG102"] * 2


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AsyncguardError, match="no such file"):
        check_paths([tmp_path / "gone.py"], Settings())


FRAGMENTS = [
    *LOOP.splitlines(keepends=True),
    "    if loss > 0:\n", "        print(loss)\n", "    while x:\n", "with f() as (a, b):\n",
    "    try:\n", "    except E as e:\n", "    finally:\n", "x[a:b, ..., None] = y\n",
    "lambda *a: a\n",
    "class A(B, metaclass=C):\n", "    return [i for i in x if (y := i)]\n", "async def g():\n",
    "    async for q in r:\n", "match z:\n", "    case [a, *b]:\n", "@dec(1)\n", "f'{x!r:{w}}'\n",
    "global x\n", "del x\n", "import torch as t; from torch import *\n", "x += yield\n",
    "\t", "#\n",
]  # fmt: skip


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14))
def test_mutated_sources_never_crash(lines: list[str]) -> None:
    for finding in check_source("import torch\n" + "".join(lines), "x.py", AUDIT):
        assert "could not be analysed" not in finding.message


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_bytes_never_crash(data: bytes) -> None:
    check_source(b"import torch\n" + data, "x.py", AUDIT)


def dies_over_bad_py(tasks: Sequence[str]) -> worker.Checked:
    if any(path.endswith("bad.py") for path in tasks):
        os.kill(os.getpid(), signal.SIGKILL)
    return worker.Checked([FileFacts(path) for path in tasks], set())


def test_a_file_that_kills_its_process_is_named_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pool.has_others():
        pytest.skip("Python 3.10 beside another thread works alone")
    for name in ["bad", *(f"good{number}" for number in range(20))]:
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    monkeypatch.setattr(worker, "check_many", dies_over_bad_py)
    result = check_paths([tmp_path], Settings(cache=False, jobs=2))
    assert [(Path(f.path).name, f.code) for f in result.findings] == [("bad.py", "ASG000")]
    assert "died" in result.findings[0].message
    assert result.files_checked == 21


def test_an_encoding_is_looked_for_in_two_lines_however_long_they_are() -> None:
    """The search takes time in proportion to them: this one would take hours otherwise."""
    for text in ("[" * 10_000_000, "x = 1\n" + "[" * 10_000_000, "#\n#\ncoding: x\n" + "[" * 9):
        assert decode(text.encode()) == text
    assert decode("#\n# coding: latin-1\nx = 'é'\n".encode("latin-1")).endswith("'é'\n")
    assert decode(b"# coding: latin-1") == "# coding: latin-1"


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info < (3, 11), reason="frames lie elsewhere"
)
def test_calls_up_and_down_the_stack_map_no_memory_each_time() -> None:
    """Frames lie in chunks; a boundary between two would be crossed by each of these calls."""
    import resource

    def descend(depth: int) -> None:
        for _ in range(100):
            leaf()
        if depth:
            descend(depth - 1)

    def leaf() -> None:
        pass

    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        descend(2_000)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    assert worker.with_deep_stack(faults) < 500
