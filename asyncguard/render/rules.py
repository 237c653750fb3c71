"""The rule table and the explanation of one rule, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from asyncguard.render import Screen
from asyncguard.render.lines import painter
from asyncguard.render.page import Page
from asyncguard.render.visible import visible
from asyncguard.render.words import count

if TYPE_CHECKING:
    from asyncguard.lint.report.registry import Rule
    from asyncguard.lint.trial import Outcome


def table(rules: Sequence[Rule], screen: Screen) -> str:
    """One line a rule: code, name, what it finds, whether it is on and can be fixed."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("code", "name", "what", "on", "fix"):
        grid.add_column(header, overflow="fold")
    for rule in rules:
        grid.add_row(
            rule.code,
            rule.name,
            escape(rule.summary),
            "yes" if rule.default else "",
            "yes" if rule.fixable else "",
        )
    page = Page(screen)
    page.add(grid)
    return page.text()


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Say which examples of a team's own catalogue do not come out as they should."""
    failed = [outcome for outcome in outcomes if outcome.problem]
    lines = [visible(f"{o.path}: {o.entry}: {o.problem}") for o in failed]
    wrong = f", {len(failed)} not as it says" if failed else ", all as they say"
    return "".join(f"{line}\n" for line in (*lines, f"{count(len(outcomes), 'example')}{wrong}"))


def explanation(rule: Rule, screen: Screen) -> str:
    """The rule's documentation: paragraphs wrapped, examples and addresses as they are."""
    paint = painter(screen)
    blocks = [paint(f"{rule.code} {rule.name}", "bold")]
    for block in rule.explanation.split("\n\n"):
        example = all(line.startswith("    ") for line in block.splitlines())
        blocks.append(block if example else "\n".join(_paragraph(block, screen.width)))
    return "\n\n".join(blocks) + "\n"


def _paragraph(text: str, width: int) -> list[str]:
    words = " ".join(text.split())
    return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
