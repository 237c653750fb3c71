"""What a file without a framework tells: its classes, its options and the comments in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asyncguard.lint.modules.outline import OwnClass
from asyncguard.lint.program.facts import FileFacts
from asyncguard.lint.source.mentions import Mentions
from asyncguard.lint.source.suppress import Suppression
from asyncguard.lint.source.switches import Switches


def of_plain(
    path: str,
    comments: Sequence[Suppression],
    classes: Mapping[str, OwnClass],
    options: Switches,
    named: Mentions,
) -> FileFacts:
    """Return the facts of a file for no framework."""
    return FileFacts(
        path,
        suppressions=tuple(comments),
        options=options,
        mentions=named,
        bases={name: known.bases for name, known in classes.items()},
        bare={name: known.methods for name, known in classes.items()},
    )
