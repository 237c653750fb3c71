"""What a file without a framework tells: its classes, and the comments in it. It needs no trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asyncguard.lint.modules.outline import OwnClass, own_classes
from asyncguard.lint.modules.screen import Screen
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.source.decode import check_syntax, decode
from asyncguard.lint.source.suppress import NO_ALLOWANCES, Allowances, Suppression, suppressions
from asyncguard.lint.source.switches import Switches, switches


def without_trees(
    data: bytes, path: str, screen: Screen, allowed: Allowances = NO_ALLOWANCES
) -> FileFacts | None:
    """Return the facts of a file that is Python and for no framework; None of all others."""
    try:
        text = decode(data)
        if path.endswith(".ipynb") or screen.frameworks(path, text):
            return None
        tree = check_syntax(text)
        return of_plain(path, suppressions(text, allowed), own_classes(tree), switches(tree))
    except Exception:  # noqa: BLE001 - who looks at it next tells what is wrong with it
        return None


def of_plain(
    path: str,
    comments: Sequence[Suppression],
    classes: Mapping[str, OwnClass],
    options: Switches,
) -> FileFacts:
    """Return the facts of a file for no framework."""
    return FileFacts(
        path,
        suppressions=tuple(comments),
        options=options,
        bases={name: known.bases for name, known in classes.items()},
        bare={name: known.methods for name, known in classes.items()},
    )
