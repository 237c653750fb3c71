"""`llms.txt`: what the documentation holds, for language models, and each page as Markdown.

A hook of mkdocs.yml, after the one that makes pages. The sections are those of the navigation; what
only some will ask for comes last, under "Optional", which readers with little room may skip
(https://llmstxt.org). Beside each HTML page lies the Markdown that it was made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

OPTIONAL = ("rules/", "changelog.md", "why.md")  # but the table of the rules
TABLE = "rules/index.md"
LONGEST = 200  # characters of what is said of a page
_texts: dict[str, str] = {}  # the Markdown of each page, by its source's name
_pages: list[tuple[str, Page]] = []  # with the title of its section


def on_nav(nav: Navigation, config: MkDocsConfig, **_: object) -> Navigation:
    """Remember the pages in their order."""
    _texts.clear()
    _pages[:] = _listed(nav.items, "Documentation")
    return nav


def on_page_markdown(markdown: str, page: Page, **_: object) -> None:
    """Remember a page's text, as the other hooks have left it."""
    _texts[page.file.src_uri] = markdown


def on_post_build(config: MkDocsConfig) -> None:
    """Write `llms.txt`, and the Markdown of each page."""
    site = Path(config.site_dir)
    for name, text in _texts.items():
        target = site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (site / "llms.txt").write_text(_index(config), encoding="utf-8")


def _listed(items: list[object], section: str) -> Iterator[tuple[str, Page]]:
    for item in items:
        if isinstance(item, Section):
            yield from _listed(item.children, item.title)
        elif isinstance(item, Page):
            yield section, item


def _index(config: MkDocsConfig) -> str:
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    start = "[For coding agents](agents.md)"
    lines += [f"A coding agent starts with {start}: tools by MCP, and how to work with them.", ""]
    sections: dict[str, list[str]] = {}
    for section, page in _pages:
        name = page.file.src_uri
        optional = name.startswith(OPTIONAL) and name != TABLE
        sections.setdefault("Optional" if optional else section, []).append(_entry(name, page))
    last = sections.pop("Optional", [])
    for title, entries in (*sections.items(), ("Optional", last)):
        lines += [f"## {title}", "", *entries, ""]
    return "\n".join(lines)


def _entry(name: str, page: Page) -> str:
    said = _summary(_texts[name])
    return f"- [{page.title}]({name})" + (f": {said}" if said else "")


def _summary(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph, without links."""
    plain = re.sub(r"```.*?```|<!--.*?-->", "", markdown, flags=re.DOTALL)
    for block in plain.split("\n\n"):
        text = " ".join(block.split())
        if text and text[0] not in "#|-<!>*[":
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
            sentence = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0].rstrip(":")
            return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"
    return ""
