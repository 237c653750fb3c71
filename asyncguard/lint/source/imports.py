"""What the imports in a text bind, without a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Imported(NamedTuple):
    """One name that an import binds: of a module, with its leading dots, or a name in one."""

    bound: str
    module: str
    name: str = ""


_FROM = re.compile(
    r"[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|((?:[^\n;#(\\]|\\\n)*))"
)
_MODULES = re.compile(r"[ \t]*import[ \t]+([^\n;#(]+)")
_COMMENT = re.compile(r"#[^\n]*")


def imports_in(text: str) -> Iterator[Imported]:
    """Yield the names that imports at the start of lines bind, in order, wherever they stand."""
    at = text.find("import")
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = at + len("import")
        if found := _FROM.match(text, start):
            listed = _COMMENT.sub("", found.group(2) or found.group(3) or "")
            for name, bound in _names(listed.replace("\\\n", " ")):
                yield Imported(bound or name, found.group(1), name)
            end = max(end, found.end())
        elif found := _MODULES.match(text, start):
            for name, bound in _names(found.group(1)):
                whole = name if bound else name.partition(".")[0]
                yield Imported(bound or name.partition(".")[0], whole)
            end = max(end, found.end())
        at = text.find("import", end)


def _names(listed: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a list, each with that after its `as`, or ""."""
    for part in listed.split(","):
        words = part.split()
        if words:
            yield words[0], words[2] if len(words) == 3 and words[1] == "as" else ""


def module_of(imported: Imported, package: str) -> str:
    """Return the full name of the module that an import in `package` names."""
    name = imported.module.lstrip(".")
    return absolute(len(imported.module) - len(name), name, package)


def absolute(level: int, module: str, package: str) -> str:
    """Return the full name of the module that an import in `package` names; `level` counts dots."""
    if not level:
        return module
    parts = package.split(".") if package else []
    parts = parts[: max(0, len(parts) - (level - 1))]
    return ".".join([*parts, module] if module else parts)
