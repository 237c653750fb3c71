"""Findings depend on the set of checked files alone, also where functions call one another.

Five files whose functions call each other in circles, across files: whatever the files are called,
in whichever order they are given, by how many processes they are checked and what of them lies in
the cache, the findings are the same in every field.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding
from tests.effort import examples

ROLES = ("encoder", "decoder", "mixer", "head", "trainer")
PROGRAM: Mapping[str, str] = {
    "encoder": """\
import torch
from {decoder} import decode
def encode(x, depth):
    if depth > 3:
        return x
    return decode(torch.relu(x), depth + 1)
""",
    "decoder": """\
import torch
from {encoder} import encode
from {mixer} import mix
def decode(x, depth):
    print(x)
    return mix(encode(x, depth), depth)
""",
    "mixer": """\
import torch
from {decoder} import decode
from {head} import score
def mix(x, depth):
    if depth > 2:
        return decode(x, depth)
    return score(x, depth) * x
""",
    "head": """\
import torch
from {encoder} import encode
def score(x, depth):
    total = encode(x, depth).sum()
    return total.item()
""",
    "trainer": """\
import torch
from {decoder} import decode
from {encoder} import encode
from {head} import score
from {mixer} import mix
def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        loss.backward()
        optimizer.step()
        score(loss, 0)
        if encode(loss, 0) > 1:
            print(mix(loss, 0))
        decode(loss, 0)
""",
}
# More files than are checked in one process: with these, `jobs` decides.
OTHERS = {f"other{n}.py": f"import torch\ndef f{n}(x):\n    return x + {n}\n" for n in range(16)}
Names = Mapping[str, str]
OWN: Names = {role: role for role in ROLES}
NAMINGS = [
    dict(zip(ROLES, (f"module_{letter}" for letter in letters), strict=True))
    for letters in itertools.permutations("abcde")
]
SAMPLE = NAMINGS[::24]


def write(folder: Path, names: Names, others: Mapping[str, str] = {}) -> list[Path]:
    """Write the program under these names of its files, and other files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{names[role]}.py": text.format(**names) for role, text in PROGRAM.items()}
    for name, text in {**files, **others}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def described(findings: Iterable[Finding], folder: Path, names: Names) -> list[str]:
    """Return every field of the findings, with the files' roles in the place of their names.

    The places that reach one are listed by file name, so they are put in the order of the roles. Of
    reasons that are equally strong the one of the first file is shown, so only their sorts count.
    The words in the name of a file are evidence.
    """
    text = "\n".join(json.dumps(finding.to_dict()) for finding in findings)
    text = text.replace(f"{folder}/", "")
    for role, name in names.items():
        text = re.sub(rf"\b{name}\b", role, text)
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        row["reached_from"].sort(key=json.dumps)
        row["reasons"] = sorted({why["about"] for why in row["reasons"]})
        row["evidence"] = [item for item in row["evidence"] if not item.startswith("file.")]
    return sorted(map(json.dumps, rows))


def found(folder: Path, names: Names, paths: Sequence[Path] = (), jobs: int = 1) -> list[str]:
    settings = Settings(select=("ALL",), cache=False, jobs=jobs)
    return described(check_paths(paths or [folder], settings).findings, folder, names)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("expected")
    write(folder, OWN)
    return found(folder, OWN)


def test_the_reads_in_the_circle_are_found(expected: list[str]) -> None:
    places = {(f["path"], f["code"]) for f in map(json.loads, expected)}
    read = {("decoder.py", "ASG101"), ("head.py", "ASG102")}
    assert places >= {*read, ("trainer.py", "ASG104")}


def test_every_order_of_the_files_finds_the_same(tmp_path: Path, expected: list[str]) -> None:
    """Files are analysed by name, and linked as they are given: each of them first and last."""
    files = write(tmp_path, OWN)
    turned = [files[n:] + files[:n] for n in range(len(files))]
    for order in [*turned, *(order[::-1] for order in turned)]:
        assert found(tmp_path, OWN, order) == expected, order


def test_every_naming_of_the_files_finds_the_same(tmp_path: Path, expected: list[str]) -> None:
    """They are analysed by name: in a sample of the orders, each first and last, or in all."""
    for number, names in enumerate(NAMINGS[:: len(NAMINGS) // examples(len(NAMINGS))]):
        write(tmp_path / str(number), names)
        assert found(tmp_path / str(number), names) == expected, names


def test_any_number_of_processes_finds_the_same(tmp_path: Path, expected: list[str]) -> None:
    for jobs, names in zip((2, 4), SAMPLE, strict=False):
        folder = tmp_path / str(jobs)
        write(folder, names, OTHERS)
        assert found(folder, names, jobs=jobs) == expected, (names, jobs)


def test_a_cold_and_a_warm_cache_find_the_same(tmp_path: Path, expected: list[str]) -> None:
    for number, names in enumerate(SAMPLE):
        folder = tmp_path / str(number)
        files = write(folder, names)
        settings = Settings(select=("ALL",), jobs=1, root=folder, cache_dir=folder / ".cache")
        for changed in [None, None, *files]:  # cold, warm, and with one file that has changed
            if changed is not None:
                changed.write_text(changed.read_text() + "# changed\n")
            findings = check_paths([folder], settings).findings
            assert described(findings, folder, names) == expected, (names, changed)
