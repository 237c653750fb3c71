"""axe-core finds nothing in the pages, where it is installed; the figures of a run are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed")

from tests.render.axe import FIGURES, PAGES, THEMES, WIDTHS, audit, script
from tests.render.pages import BROWSER

INSTALLED = pytest.mark.skipif(
    not script(), reason="ASYNCGUARD_AXE does not name axe.min.js of the npm package axe-core"
)


@BROWSER
@INSTALLED
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(name: str, tmp_path: Path) -> None:
    views = audit(PAGES[name](), tmp_path)
    assert [view["violations"] for view in views] == [[]] * 6
    assert all(view["rules"] > 10 for view in views)


@BROWSER
@INSTALLED
def test_axe_finds_what_is_wrong(tmp_path: Path) -> None:
    page = PAGES["an empty trace"]().replace("</h1>", "</h1><button></button>")
    assert all("button-name" in "".join(v["violations"]) for v in audit(page, tmp_path))


def test_the_kept_figures_are_of_all_pages_and_name_no_violation() -> None:
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))["pages"]
    assert list(kept) == list(PAGES)
    for page in kept.values():
        assert page["bytes"] < 300_000
        assert {(v["width"], v["theme"]) for v in page["views"]} == {
            (width, theme) for width in WIDTHS for theme in THEMES
        }
        assert [view["violations"] for view in page["views"]] == [0] * 6
