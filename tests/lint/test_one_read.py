"""A read is one finding, where it stands, with the calls that lead to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from asyncguard.lint.check import check_paths, check_source
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Candidate, FileFacts, Via
from asyncguard.lint.program.linking import link
from asyncguard.lint.program.merging import Told, merged
from asyncguard.lint.run.settings import Settings
from asyncguard.model import CallSite, Finding, Loop

SETTINGS = Settings(cache=False, jobs=1)
TRAIN = """\
import torch
from meters import total
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        total(loss)
        if step % 100 == 0:
            total(loss * 2)
    total(loss)
"""
METERS = "def total(value):\n    return value.item()\n"


def check(folder: Path, **texts: str) -> list[Finding]:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return list(check_paths([folder], SETTINGS).findings)


def test_a_read_in_a_helper_is_reported_there_alone(tmp_path: Path) -> None:
    (finding,) = check(tmp_path, train=TRAIN, meters=METERS)
    assert (finding.path, finding.line) == (str(tmp_path / "meters.py"), 2)
    assert finding.loop is Loop.STEP
    assert not finding.guarded


def test_the_calls_that_reach_it_as_often_come_hottest_first(tmp_path: Path) -> None:
    (finding,) = check(tmp_path, train=TRAIN, meters=METERS)
    train = str(tmp_path / "train.py")
    assert finding.reached_from == (CallSite(train, 8, "train"), CallSite(train, 10, "train"))


def test_the_calls_survive_json(tmp_path: Path) -> None:
    (finding,) = check(tmp_path, train=TRAIN, meters=METERS)
    data = json.loads(json.dumps(finding.to_dict()))
    assert data["reached_from"][0]["line"] == 8
    assert Finding.from_dict(data) == finding


def test_a_comment_at_the_call_keeps_it_from_counting(tmp_path: Path) -> None:
    quiet = TRAIN.replace(
        "        total(loss)\n        if",
        "        total(loss)  # asyncguard: ignore[ASG102] wanted\n        if",
    )
    assert quiet != TRAIN
    assert check(tmp_path, train=quiet, meters=METERS) == []


def test_a_comment_at_a_call_that_leads_nowhere_is_unused(tmp_path: Path) -> None:
    quiet = TRAIN.replace("    total(loss)\n", "    print(3)  # asyncguard: ignore[ASG102]\n", 1)
    found = check(tmp_path, train=quiet, meters="def total(value):\n    return value\n")
    assert [finding.code for finding in found] == ["ASG901"]


def test_calls_of_other_values_in_one_helper_keep_their_own_reads() -> None:
    source = """\
import torch
def checked(image, video):
    if image is not None:
        return image[image > 0]
    return video[video > 0]
class Net(torch.nn.Module):
    def forward(self, image: torch.Tensor, video: torch.Tensor):
        return checked(image, None), checked(None, video)
"""
    first, second = check_source(source, "net.py", SETTINGS)
    assert (first.line, [call.line for call in first.reached_from]) == (4, [8])
    assert second.line == 5


def test_a_place_that_is_read_and_written_is_one_finding(tmp_path: Path) -> None:
    (written,) = check(tmp_path, train=TRAIN, meters="def total(x):\n    x[x > 0] += 1\n")
    read = replace(written, api="torch.Tensor.__getitem__.mask", reached_from=())
    told = [Told(read), *(Told(written, call) for call in written.reached_from)]
    assert [*merged(told)] == [*merged(reversed(told))] == [written]


def test_a_read_behind_a_call_in_a_file_that_is_not_looked_at_is_told(tmp_path: Path) -> None:
    (read,) = check(tmp_path, train=TRAIN, meters=METERS)
    by = Via("elsewhere.py", "run", 3, 1)
    facts = {
        "meters.py": FileFacts("meters.py", (Candidate(replace(read, path="meters.py"), by=by),))
    }
    (found,) = link(CallGraph(facts))["meters.py"].findings
    assert found.reached_from == (CallSite("elsewhere.py", 3, "run"),)


def test_no_message_holds_a_placeholder() -> None:
    source = """\
import torch
def both(a, b):
    return a.item() + b.item()
def train(model, loader, optimizer):
    for x, y in loader:
        loss, other = model(x), model(y)
        loss.backward()
        optimizer.step()
        first = both(loss, other)
        second = other.item()
"""
    settings = Settings(select=("ALL",), cache=False, jobs=1)
    found = check_source(source, "train.py", settings)
    assert {"ASG102", "ASG301"} <= {finding.code for finding in found}
    assert not [f.message for f in found if "{" in f.message + f.advice]
