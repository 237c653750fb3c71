"""Findings depend on the files alone: not on their order, the processes, or what memory holds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths, select
from asyncguard.lint.modules import project
from asyncguard.lint.program import linking
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Candidate, FileFacts
from asyncguard.lint.run import worker
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding
from tests.effort import examples

FILES = {
    "names.py": "from readers import *\n",
    "readers.py": """\
        import torch
        from deep import show
        def log(x):
            show(x)
        def norm(x, p):
            return x.norm(p)
    """,
    "deep.py": """\
        import torch
        def show(x):
            print(x)
    """,
    "models.py": """\
        import torch
        from readers import norm
        class Base(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.scale = torch.ones(4).cuda()
        class Net(Base):
            def forward(self, x):
                y = self.layer(x) * self.scale
                if norm(y, 2) > 1:
                    y = y / 2
                return y
    """,
    "train.py": """\
        import torch
        from models import Net
        from names import log
        def fit(loader, optimizer):
            net = Net()
            for x, y in loader:
                loss = torch.nn.functional.cross_entropy(net(x), y)
                loss.backward()
                optimizer.step()
                log(loss)
    """,
}
EXPECTED = {("models.py", 11), ("deep.py", 3)}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, code in FILES.items():
        lines = code.splitlines()
        indent = len(lines[0]) - len(lines[0].lstrip())
        (tmp_path / name).write_text("\n".join(line[indent:] for line in lines) + "\n")
    return sorted(str(path) for path in tmp_path.glob("*.py"))


def found(facts: dict[str, FileFacts]) -> set[Finding]:
    linked = linking.link(CallGraph(facts))
    return {finding for told in linked.values() for finding in told.findings}


def checked(
    order: Sequence[str], files: list[str], wanted: frozenset[str] | None = None
) -> set[Finding]:
    checker = worker.Worker(worker.index(files), worker.Options(False), wanted)
    return found({path: checker.check(path) for path in order})


def orders(files: list[str]) -> list[tuple[str, ...]]:
    """Return a sample of the orders, in which each file comes first, and last; or all."""
    every = [*itertools.permutations(files)]
    return every[:: len(every) // examples(len(every))]


@pytest.mark.parametrize("trees", [1, 48])
def test_every_order_finds_the_same(
    files: list[str], trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = checked(files, files)
    assert {(Path(f.path).name, f.line) for f in expected if f.loop.value == "step"} == EXPECTED
    monkeypatch.setattr(project, "MAX_TREES", trees)
    for order in orders(files):
        assert checked(order, files) == expected, order


def test_a_process_that_does_the_share_of_another_finds_the_same(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has let go of the trees of files that it did not expect to check."""
    expected = checked(files, files)
    monkeypatch.setattr(project, "MAX_TREES", 1)
    for order in orders(files):
        assert checked(order, files, frozenset()) == expected, order


PEEK = """
def peek():
    trainer = Trainer()
    return trainer.reader
"""
TRAINER = """
class Reader:
    def get(self, loss):
        print(loss.item())
class Trainer:
    def setup(self):
        self.reader = self.renew(None)
    def renew(self, loss):
        if loss is not None:
            self.reader.get(loss)
        return Reader()
def train(model, loader):
    trainer = Trainer()
    for x in loader:
        trainer.renew(model(x).sum())
"""


@pytest.mark.parametrize("parts", [(PEEK, TRAINER), (TRAINER, PEEK)], ids=["before", "after"])
def test_what_sees_an_attribute_that_is_being_found_out_is_not_final(
    parts: tuple[str, str], tmp_path: Path
) -> None:
    """`renew` asks for the attribute that it gives, whoever asks for that first."""
    path = tmp_path / "train.py"
    path.write_text("import torch\n" + "".join(parts))
    (finding,) = checked([str(path)], [str(path)])
    assert finding.loop.value == "step"


def test_reads_of_a_helper_stay_apart_when_its_tree_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call causes both, in files that are checked before and after it goes."""
    (tmp_path / "helper.py").write_text("def show(a, b):\n    return a.tolist(), b.tolist()\n")
    (tmp_path / "other.py").write_text("import torch\ndef f(x):\n    return x + 1\n")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(
            "import torch\nimport helper\n"
            "def train(model, loader, optimizer):\n"
            "    for x in loader:\n"
            "        loss = model(x.cuda()).sum()\n"
            "        loss.backward()\n"
            "        optimizer.step()\n"
            "        helper.show(loss, loss.detach())\n"
        )
    paths = sorted(str(path) for path in tmp_path.glob("*.py"))
    expected = checked(paths, paths)
    reads = [f for f in expected if f.code == "ASG102" and f.loop.value == "step"]
    assert sorted((f.column, len(f.reached_from)) for f in reads) == [(12, 2), (24, 2)]
    monkeypatch.setattr(project, "MAX_TREES", 1)
    assert checked(paths, paths) == expected


def test_a_file_checked_beside_others_is_told_the_same_as_in_a_process_of_its_own(
    files: list[str],
) -> None:
    apart: dict[str, FileFacts] = {}
    for path in files:
        apart[path] = worker.Worker(worker.index(files), worker.Options(False)).check(path)
    assert found(apart) == checked(files, files)


def test_any_number_of_processes_finds_the_same(files: list[str], tmp_path: Path) -> None:
    for number in range(20):
        copy = tmp_path / f"more{number}.py"
        copy.write_text((tmp_path / "train.py").read_text())
    one, two = (check_paths([tmp_path], Settings(cache=False, jobs=jobs)) for jobs in (1, 2))
    assert one.findings == two.findings
    callers = {Path(call.path).stem for f in one.findings for call in f.reached_from}
    assert callers >= {"train", *(f"more{number}" for number in range(20))}


def test_findings_that_start_at_one_place_have_an_order() -> None:
    text = """\
import torch
def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda(non_blocking=True)).backward()
        optimizer.step()
        model.weight.new_tensor([1, 2])[[1, 0]]
"""
    facts = {"a.py": worker.Worker({}, worker.Options(False)).check("a.py", text.encode())}
    (known,) = facts.values()
    for candidates in itertools.permutations(known.candidates):
        kept = {"a.py": known._replace(candidates=candidates)}
        findings = select(linking.link(CallGraph(kept)), Settings(cache=False))
        assert [f.end_column for f in findings if f.line == 6] == [40, 48]


def test_of_findings_that_differ_in_advice_alone_the_same_is_kept() -> None:
    def facts(advice: str) -> FileFacts:
        finding = Finding("ASG102", "waits", "a.py", 1, 1, 1, 9, advice=advice, function="f")
        return FileFacts(f"{advice}.py", (Candidate(finding),))

    network = CallGraph({advice: facts(advice) for advice in "abcdefgh"} | {"a.py": EMPTY})
    (finding,) = linking.link(network)["a.py"].findings
    assert finding.advice == "h"


EMPTY = FileFacts("a.py")
