"""The documentation: every code block is true, and the site builds strictly without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from asyncguard.lint.run.settings import _READERS, DOCUMENTED
from tests import documents
from tests.frameworks import require

ROOT = documents.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(autouse=True)
def forgetful() -> None:
    """A page finds dynamo as a new process has it: with no graph breaks of other tests."""
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()
        dynamo.utils.clear_compilation_metrics()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_is_true(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(documents.blocks(page))
    ran = documents.run(page, tmp_path)
    needy = sum(documents.missing(block.says.get("needs", "")) for block in blocks)
    assert ran == len(blocks) - needy


@pytest.mark.parametrize(
    ("shown", "output", "true"),
    [
        (["a 3.1 ms b"], "a 40 us b\n", True),
        (["a 3"], "a 4\n", False),
        (["a", "...", "c"], "a\nb\nb\nc\n", True),
        (["a", "...", "c"], "a\nb\n", False),
        (["found ... (1 file)"], "found it\n    twice (1 file)\n", True),
        (["a b"], "a\n    b\n", True),
        (["..."], "", True),
    ],
)
def test_an_output_is_compared_with_what_is_shown(
    shown: list[str], output: str, true: bool
) -> None:
    assert documents.agrees(shown, output) is true


def test_a_command_that_fails_is_no_command_without_output(tmp_path: Path) -> None:
    def block(command: str) -> documents.Block:
        return documents.Block(1, "console", f"$ {command}\n", {})

    documents.console(block("asyncguard --version"), "page:1", tmp_path)
    with pytest.raises(documents.Failed, match="ends with 2"):
        documents.console(block("asyncguard report none.json"), "page:1", tmp_path)


def test_every_setting_is_documented() -> None:
    assert DOCUMENTED.keys() == _READERS.keys()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly where no host can be reached."""
    require("mkdocs")
    target = tmp_path_factory.mktemp("site")
    # Not --quiet, with which warnings do not count.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(target)]
    offline = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(command, cwd=ROOT, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_site_has_a_page_for_each_rule_and_setting(site: Path) -> None:
    from asyncguard.lint.labels import labels

    for label in labels():
        page = (site / "rules" / f"{label.code}.html").read_text(encoding="utf-8")
        assert f"{label.code} {label.name}" in page
    settings = (site / "reference" / "configuration.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in settings for name in DOCUMENTED)
    trace = (site / "reference" / "trace.html").read_text(encoding="utf-8")
    assert "step_count" in trace
    assert "cpu_stall_ns" in trace


def test_the_site_has_an_index_for_language_models_whose_links_exist(site: Path) -> None:
    index = (site / "llms.txt").read_text(encoding="utf-8")
    assert index.startswith("# asyncguard\n\n> Find, time, batch and gate")
    links = re.findall(r"\]\((\S+?)\)", index)
    names = set(links)
    assert {name for name in names if not (site / name).is_file()} == set()
    assert {"agents.md", "tutorial.md", "reference/commands.md", "rules/ASG102.md"} <= names
    titles = re.findall(r"^## (.+)$", index, re.MULTILINE)
    assert titles[-1] == "Optional"
    assert len(titles) == len(set(titles))
    entries = [line for line in index.splitlines() if line.startswith("- ")]
    assert len(entries) == len(links) - 1
    assert all(re.fullmatch(r"- \[.+\]\(\S+\)(: .+)?", entry) for entry in entries)
    agents = (site / "agents.md").read_text(encoding="utf-8")
    assert agents == (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert "[[seconds" not in (site / "why.md").read_text(encoding="utf-8")


def test_the_site_can_be_searched(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if "block_until_ready" in entry["text"]
    }
    assert {"guides/frameworks.html", "rules/ASG201.html"} <= found
    assert 'data-md-component="search"' in (site / "index.html").read_text(encoding="utf-8")


def test_the_site_fetches_nothing(site: Path) -> None:
    """Scripts, styles, fonts and pictures are files of the site."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?(https?:[^\s\">]+)", text)
        fetched += re.findall(
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect)[^>]*?(https?:[^\s\">]+)", text
        )
        assert not fetched, page
    assert "[[seconds" not in (site / "why.html").read_text(encoding="utf-8")
    for name in ("enqueue", "barriers", "timeline"):
        drawn = ElementTree.parse(site / "pictures" / f"{name}.svg")  # raises if it is no XML
        assert len(list(drawn.iter("{http://www.w3.org/2000/svg}rect"))) > 3
