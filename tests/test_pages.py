"""README and documentation as a whole: length, links, figures and pictures that are not old."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.frameworks import require

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools" / "site"))

import figures  # noqa: E402 - it stands beside the site's hooks
import pictures  # noqa: E402

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
LONGEST = {README: 1200}  # words; what is generated when the site is built is no file here
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")
# Made when the site is built, by tools/site/pages.py.
MADE = re.compile(r"docs/(rules/\w+|reference/(configuration|commands|trace)|changelog)\.md")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_read_in_a_few_minutes(page: Path) -> None:
    words = [word for word in read(page).split() if re.search(r"\w", word)]
    assert len(words) <= LONGEST.get(page, 800)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page: Path) -> None:
    """Relative ones: they hold in a checkout, on any host, and in the site."""
    targets = [target for target, _ in LINK.findall(read(page)) if target]
    places = [(page.parent / target).resolve().relative_to(ROOT).as_posix() for target in targets]
    assert [at for at in places if not (ROOT / at).exists() and not MADE.fullmatch(at)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_figures_are_those_of_the_results(page: Path) -> None:
    text = read(page)
    assert figures.filled(text) == text, "run `make docs`"
    assert text.count("<!-- figures:") == len(figures.PLACE.findall(text))


def test_every_result_that_pages_may_show_is_shown() -> None:
    shown = {found for page in PAGES for _, found, _, _ in figures.PLACE.findall(read(page))}
    assert shown == figures.figures().keys()


def test_the_sentence_of_first_contact_counts_the_last_two_rounds() -> None:
    def row(step: int, cold: int, none: int, waits: int, found: int) -> dict[str, object]:
        verdicts = {"step": step, "again": 0, "cold": cold, "none": none}
        return {"repository": "r", "verdicts": verdicts, "waits": waits, "found": found}

    rounds = {
        "1": {"repositories": [row(0, 0, 99, 9, 0)]},
        "2": {"repositories": [row(6, 2, 0, 3, 2), row(1, 0, 0, 0, 0)]},
        "sample": {"repositories": [row(0, 99, 0, 0, 0)]},
        "3": {"repositories": [row(0, 0, 1, 1, 1)]},
    }
    assert figures.first_contact(rounds) == (
        "Of 10 default findings on 3 repositories that it met for the first time, 70% wait in "
        "every step, 20% wait, though not in every step or not again, and 10% do not wait; it "
        "found 75% of 4 waits in steps."
    )


def words(picture: str) -> list[str]:
    """Return what is written in an SVG; raises ParseError if it is none."""
    return [text.strip() for text in ElementTree.fromstring(picture).itertext() if text.strip()]


def test_pictures_show_what_results_and_commands_say() -> None:
    for file, picture in pictures.drawn().items():
        kept = read(pictures.PICTURES / file)
        assert "http" not in kept.replace("http://www.w3.org/2000/svg", ""), file
        style = re.compile(r"<style>.*?</style>", re.DOTALL)  # colours, of rich
        old, new = (words(style.sub("", text)) for text in (kept, picture))
        assert old == new, f"{file} is old: run `make docs`"


def test_the_stages_of_the_linter_are_where_the_picture_says() -> None:
    lint = ROOT / "asyncguard" / "lint"
    places = [place for rows in pictures.LINTER.values() for _, place, _ in rows]
    assert [place for place in places if not (lint / place).exists()] == []


def test_the_screenshot_is_of_the_report_as_it_is(tmp_path: Path) -> None:
    picture = (pictures.PICTURES / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    size = (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big"))
    assert size == pictures.SIZE
    assert len(picture) < 300_000
    told = json.loads(read(pictures.PICTURES / "report.json"))
    require("torch")
    if metadata.version("torch").partition("+")[0] != told["torch"]:
        pytest.skip(f"the picture was made with torch {told['torch']}, which shows in it")
    made = pictures.described(pictures.report(tmp_path))
    assert made == told, "run `make docs` where chromium is installed"
