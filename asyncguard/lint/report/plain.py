"""What a file without a framework tells: its classes, and the comments in it. It needs no trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asyncguard.lint.modules.outline import OwnClass, own_classes
from asyncguard.lint.modules.screen import Screen
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.source.decode import check_syntax, decode
from asyncguard.lint.source.suppress import Suppression, suppressions


def without_trees(data: bytes, path: str, screen: Screen) -> FileFacts | None:
    """Return the facts of a file that is Python and for no framework; None of all others."""
    try:
        text = decode(data)
        if path.endswith(".ipynb") or screen.frameworks(path, text):
            return None
        return of_plain(path, suppressions(text), own_classes(check_syntax(text)))
    except Exception:  # noqa: BLE001 - who looks at it next tells what is wrong with it
        return None


def of_plain(
    path: str, comments: Sequence[Suppression], classes: Mapping[str, OwnClass]
) -> FileFacts:
    """Return the facts of a file for no framework."""
    return FileFacts(
        path,
        suppressions=tuple(comments),
        bases={name: known.bases for name, known in classes.items()},
        bare={name: known.methods for name, known in classes.items()},
    )
