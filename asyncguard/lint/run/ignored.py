"""What git ignores: `.gitignore` files, from the repository's own down to a folder's."""

from __future__ import annotations

import os
import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncguard import files

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".gitignore"
MOST = 1 << 20  # bytes of such a file
# A regular expression takes the length of the path to the power of the stars of a pattern.
STARS = 3  # in a pattern, those apart that only say "in any folder" or "all in this folder"
LENGTH = 400  # characters of a path


class _Rules(NamedTuple):
    folder: str
    spec: GitIgnoreSpec


class Ignored(NamedTuple):
    """The rules that hold in a folder, those of the folders above it first."""

    rules: tuple[_Rules, ...] = ()

    @classmethod
    def above(cls, folder: Path) -> Ignored:
        """Return what a repository's rules say of a folder within it.

        None of them counts if they ignore the folder itself: it was asked for by name.
        """
        folder = Path(os.path.abspath(folder))
        parents = [folder, *folder.parents]
        depth = next((n for n, parent in enumerate(parents) if (parent / ".git").exists()), None)
        if depth is None:
            return cls()
        found = cls().extended(parents[depth], Path(".git", "info", "exclude"))
        for parent in reversed(parents[1 : depth + 1]):
            found = found.extended(parent)
        return cls() if depth and found.ignores(str(folder), is_folder=True) else found

    def extended(self, folder: Path, name: Path = Path(NAME)) -> Ignored:
        """Return the rules with those of a file in a folder, if it can be read.

        Patterns that would take long to match are left out, so what they name is checked.
        """
        try:
            text = files.read(folder / name, MOST).decode("utf-8", "surrogateescape")
        except OSError:
            return self
        lines = [line for line in text.splitlines() if _stars(line) <= STARS]
        spec = _spec(lines)
        return Ignored((*self.rules, _Rules(f"{folder}{os.sep}", spec))) if spec else self

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether an absolute path is ignored, as the innermost file that names it says last."""
        for folder, spec in reversed(self.rules):
            relative = path[len(folder) :] + ("/" if is_folder else "")
            if len(relative) > LENGTH:
                return False
            verdict = spec.check_file(relative.replace(os.sep, "/")).include
            if verdict is not None:
                return verdict
        return False


def _spec(lines: list[str]) -> GitIgnoreSpec | None:
    """Read the patterns; None if there are none. A line that git would not understand is left."""
    from pathspec import GitIgnoreSpec  # most of a short run needs none

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        spec = GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])
    return spec if any(pattern.include is not None for pattern in spec.patterns) else None


def _stars(line: str) -> int:
    """Count the runs of stars in a pattern, without those that only say where to look."""
    line = line.strip().removeprefix("!").removesuffix("/**")
    anywhere = line.removeprefix("**/")
    if "/" not in anywhere.removesuffix("/"):
        line = anywhere
    return sum(character == "*" for character, _ in groupby(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):  # re.error: `[z-a]`
        return False
    return True
