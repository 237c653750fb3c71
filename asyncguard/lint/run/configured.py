"""The options that a project's configuration files and launch scripts turn on or off, by name.

They stand beside the code: YAML, JSON, TOML and INI files, whose keys are options, and shell
scripts, whose commands hand them. Each is read line by line: what a key is nested in says nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from asyncguard.lint.names import family
from asyncguard.lint.run.settings import DEFAULT_EXCLUDE
from asyncguard.lint.run.surroundings import root_of
from asyncguard.lint.source.switches import Switches, sums_of

_TRIES = family("file.tries")
KEYS = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg")
COMMANDS = (".sh", ".bash", ".slurm", ".sbatch")
MOST = 2_000  # files of a project
MOST_OF_ONE = 200_000  # bytes
_KEY = re.compile(
    r"""(?:^|[{,])[ \t-]*["']?([A-Za-z_][\w.-]*)["']?[ \t]*[:=][ \t]*([^\s,#}][^,#\n}]*)""", re.M
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.M)  # which says what nothing does
_WORD = re.compile(r"[A-Za-z_]\w+")
_OFF = frozenset({"false", "no", "off", "none", "null", "~", "0", "0.0", "[]", "{}", "''", '""'})

_ON = frozenset({"true", "yes", "on", "1"})


def configuration_files(checked: Iterable[str]) -> list[str]:
    """Return the files beside those that are checked which may give options values, sorted."""
    folders = {os.path.dirname(os.path.abspath(path)) for path in checked}
    found = {folder: root_of(folder) for folder in folders}
    roots = {root for root in found.values() if root is not None}
    if alone := [folder for folder, root in found.items() if root is None]:
        roots.add(os.path.commonpath(alone))
    outer = [root for root in roots if roots.isdisjoint(map(str, Path(root).parents))]
    return sorted(path for root in outer for path in _below(root))[:MOST]


def _below(root: str) -> Iterator[str]:
    for folder, below, names in os.walk(root):
        below[:] = [n for n in below if not n.startswith(".") and n not in DEFAULT_EXCLUDE]
        yield from (os.path.join(folder, n) for n in names if n.endswith((*KEYS, *COMMANDS)))


def configured(paths: Iterable[str]) -> Switches:
    """Return what these files give options."""
    off, true, other = set[str](), set[str](), set[str]()
    said, words = set[str](), set[str]()
    for path in paths:
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > MOST_OF_ONE:
                continue  # a pipe would never end, and so much is data
            if _TRIES(path):
                continue
            with open(path, encoding="utf-8", errors="replace") as stream:
                text = stream.read()
            text = text if path.endswith(".json") else _COMMENT.sub("", text)
        except OSError:
            continue  # it turns on what it can be read for: nothing
        words.update(_WORD.findall(text))
        given = _of_commands(text) if path.endswith(COMMANDS) else _KEY.findall(text)
        for name, value in given:
            word = value.strip("\"' ;").lower()
            said.add(value.strip("\"' ;"))
            (off if word in _OFF else true if word in _ON else other).add(_last(name))
    left_off = frozenset(off)
    named = left_off, frozenset(true), left_off, frozenset(other)
    return Switches(*named, said=sums_of(said), words=sums_of(words))


def _of_commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the options that commands hand: `--debug`, `--rate 0.1`, `model.debug=true`."""
    for line in text.replace("\\\n", " ").split("\n"):
        words = line.split()
        for word, following in zip(words, [*words[1:], ""], strict=False):
            name, equals, value = word.lstrip("-+").partition("=")
            if equals:
                yield name, value or "null"
            elif word.startswith("--"):
                yield name, "on" if following.startswith("-") or not following else following


def _last(name: str) -> str:
    return name.rpartition(".")[2].replace("-", "_")
