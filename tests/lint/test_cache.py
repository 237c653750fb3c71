"""What is kept between runs, and what makes it stale."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.program import call_graph
from asyncguard.lint.run import cache, worker
from asyncguard.lint.run.settings import Settings

HELPER = "import torch\ndef log(x):\n    {body}\n"
MAIN = """\
import torch
from helper import log
def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        log(loss)
"""


def run(path: Path) -> list[tuple[str, int]]:
    findings = check_paths([path], Settings(root=path, jobs=1)).findings
    return [(Path(f.path).name, f.line) for f in findings]


def test_nothing_is_analysed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "helper.py").write_text(HELPER.format(body="print(x)"))
    (tmp_path / "main.py").write_text(MAIN)
    first = run(tmp_path)
    monkeypatch.setattr(worker.Worker, "check", lambda *_: pytest.fail("analysed again"))
    monkeypatch.setattr(call_graph, "CallGraph", lambda *_: pytest.fail("linked again"))
    assert run(tmp_path) == first == [("helper.py", 3)]


def test_an_answer_is_for_all_settings_of_one_analysis(tmp_path: Path) -> None:
    """What to select, what comments silence and where cells stand is decided anew."""
    silent = HELPER.format(body="print(x)  # asyncguard: ignore")
    (tmp_path / "helper.py").write_text(f"{silent}    print(x)\n")
    (tmp_path / "main.py").write_text(MAIN)
    assert run(tmp_path) == run(tmp_path) == [("helper.py", 4)]
    settings = Settings(root=tmp_path, jobs=1, select=("ASG2",))
    assert check_paths([tmp_path], settings).findings == ()
    assert run(tmp_path) == [("helper.py", 4)]


def test_a_changed_helper_makes_its_callers_stale(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER.format(body="print(x)"))
    (tmp_path / "main.py").write_text(MAIN)
    assert run(tmp_path) == [("helper.py", 3)]
    (tmp_path / "helper.py").write_text(HELPER.format(body="history.append(x)"))
    assert run(tmp_path) == []


@pytest.mark.parametrize("young", [cache.YOUNG, 0])
def test_a_file_of_the_same_size_and_time_is_looked_into(
    tmp_path: Path, young: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archives that can be reproduced give every file the same time."""
    monkeypatch.setattr(cache, "YOUNG", young)  # 0: the status change alone tells
    helper = tmp_path / "helper.py"
    (tmp_path / "main.py").write_text(MAIN)
    here = [("helper.py", 3)]
    for body, found in (("print(x)", here), ("repr(0.)", []), ("print(x)", here)):
        helper.write_text(HELPER.format(body=body))
        os.utime(helper, (315_532_800, 315_532_800))
        assert run(tmp_path) == found


def test_a_change_far_away_makes_every_caller_stale(tmp_path: Path) -> None:
    """Both ask the helper; only the first of them made it ask for what it calls in turn."""
    (tmp_path / "deep.py").write_text(HELPER.format(body="print(x)").replace("log", "show"))
    (tmp_path / "helper.py").write_text(
        "import torch\nfrom deep import show\n" + "def log(x):\n    show(x)\n"
    )
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "other.py").write_text(MAIN)
    assert run(tmp_path) == [("deep.py", 3)]
    (tmp_path / "deep.py").write_text(HELPER.format(body="keep.append(x)").replace("log", "show"))
    assert run(tmp_path) == []


def test_what_has_not_changed_is_not_analysed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper.py").write_text(HELPER.format(body="print(x)"))
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "alone.py").write_text("import torch\nx = 1\n")
    first = run(tmp_path)
    seen = []
    check = worker.Worker.check

    def spy(self: worker.Worker, path: str, *rest: object) -> object:
        seen.append(Path(path).name)
        return check(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(worker.Worker, "check", spy)
    (tmp_path / "alone.py").write_text("import torch\nx = 22\n")
    assert run(tmp_path) == first
    assert seen == ["alone.py"]


def test_a_broken_cache_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    run(tmp_path)
    (tmp_path / ".asyncguard_cache" / "lint.msgpack").write_bytes(b"nonsense")
    assert run(tmp_path) == run(tmp_path)


def cache_of(folder: Path) -> Path:
    return folder / ".asyncguard_cache"


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_cache_is_checked_against_its_types(tmp_path: Path) -> None:
    """Wherever a byte of the kept answer is changed, the findings are those without a cache."""
    (tmp_path / "helper.py").write_text(HELPER.format(body="print(x)"))
    (tmp_path / "main.py").write_text(MAIN)
    expected = run(tmp_path)
    file = cache_of(tmp_path) / "lint.msgpack"
    whole = file.read_bytes()
    start = len(cache.HEADER) + 32 + cache.LENGTH + 2 * cache.SIGNATURE
    for position in (0, start - 1, start, start + 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:position] + b"\xc1" + whole[position + 1 :])  # \xc1: no MessagePack
        assert run(tmp_path) == expected
    for length in (0, start, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert run(tmp_path) == expected


def test_a_kept_finding_speaks_of_its_own_file_only(tmp_path: Path) -> None:
    """A forged cache cannot have `--fix` write to a file that is not checked."""
    (tmp_path / "helper.py").write_text(HELPER.format(body="print(x)"))
    (tmp_path / "main.py").write_text(MAIN)
    expected = run(tmp_path)
    file = cache_of(tmp_path) / "lint.msgpack"
    packed = msgspec.msgpack.encode
    name, other = str(tmp_path / "main.py"), str(tmp_path / "evil.py")
    data = file.read_bytes()
    forged = data.replace(b"\xa4path" + packed(name), b"\xa4path" + packed(other))
    assert forged != data
    file.write_bytes(forged)
    assert run(tmp_path) == expected


def test_a_cache_in_another_folder_leaves_that_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / ".gitignore").write_text("mine\n")
    settings = Settings(root=tmp_path, jobs=1, cache_dir=Path("."))
    check_paths([tmp_path], settings)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    assert names(tmp_path) == {
        "main.py",
        ".gitignore",
        ".asyncguard_cache",
        ".asyncguard_cache/.gitignore",
        ".asyncguard_cache/lint.msgpack",
    }
