"""One page: templates, style and script in one file that loads nothing, and that is never large.

What a page shows comes from files that somebody else may have written: every text is escaped, cut
where it is too long, and the policy in the head lets the browser run nothing but the page's script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from asyncguard.model import AsyncguardError
from asyncguard.places import place_of
from asyncguard.render.words import count

if TYPE_CHECKING:
    from jinja2 import Environment

T = TypeVar("T")

LIMIT = 300_000  # bytes of a page, less than
TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Detail:
    """How much of a run a page shows."""

    sites: int
    around: int  # lines of source above and below a site
    text: int  # characters of one text
    items: int  # of each list: suggestions, notes, graph breaks ...
    lines: int  # of a patch
    boxes: int  # of the flame graph
    steps: int  # of the timeline
    grain: float  # of the timeline, in percent: what lies closer together is drawn as one


# Tried in this order, until the page is small enough; the last one always is.
DETAILS = (
    Detail(200, 3, 2000, 20, 60, 400, 12, 0.05),
    Detail(200, 1, 400, 20, 40, 300, 12, 0.1),
    Detail(100, 1, 300, 10, 30, 200, 8, 0.2),
    Detail(50, 0, 200, 10, 20, 100, 4, 0.5),
    Detail(20, 0, 120, 5, 10, 50, 2, 1.0),
    Detail(5, 0, 60, 3, 5, 20, 1, 2.0),
)


@dataclass(frozen=True)
class Shown(Generic[T]):
    """The first of some items, and how many there are besides."""

    items: Sequence[T]
    hidden: int


def first(items: Sequence[T], most: int) -> Shown[T]:
    """Return the first items of a list, as many as a page has room for."""
    return Shown(items[:most], max(len(items) - most, 0))


def page(
    template: str, context: Callable[[Detail], dict[str, Any]], sites: int | None = None
) -> str:
    """Return the page at the highest detail at which it is smaller than LIMIT.

    `sites` is how many were asked for. Raises AsyncguardError where jinja2 is not installed.
    """
    for at, plain in enumerate(DETAILS):
        most = plain.sites if sites is None else sites if at == 0 else min(sites, plain.sites)
        detail = replace(plain, sites=most)
        text = _rendered(template, context(detail), detail)
        if len(text.encode()) < LIMIT:
            return text
    raise AssertionError("the lowest detail has to fit whatever the run holds")


def _rendered(template: str, context: dict[str, Any], detail: Detail) -> str:
    try:
        import jinja2  # noqa: F401 - the environment may have been made before
        from markupsafe import Markup
    except ImportError as error:
        raise AsyncguardError(
            "the HTML report needs jinja2; install it with `pip install 'asyncguard[html]'`"
        ) from error
    style, script = (_text(TEMPLATES / name) for name in ("page.css", "page.js"))
    inline = {
        "style": Markup(style), "script": Markup(script),
        "style_hash": _hash(style), "script_hash": _hash(script),
    }  # fmt: skip
    return _environment(detail.text).get_template(template).render(context | inline)


@lru_cache
def _environment(longest: int) -> Environment:
    """Templates whose every value is escaped, and cut where it is longer."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _cut(value, longest),
    )
    made.filters |= {
        "prose": lambda text: _prose(_cut(text, longest)),
        "place": lambda site: place_of(site.path, site.line),
        "count": count,
        "percent": lambda value: f"{value:.4g}%",
    }
    return made


def _cut(value: Any, most: int) -> Any:
    """A text that is too long, cut; anything else, and what is escaped already, as it is."""
    if type(value) is not str or len(value) <= most:
        return value
    return f"{value[:most]} \N{HORIZONTAL ELLIPSIS} {len(value) - most:,} more characters"


def _prose(text: str) -> str:
    """Text with what stands between backticks as code; everything in it is escaped."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    if len(parts) % 2 == 0:  # one backtick is left over
        return text
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(p) if at % 2 else escape(p) for at, p in enumerate(parts))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").rstrip()


def _hash(text: str) -> str:
    """What a Content Security Policy calls an inline text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
