"""The catalogue of what blocks: `rules/*.toml`, read and validated.

The linter and the runtime both work from this one table. A TOML file describes one framework:
which modules mean that it is in use, what its APIs return (for the linter), what marks a step,
and one `[[sync]]` entry for each API that makes the frontend wait. `rules/python.toml` describes
the language: which calls invoke which protocol method of their argument.

Every error names the file and the entry. `rules/README.md` documents the format.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from asyncguard.catalogue import extending, tables
from asyncguard.catalogue.records import (
    NO_LANGUAGE,
    OPERATORS,
    VALUE_KINDS,
    Catalogue,
    Condition,
    Extension,
    Framework,
    Graph,
    HostMemory,
    Language,
    Region,
    Runtime,
    Source,
    Steps,
    SyncPoint,
    Trigger,
)
from asyncguard.catalogue.tables import (
    BY_KIND,
    SCHEMA,
    CatalogueError,
    build,
    by_kind,
    entries,
    parse,
    read,
    sync_point,
    texts,
)
from asyncguard.prepared import rules_directory

__all__ = [
    "ADVICE",
    "BY_KIND",
    "FAMILIES",
    "GENERATED",
    "LIBRARIES",
    "NO_LANGUAGE",
    "OPERATORS",
    "REPAIRS",
    "SCHEMA",
    "VALUE_KINDS",
    "Catalogue",
    "CatalogueError",
    "Condition",
    "Extension",
    "Framework",
    "Graph",
    "HostMemory",
    "Language",
    "Region",
    "Runtime",
    "Source",
    "Steps",
    "SyncPoint",
    "Trigger",
    "build",
    "by_kind",
    "entries",
    "load",
    "load_directory",
    "parse",
    "read",
    "require_unique_ids",
    "rules_directory",
    "sync_point",
    "texts",
]

# Beside the rules files: what the names in a program suggest (lint.names), and how generated files
# are recognised (lint.modules.copies), what avoids waits inside libraries (advise.libraries), and
# what repairs know of APIs and names (lint.fixes.words).
FAMILIES, GENERATED, LIBRARIES = "names.toml", "generated.toml", "libraries.toml"
EVIDENCE = "evidence.toml"  # weights of what the linter knows of a place
REPAIRS = "repairs.toml"
ADVICE = "advice.toml"  # and what to do about a wait, by the code around it (lint.advice)


@lru_cache(maxsize=1)
def load() -> Catalogue:
    """Load the catalogue that ships with asyncguard."""
    return load_directory(rules_directory())


_APART = (FAMILIES, GENERATED, LIBRARIES, REPAIRS, ADVICE, EVIDENCE)


def load_directory(directory: Path) -> Catalogue:
    """Load every `*.toml` of `directory`; raises CatalogueError."""
    frameworks: dict[str, Framework] = {}
    triggers: tuple[Trigger, ...] = ()
    clocks: tuple[str, ...] = ()
    language = NO_LANGUAGE
    extensions: list[tuple[Path, dict[str, Any]]] = []
    for path in sorted(set(directory.glob("*.toml")) - {directory / name for name in _APART}):
        data = read(path)
        if "trigger" in data:
            triggers += tables.triggers(path, data)
        clocks += tables.strings(path, data.get("clocks", []))
        if "language" in data:
            language = tables.language(f"{path}: [language]", data["language"])
        if "framework" in data:
            framework = tables.framework(path, data)
            frameworks[framework.name] = framework
        if "extends" in data:
            extensions.append((path, data))
    for path, data in extensions:
        framework = extending.extend(frameworks, path, data)
        frameworks[framework.name] = framework
    if not frameworks:
        raise CatalogueError(f"{directory}: no rules files found; reinstall asyncguard")
    catalogue = Catalogue(frameworks, triggers, clocks, language)
    require_unique_ids(catalogue)
    return catalogue


def require_unique_ids(catalogue: Catalogue) -> None:
    """Raise CatalogueError where two entries have one id."""
    seen: dict[str, str] = {}
    for point in catalogue:
        path = str(catalogue.frameworks[point.framework].path)
        if point.id in seen:
            raise CatalogueError(f"{path}: sync {point.id!r}: id is taken in {seen[point.id]}")
        seen[point.id] = path
