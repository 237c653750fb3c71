"""Which files use those that are checked, and which use these.

To use a file is to import of it what leads to a checked function: others cannot call it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import partial

from asyncguard.lint.modules.copies import HEADER, named_source
from asyncguard.lint.modules.leading import Leads
from asyncguard.lint.names import family
from asyncguard.lint.run.bases import distance, module
from asyncguard.lint.source.imports import imports_in
from asyncguard.lint.source.notebook import python_in

LEVELS = 4  # of importing: those that import the files, those that import these, and so on


def importers(
    named: Sequence[str], texts: Mapping[str, bytes], known: Collection[str], budget: int
) -> list[str]:
    """Return who uses the files that are checked, and who uses those, as far as there is room.

    `texts` are those of all files, the checked ones too; `known` are to be passed over; `budget` is
    in bytes.
    """
    found: dict[str, None] = {}
    frontier: Sequence[str] = named
    leads = Leads(python_in(path, texts[path]) for path in named)
    for _ in range(LEVELS):
        reached = []
        modules = {module(path) for path in frontier}
        left = {p: t for p, t in texts.items() if len(t) <= budget and p not in found}
        for path in sorted(_importing(modules, left), key=partial(_order, named[0])):
            if path in named or path in known or len(texts[path]) > budget:
                continue
            text = python_in(path, texts[path])
            if _uses(text, modules, leads.tops):
                found[path] = None
                budget -= len(texts[path])
                reached.append(path)
                leads.add(text)
        frontier = reached
    return list(found)


def _order(named: str, path: str) -> tuple[bool, tuple[int, str]]:
    """Order importers: those that are close come first, and tests last, who time nothing."""
    return bool(_TESTS(path)), distance(named, path)


_TESTS = family("file.test")


def _uses(text: str, modules: Set[str], names: Set[str]) -> bool:
    """Whether a text imports one of some names from modules, or takes it of one.

    Or hands on all of them: that is what `import *` does, and a file that was generated from
    another.
    """
    source = named_source(text[:HEADER])
    if source and module(source) in modules:
        return True
    bound = set(modules)  # what stands for one of the modules
    for imported in imports_in(text):
        source = imported.module.rpartition(".")[2]
        if (source in modules or not source) and (imported.name == "*" or imported.name in names):
            return True
        if imported.name in modules or (source in modules and not imported.name):
            bound.add(imported.bound)
    taken = re.compile(rf"\b(?:{'|'.join(map(re.escape, bound))})\.(\w+)")
    return not names.isdisjoint(taken.findall(text))


def _importing(modules: Set[str], texts: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the files that import one of these modules, or say that they were made from it."""
    names = [name.encode("utf-8", "surrogatepass") for name in modules]
    imports = re.compile(rb"\b(?:import|from)\b.*\b(?:%s)\b" % b"|".join(map(re.escape, names)))
    for path, text in texts.items():
        if any(imports.search(line) for name in names for line in _lines_with(name, text)):
            yield path


def _lines_with(word: bytes, text: bytes) -> Iterator[bytes]:
    """Yield the lines that hold a word, without looking at others: most files hold none."""
    at = text.find(word)
    while at >= 0:
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind(b"\n", 0, at) + 1 : end]
        at = text.find(word, end)
