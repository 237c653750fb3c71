"""The names that files are imported by."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

INIT = "__init__.py"
MAX_GAP = 2  # folders without `__init__.py` within a package


def module_name(path: Path, packages: dict[str, bool]) -> str:
    """Return a file's dotted module name."""
    names = package_of(str(path.parent), packages)
    return ".".join(names if path.name == INIT else [*names, path.stem])


def package_around(name: str, path: str) -> str:
    """Return the package that relative imports of a file start from, by the file's module name."""
    return name if os.path.basename(path) == INIT else name.rpartition(".")[0]


def package_of(folder: str, packages: dict[str, bool], root: str = "") -> list[str]:
    """Return the names of the packages that a folder is, and is in, from the outermost on.

    Folders without `__init__.py` may lie between (namespace packages). One that is in no package is
    named from `root`.
    """
    names: list[str] = []
    within, above, name = 0, folder, folder
    while name and len(names) - within <= MAX_GAP:
        within = len(names) + 1 if is_package(above, packages) else within
        above, name = os.path.split(above)
        names.append(name)
    if not within and root and (folder == root or folder.startswith(os.path.join(root, ""))):
        return [name for name in folder[len(root) :].split(os.sep) if name]
    return names[:within][::-1]


def is_package(folder: str, packages: dict[str, bool]) -> bool:
    """Whether a folder is a regular package, asked of the file system once."""
    if folder not in packages:
        packages[folder] = os.path.isfile(os.path.join(folder, INIT))
    return packages[folder]


def index(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths of the Python files by module name."""
    packages: dict[str, bool] = {}
    absolute: dict[str, str] = {}
    folders: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        if path.endswith(".py"):
            folder, name = os.path.split(path)
            if folder not in absolute:
                absolute[folder] = os.path.abspath(folder)
            folders.setdefault(absolute[folder], []).append((name, path))
    root = os.path.commonpath(folders) if folders else ""
    found: dict[str, str] = {}
    above: dict[str, str] = {}
    for folder, inside in folders.items():
        package = ".".join(package_of(folder, packages, root))
        outer = _outer(folder, package)
        start = f"{package}." if package else ""
        for name, path in inside:
            full = package if name == INIT else start + name[: -len(".py")]
            found[full] = path
            for prefix in outer:
                above[f"{prefix}.{full}"] = path
    return found | {name: path for name, path in above.items() if name not in found}


def _outer(folder: str, package: str) -> list[str]:
    """Return what imports may write before a package's name: the folders that it lies in."""
    names = folder.split(os.sep)[: -len(package.split("."))] if package else []
    return [".".join(names[-count:]) for count in range(1, MAX_GAP + 1) if len(names) > count]
