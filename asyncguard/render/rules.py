"""The rules as a table or JSON, and the explanation of one of them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from asyncguard.lint.labels import Label
from asyncguard.render import Screen
from asyncguard.render.lines import painter
from asyncguard.render.visible import visible
from asyncguard.render.words import count

if TYPE_CHECKING:
    from asyncguard.lint.trial import Outcome

LEAST = 20  # columns for what a rule finds


def table(rules: Sequence[Label], screen: Screen) -> str:
    """One line a rule: code, name, whether it is on and can be fixed, what it finds."""
    paint = painter(screen)
    name = max(len(rule.name) for rule in rules)
    lead = f"{'code':<6}  {'name':<{name}}  {'on':<3}  {'fix':<3}  "
    width = max(screen.width - len(lead), LEAST)
    lines = [paint(f"{lead}what", "bold")]
    for rule in rules:
        first, *rest = textwrap.wrap(rule.summary, width)
        on, fix = "yes" if rule.default else "", "yes" if rule.fixable else ""
        lines.append(f"{rule.code:<6}  {rule.name:<{name}}  {on:<3}  {fix:<3}  {first}")
        lines += [f"{'':<{len(lead)}}{line}" for line in rest]
    return "".join(f"{line}\n" for line in lines)


def as_json(rules: Sequence[Label], screen: Screen) -> str:
    """One object a rule: `code name summary explanation url default fixable`."""
    keys = ("code", "name", "summary", "explanation", "url", "default", "fixable")
    shown = [{key: getattr(rule, key) for key in keys} for rule in rules]
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Say which examples of a team's own catalogue do not come out as they should."""
    failed = [outcome for outcome in outcomes if outcome.problem]
    lines = [visible(f"{o.path}: {o.entry}: {o.problem}") for o in failed]
    wrong = f", {len(failed)} not as it says" if failed else ", all as they say"
    return "".join(f"{line}\n" for line in (*lines, f"{count(len(outcomes), 'example')}{wrong}"))


def explanation(rule: Label, screen: Screen) -> str:
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
