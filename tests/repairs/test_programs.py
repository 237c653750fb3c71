"""Repairs are executed: the same values before and after, fewer waits, none anew elsewhere.

Each function of `programs/` is a program of its own, together with what its file has above. By
their names, programs must

- `fewer_...`: be repaired by `--fix --unsafe-fixes`, and wait less;
- `once_...`: likewise, but they wait more before the first step;
- `narrower_...`: likewise, but they wait as often, and less often for all work;
- `shown_...`: wait less after doing what is only shown;
- `keeps_...`: be left alone.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import asyncguard
from asyncguard import catalogue
from asyncguard.lint.source.fixes import apply, choose
from asyncguard.model import Applicability
from tests.frameworks import require
from tests.repairs.same import found_in

PROGRAMS = Path(__file__).parent / "programs"
KINDS = ("fewer_", "once_", "narrower_", "shown_", "keeps_")
WIDE = {
    point.id for point in catalogue.load() if point.waits_for in ("everything", "device", "stream")
}


class Program(NamedTuple):
    """A program: its framework, its name and its source."""

    framework: str
    name: str
    source: str


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    """One simulated device for all programs of torch: to begin and to end it takes longest."""
    try:
        import torch  # noqa: F401
    except ImportError:
        yield
    else:
        with asyncguard.simulate_cuda():
            yield


def programs(kind: str) -> list[Any]:
    return [
        pytest.param(program, id=f"{program.framework}-{program.name.removeprefix(kind)}")
        for program in every_program()
        if program.name.startswith(kind)
    ]


@cache
def every_program() -> list[Program]:
    return [*_programs()]


def _programs() -> Iterator[Program]:
    for path in sorted(PROGRAMS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        framework = path.stem.partition("_")[0]
        entries = [node for node in ast.parse(text).body if _is_entry(node)]
        for entry in entries:
            name = entry.name  # type: ignore[attr-defined]
            yield Program(framework, name, _without(text, entries, entry))


def _is_entry(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.startswith(KINDS)


def _without(text: str, entries: list[ast.stmt], entry: ast.stmt) -> str:
    """The file without its other programs."""
    lines = text.splitlines(keepends=True)
    left_out = {
        number
        for other in entries
        if other is not entry
        for number in range(other.lineno, (other.end_lineno or 0) + 1)
    }
    return "".join(line for number, line in enumerate(lines, 1) if number not in left_out)


def repaired(source: str) -> str:
    """The source with all its repairs, found again until none is left."""
    for _ in range(5):
        fixes = choose(found_in(source), unsafe=True)
        if not fixes:
            break
        source = apply(source, fixes.values())
    return source


def done_as_shown(source: str) -> str:
    """The source with every repair that is only shown."""
    fixes = [finding.fix for finding in found_in(source) if finding.fix is not None]
    shown = [fix for fix in fixes if fix.applicability is Applicability.SHOWN]
    return apply(source, dict.fromkeys(shown))


class Outcome(NamedTuple):
    """What a program returned, how often each of its lines waited, and how often for all work."""

    value: Any
    waits: Counter[str]
    wide: int = 0


def run(program: Program, source: str, path: Path) -> Outcome:
    path.write_text(source, encoding="utf-8")
    module = load(path)
    with contextlib.ExitStack() as stack:
        trace = stack.enter_context(asyncguard.trace())
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        value = getattr(module, program.name)("cuda")
    waits: Counter[str] = Counter()
    for site in trace.sites:
        waits[site.source] += site.count
    return Outcome(value, waits, sum(site.count for site in trace.sites if site.api in WIDE))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


@pytest.mark.parametrize("program", programs("fewer_"))
def test_a_repair_keeps_the_values_and_waits_less(program: Program, tmp_path: Path) -> None:
    check(program, repaired(program.source), tmp_path)


@pytest.mark.parametrize("program", programs("once_"))
def test_a_repair_keeps_the_values_and_waits_at_the_start(program: Program, tmp_path: Path) -> None:
    require(program.framework)
    after = repaired(program.source)
    old = run(program, program.source, tmp_path / "before.py")
    new = run(program, after, tmp_path / "after.py")
    assert new.value == old.value
    assert new.waits.total() < old.waits.total()


@pytest.mark.parametrize("program", programs("narrower_"))
def test_a_repair_keeps_the_values_and_waits_for_less(program: Program, tmp_path: Path) -> None:
    require(program.framework)
    old = run(program, program.source, tmp_path / "before.py")
    new = run(program, repaired(program.source), tmp_path / "after.py")
    assert new.value == old.value
    assert new.waits.total() <= old.waits.total()
    assert new.wide < old.wide


@pytest.mark.parametrize("program", programs("shown_"))
def test_what_is_shown_keeps_the_values_and_waits_less(program: Program, tmp_path: Path) -> None:
    assert repaired(program.source) == program.source
    check(program, done_as_shown(program.source), tmp_path)


def check(program: Program, after: str, tmp_path: Path) -> None:
    require(program.framework)
    assert after != program.source
    old = run(program, program.source, tmp_path / "before.py")
    new = run(program, after, tmp_path / "after.py")
    assert new.value == old.value
    assert new.waits.total() < old.waits.total()
    unchanged = {line.strip() for line in program.source.splitlines()}
    anew = {
        line: number
        for line, number in new.waits.items()
        if line in unchanged and number > old.waits[line]
    }
    assert anew == {}


@pytest.mark.parametrize("program", programs("keeps_"))
def test_what_is_not_understood_is_left_alone(program: Program) -> None:
    assert repaired(program.source) == program.source


@pytest.mark.parametrize(
    "program",
    [
        *programs("fewer_"),
        *programs("once_"),
        *programs("narrower_"),
    ],
)
def test_a_repaired_program_is_stable(program: Program) -> None:
    after = repaired(program.source)
    assert repaired(after) == after


COPIED = """
import torch

def run(device):
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 64).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, buffer, rows = torch.randn(8, 64, device=device), torch.empty(8, 64, pin_memory=True), []
    for _ in range(6):
        out = model(x)
        buffer.copy_(out.detach(), non_blocking=True)
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        rows.append(buffer.sum().item())
    return rows
"""


def test_an_event_behind_a_copy_stalls_less_than_a_barrier(tmp_path: Path) -> None:
    require("torch")
    assert repaired(COPIED) == COPIED
    after = done_as_shown(COPIED)
    assert "copied.record()" in after
    values, stalls = [], []
    for name, source in (("before", COPIED), ("after", after)):
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        with asyncguard.trace() as trace:
            values.append(load(path).run("cuda"))
        stalls.append(sum(site.cpu_stall_ns for site in trace.sites))
    assert values[0] == values[1]
    assert stalls[1] < stalls[0]


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("    for _ in range(6):", "    side = torch.cuda.Stream()\n    for _ in range(6):"),
        ("        torch.cuda.synchronize()", "        torch.cuda.synchronize(device)"),
        ("        out = model(x)", "        out = model(x.to(device, non_blocking=True))"),
        ("        optimizer.step()", "        optimizer.step()\n        begin = time.time()"),
    ],
)
def test_a_barrier_that_may_wait_for_more_than_a_copy_stays(line: str, other: str) -> None:
    source = COPIED.replace(line, other)
    assert source != COPIED
    assert "record()" not in done_as_shown(source)


LATE = """
import torch
import torch.nn.functional as F

def run(device):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 4, device=device), torch.zeros(8, dtype=torch.long, device=device)
    step = 0
    while step < 4:
        step += 1
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("loss", loss.item())
    return model.weight.detach().double().sum().item()
"""


def test_a_value_of_the_step_before_stalls_less_and_comes_one_step_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require("torch")
    assert repaired(LATE) == LATE
    told, stalls, values = [], [], []
    for name, source in (("before", LATE), ("after", done_as_shown(LATE))):
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        with asyncguard.trace() as trace:
            values.append(load(path).run("cuda"))
        told.append(capsys.readouterr().out.splitlines())
        stalls.append(sum(site.cpu_stall_ns for site in trace.sites))
    assert values[0] == values[1]
    assert told[1] == ["loss nan", *told[0][:-1]]
    assert stalls[1] < stalls[0]
