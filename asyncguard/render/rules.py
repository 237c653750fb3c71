"""The rule table and the explanation of one rule, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from asyncguard.render import Screen
from asyncguard.render.page import Page

if TYPE_CHECKING:
    from asyncguard.lint.report.registry import Rule


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


def explanation(rule: Rule, screen: Screen) -> str:
    """The rule's documentation."""
    page = Page(screen)
    page.line(f"[bold]{rule.code} {rule.name}[/]\n")
    page.add(Markdown(rule.explanation))
    return page.text()
