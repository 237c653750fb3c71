"""axe-core on pages of the HTML format: what it finds at three widths, in light and in dark.

Its code is not part of this project. `npm pack axe-core` brings it, and ASYNCGUARD_AXE names the
file `axe.min.js` in it. By itself this writes the figures: `python -m tests.render.axe`.
"""

from __future__ import annotations

import html
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncguard import reports
from asyncguard.advise.ranks import merge
from asyncguard.advise.repairs import Patch
from asyncguard.api import Trace
from asyncguard.model import Suggestion, TraceRecord
from asyncguard.render import Screen, formats
from tests.records import record, steady
from tests.render.pages import CALLS, acting, in_browser, sites, whole

FIGURES = Path(__file__).parents[2] / "benchmarks" / "results" / "axe.json"
WIDTHS = (390, 1024, 1600)
THEMES = ("light", "dark")
SCREEN = Screen()
PATCH = "--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-total += loss.item()\n+total += loss.detach()\n"
# In the page: everything is opened, and axe's result goes to the page around it.
RUN = """
document.documentElement.dataset.theme = "THEME";
for (const each of document.querySelectorAll("details")) each.open = true;
axe.run(document, { iframes: false, resultTypes: ["violations", "incomplete"] }).then((found) => {
  const nodes = (rules) => rules.flatMap(
    (rule) => rule.nodes.map((node) => `${rule.id}: ${node.html}`));
  parent.postMessage({
    width: innerWidth, theme: "THEME", axe: found.testEngine.version, rules: found.passes.length,
    violations: nodes(found.violations), undecided: nodes(found.incomplete),
  }, "*");
});
"""
GATHER = """
const found = [];
onmessage = (event) => {
  found.push(event.data);
  document.querySelector("output").textContent = JSON.stringify(found);
};
"""


def script() -> str:
    """The code of axe-core; "" where it is not installed."""
    path = os.environ.get("ASYNCGUARD_AXE", "")
    return Path(path).read_text(encoding="utf-8") if path else ""


def audit(page: str, folder: Path) -> list[dict[str, Any]]:
    """What axe says of a page in a frame of each width, in each theme."""
    frames = []
    for width, theme in itertools.product(WIDTHS, THEMES):
        inner = acting(page, script() + RUN.replace("THEME", theme))
        frames.append(
            f'<iframe width="{width}" height="900" style="display:block;border:0" '
            f'srcdoc="{html.escape(inner)}"></iframe>'
        )
    outer = f"<!doctype html><body><script>{GATHER}</script><output></output>{''.join(frames)}"
    shown = in_browser(outer, folder, f"{max(WIDTHS)},{900 * len(frames)}", patience=120)
    told = shown.partition("<output>")[2].partition("</output>")[0]
    found: list[dict[str, Any]] = json.loads(html.unescape(told))
    assert len(found) == len(frames)
    return sorted(found, key=lambda each: (each["width"], each["theme"]))


def large() -> TraceRecord:
    """A run with all that a page shows, and many sites."""
    more = (
        steady(1, stall_ns=9_000 - at, line=at + 30, path=f"package/part{at % 7}.py",
               function=f"Model.part{at}", source=f"value{at} = x.sum().item()", callers=CALLS)
        for at in range(120)
    )  # fmt: skip
    return replace(whole(), sites=(*sites(), *more))


def _traced() -> str:
    run = large()
    advice = (
        Suggestion("Read `once`", "Call `later`.", run.sites[:1], 1.0, 250_000),
        Suggestion("Leave it", "It costs nothing.", run.sites[1:2], 0.0, 0, worth=False),
    )
    ranks = merge([replace(run, extra={"rank": at}) for at in range(4)])
    patches = {0: Patch(("add `it` up",), False, PATCH)}
    report = replace(reports.of(run), suggestions=advice, patches=patches, processes=ranks)
    return formats("traces")["html"](report, SCREEN)


def _ranks() -> str:
    ranks = merge([replace(large(), extra={"rank": at, "host": "node"}) for at in range(8)])
    return formats("ranks")["html"](replace(ranks, advised=reports.of(large())), SCREEN)


def _empty() -> str:
    return formats("traces")["html"](reports.of(record()), SCREEN)


def _notebook() -> str:
    """A notebook's page, with a cell that shows a trace."""
    shown = Trace(record=whole())._repr_html_()
    policy = '<meta http-equiv="Content-Security-Policy" content="script-src \'unsafe-eval\' ">'
    head = f'<meta charset="utf-8">{policy}<title>A notebook</title>'
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body><main><h1>A notebook</h1>'
        f"{shown}</main></body></html>"
    )


def _in_cell() -> str:
    """The report in that cell's frame."""
    shown = Trace(record=whole())._repr_html_()
    return html.unescape(shown.partition('srcdoc="')[2].partition('"')[0])


PAGES: Mapping[str, Callable[[], str]] = {
    "a large trace": _traced,
    "many ranks": _ranks,
    "an empty trace": _empty,
    "a notebook": _notebook,
    "its cell": _in_cell,
}


def main() -> int:
    version, pages = "", {}
    for name, made in PAGES.items():
        page = made()
        with tempfile.TemporaryDirectory() as folder:
            views = audit(page, Path(folder))
        for view in views:
            print(name, json.dumps(view))
            version = view.pop("axe")
            view |= {key: len(view[key]) for key in ("violations", "undecided")}
        pages[name] = {"bytes": len(page.encode()), "views": views}
    figures = {"axe-core": version, "pages": pages}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
