"""Pages whose code blocks are run: what stands in a Markdown file, and whether it is true.

A comment above a block says what it is, where the block itself does not:

    <!-- file: train.py -->       it is written to that file
    <!-- needs: torch -->         it is left out where that module is missing, or (`flax>=0.11`) old
    <!-- not run: REASON -->      it is not run; Python, TOML, YAML and JSON are parsed even so
    <!-- setup ... -->            hidden Python, run before the next block

Other Python blocks run one after the other in one namespace, console blocks line by line in one
folder; what follows a command is its output, and a command without any must not fail. `...` stands
for anything, and times and shares may be others.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import tomli
from packaging.requirements import Requirement

from tests import warm

BLOCK = re.compile(
    r"((?:^<!--(?:(?!-->).)*?-->\n)*)^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMENT = re.compile(r"<!-- (file|needs|not run|setup)(?::| *\n) *(.*?) *-->", re.DOTALL)
TIMES = re.compile(r"[<~]?\d[\d,.]* ?(?:ns|us|ms|s|sec|%)(?![\w])")
WARM = {"torch": "torch", "mxnet": warm.MXNET}
ROOT = Path(__file__).parent.parent


class Block(NamedTuple):
    """One fenced block: where it starts, its language, its text and what comments say of it."""

    line: int
    language: str
    text: str
    says: dict[str, str]


class Failed(AssertionError):
    """A block is not true; the message names its place."""


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(line, found[2], found[3], dict(COMMENT.findall(found[1])))


def run(page: Path, folder: Path) -> int:
    """Run the blocks of a page in an empty folder; return how many were; raises Failed."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    done = 0
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if missing(block.says.get("needs", "")):
            continue
        if hidden := block.says.get("setup"):
            exec(compile(hidden, f"{where} (setup)", "exec"), namespace)
        parsed(block, where)
        done += 1
        if name := block.says.get("file"):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif "not run" in block.says:
            continue
        elif block.language == "python":
            exec(compile(block.text, where, "exec"), namespace)
        elif block.language == "console":
            console(block, where, folder)
    return done


def missing(modules: str) -> bool:
    """Whether one of the modules is not installed; raises Failed where it was asked for.

    `ASYNCGUARD_REQUIRE` names what this environment must have, as for `tests.frameworks`.
    """
    wanted = os.environ.get("ASYNCGUARD_REQUIRE", "").split(",")
    absent = [name for each in modules.split(",") if each and not _is_there(name := each.strip())]
    if required := sorted(set(absent) & set(wanted)):
        raise Failed(f"{required[0]} is required here (ASYNCGUARD_REQUIRE), and not installed")
    return bool(absent)


def _is_there(wanted: str) -> bool:
    name, specifier = (requirement := Requirement(wanted)).name, requirement.specifier
    try:
        there = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its package is missing
        return False
    return there and (not specifier or metadata.version(name) in specifier)


def parsed(block: Block, where: str) -> None:
    """Fail for a block that its own language cannot read."""
    try:
        if block.language == "python":
            ast.parse(block.text)
        elif block.language == "toml":
            tomli.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            import yaml

            yaml.safe_load(block.text)
    except Exception as error:
        raise Failed(f"{where}: {block.language} that cannot be read: {error}") from error


def console(block: Block, where: str, folder: Path) -> None:
    """Run each command of a block in one shell, and compare what it says."""
    steps: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    warm_folder = warm_commands(block.says.get("needs", ""))
    bin_folders = [warm_folder, str(Path(sys.executable).parent)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["COLUMNS"] = "80"  # as on a terminal
    environment["PYTHON_EXEC"] = str(Path(warm_folder, "python"))  # for torchrun
    environment["PATH"] = os.pathsep.join([*bin_folders, environment["PATH"]])
    mark = "=== next command ==="
    script = "".join(
        f"{command}\n_status=$?; echo '{mark}' $_status; (exit $_status)\n" for command, _ in steps
    )
    ran = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, text=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    said = re.findall(rf"(.*?){mark} (\d+)\n", ran.stdout, re.DOTALL)
    for (command, expected), (output, status) in zip(steps, said, strict=True):
        if not agrees(expected, output):
            shown = "\n".join(expected)
            raise Failed(f"{where}: $ {command}\nsays\n{output}\nand not\n{shown}")
        if not expected and status not in {"0", "1"}:  # 1: findings
            raise Failed(f"{where}: $ {command}\nends with {status}:\n{output}")


def warm_commands(needs: str) -> str:
    """Return the folder of a `python` and an `asyncguard` that hold the framework of a block."""
    modules = [module for name, module in WARM.items() if name in needs]
    return warm.commands(*modules[:1])


def agrees(expected: list[str], output: str) -> bool:
    """Whether an output is as a page shows it."""
    if not expected:
        return True
    pattern = r"\s+".join(_pattern(line) for line in expected if line.strip())
    return re.fullmatch(rf"\s*{pattern}\s*", _normal(output), re.DOTALL) is not None


def _pattern(line: str) -> str:
    if line.strip() == "...":
        return r"(?:.*)"
    words = (re.escape(word).replace(re.escape("..."), ".*?") for word in _normal(line).split())
    return r"\s+".join(words)


def _normal(text: str) -> str:
    return TIMES.sub("TIME", text)
