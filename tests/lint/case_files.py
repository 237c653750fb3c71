"""The programs in `cases/`: small, with the findings that they must have in comments on the line.

A case is a file, or a folder of files that are one program. Its name states the verdict. Comments
at the end of a line say what is found there, and nothing is found on the other lines:

    print(loss)  # ASG101                   one finding; `# ASG103, ASG106` are two
    print(loss)  # ASG101 epoch guarded     it is read once an epoch (or `none`), behind a guard
    print(loss)  # clean                    nothing, and this is the line that the case is about

Of a case that is about all of its lines, a first line `# clean` says that nothing is found in it.
The first lines may also give the path to check the program as, and settings that are not default:

    # path: tests/test_net.py
    # settings: select=ALL assume_device=cpu min_probability=0.4
    # xfail: why the linter fails this case today; whoever mends it removes the line
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from asyncguard.lint.run.settings import Settings, Tests
from asyncguard.model import Confidence, Device, Finding

CASES = Path(__file__).parent / "cases"
MARK = re.compile(r"(?:^|  )# (clean|ASG\d{3}[^#]*)$")
LEAST = 0.2  # probability of a finding of a case, whatever the weights show by default
HEADER = re.compile(r"# (path|settings|xfail): (.+)")
VALUES: Mapping[str, Callable[[str], object]] = {
    "select": lambda text: tuple(text.split(",")),
    "assume_device": Device,
    "min_confidence": Confidence,
    "min_probability": lambda text: None if text == "default" else float(text),
    "tests": Tests,
}


class Verdict(NamedTuple):
    """A finding, as a comment has it; `often` is "", "epoch", "none guarded", ..."""

    path: str
    line: int
    code: str
    often: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.often}".rstrip()


class Case(NamedTuple):
    """A program, as its files' texts by their paths, and how to check it."""

    name: str
    files: Mapping[str, str]
    settings: Settings
    xfail: str = ""

    @property
    def expected(self) -> list[Verdict]:
        """The findings that the comments ask for."""
        return sorted(v for path, text in self.files.items() for v in _marked(path, text))

    @property
    def has_marks(self) -> bool:
        """Whether any comment says what is found, or that nothing is."""
        return any(MARK.search(line) for text in self.files.values() for line in text.splitlines())


def all_cases() -> list[Case]:
    """Read every case, topic by topic."""
    paths = sorted(CASES.glob("*/*"))
    return [_read(path) for path in paths if path.suffix == ".py" or _is_program(path)]


def _is_program(path: Path) -> bool:
    return path.is_dir() and path.name != "__pycache__"


def verdict(finding: Finding) -> Verdict:
    """Say what a comment would say of a finding."""
    loop = "" if finding.loop.value == "step" else finding.loop.value
    often = f"{loop} guarded" if finding.guarded else loop
    return Verdict(finding.path, finding.line, finding.code, often.strip())


def _read(path: Path) -> Case:
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    header = dict(pair for text in texts.values() for pair in _header(text))
    given = {"min_probability": LEAST, **_settings(header.get("settings", ""))}
    settings = replace(Settings(cache=False, jobs=1), **given)
    if path.is_file():
        named = {header.get("path", "a.py"): texts[path]}
    else:
        named = {file.relative_to(path).as_posix(): text for file, text in texts.items()}
    name = path.relative_to(CASES).with_suffix("").as_posix()
    return Case(name, named, settings, header.get("xfail", ""))


def _header(text: str) -> Iterator[tuple[str, str]]:
    """Yield what the comments at the top of a file say about the case."""
    for line in takewhile(lambda line: line.startswith("#"), text.splitlines()):
        if found := HEADER.fullmatch(line):
            yield found[1], found[2]


def _settings(text: str) -> dict[str, object]:
    pairs = (pair.split("=", 1) for pair in text.split())
    return {key: VALUES[key](value) for key, value in pairs}


def _marked(path: str, text: str) -> Iterator[Verdict]:
    for number, line in enumerate(text.splitlines(), 1):
        mark = MARK.search(line)
        if mark and mark[1] != "clean":
            for part in mark[1].split(", "):
                code, _, often = part.partition(" ")
                yield Verdict(path, number, code, often)
