"""The HTML page in a real browser: its scripts run under its policy, and it fits any screen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard import reports
from asyncguard.advise.repairs import Patch
from asyncguard.model import Suggestion
from asyncguard.render import Screen, formats
from tests.render.pages import BROWSER, acting, framed, in_browser, sites, whole

pytest.importorskip("jinja2", reason="jinja2 is not installed")

pytestmark = BROWSER
HELPERS = """
const find = (selector) => document.querySelector(selector);
const type = (selector, value) => {
  find(selector).value = value;
  for (const kind of ["input", "change"]) find(selector).dispatchEvent(new Event(kind));
};
const press = (key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
"""


def page() -> str:
    patches = {0: Patch(("do",), True, f"+{'long ' * 90}\n")}
    first = Suggestion("Read once", "advice", sites()[:1], 1.0, 250_000)
    report = replace(reports.of(whole()), suggestions=(first,), patches=patches)
    return formats("traces")["html"](report, Screen())


def after(script: str, folder: Path) -> str:
    return in_browser(acting(page(), HELPERS + script), folder)


def places(shown: str) -> list[str]:
    return re.findall(r"<b>(\w\.py:\d+)</b>", shown)


def test_the_scripts_run_under_the_policy(tmp_path: Path) -> None:
    shown = in_browser(page(), tmp_path)
    assert "<output>3 of 3 sites</output>" in shown
    assert re.search(r'data-controls=""( class="controls")?[^>]*>', shown)
    assert '<div class="flame drawn"' in shown


def test_a_script_that_the_policy_does_not_name_does_not_run(tmp_path: Path) -> None:
    bad = page().replace("</body>", '<script>document.title = "owned"</script></body>')
    assert "<title>owned" not in in_browser(bad, tmp_path)


def test_heads_sort_and_say_how(tmp_path: Path) -> None:
    shown = after("document.querySelectorAll('[data-sites] thead button')[0].click();", tmp_path)
    assert places(shown) == ["t.py:3", "t.py:20", "u.py:9"]
    assert re.findall(r'aria-sort="(\w+)"', shown) == ["ascending"]
    twice = "for (const _ of [1, 2]) document.querySelectorAll('thead button')[2].click();"
    shown = after(twice, tmp_path)
    assert places(shown) == ["u.py:9", "t.py:20", "t.py:3"]
    assert re.findall(r'<th scope="col"( aria-sort="ascending")?', shown)[2]


def test_the_filter_hides_rows_and_tells_how_many_are_left(tmp_path: Path) -> None:
    shown = after("type('[data-controls] input', 'FIT  x.cpu');", tmp_path)
    hidden = re.findall(r'<tbody data-kind="\w+"( hidden="")?>', shown)
    assert hidden == ["", ' hidden=""', ' hidden=""']
    assert "<output>1 of 3 sites</output>" in shown
    one = formats("traces")["html"](reports.of(replace(whole(), sites=sites()[:1])), Screen())
    assert "<output>1 of 1 site</output>" in in_browser(one, tmp_path)
    shown = after("type('[data-controls] select', 'truth');", tmp_path)
    assert "<output>1 of 3 sites</output>" in shown


def test_the_theme_is_chosen_and_remembered(tmp_path: Path) -> None:
    shown = after("type('[data-theme-choice] select', 'dark');", tmp_path)
    assert 'data-theme="dark"' in shown
    again = "find('h1').textContent = getComputedStyle(document.body).backgroundColor;"
    assert "rgb(16, 20, 24)" in after(again, tmp_path)


def test_without_storage_the_page_works_all_the_same(tmp_path: Path) -> None:
    """As in a notebook, where the page is in a frame without an origin."""
    script = "parent.postMessage(document.querySelector('output').textContent, '*');"
    inner = acting(page(), script)
    outer = framed(inner, "", 700).replace("<iframe", '<iframe sandbox="allow-scripts"')
    listen = "<script>onmessage = (event) => document.title = event.data;</script>"
    shown = in_browser(outer.replace("<body>", f"<body>{listen}"), tmp_path, patience=5)
    assert "<title>3 of 3 sites</title>" in shown


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_nothing_overflows(width: int, tmp_path: Path) -> None:
    script = """
    for (const each of frame.document.querySelectorAll("details")) each.open = true;
    const { scrollWidth, clientWidth } = frame.document.documentElement;
    tell(`${scrollWidth} ${clientWidth}`);
    """
    long = replace(sites()[0], path="long_folder/" * 20 + "t.py", source="x = " * 200 + "1")
    run = replace(whole(), sites=(long, *sites()[1:]), command="train.py" * 40)
    report = replace(reports.of(run), patches={0: Patch(("do",), True, f"+{'long ' * 90}\n")})
    shown = in_browser(framed(formats("traces")["html"](report, Screen()), script, width), tmp_path)
    found = re.search(r"<output>(\d+) (\d+)</output>", shown)
    assert found
    assert found[1] == found[2]
    assert width - 20 <= int(found[2]) <= width  # but for a scroll bar


def test_the_flame_graph_is_one_stop_and_arrow_keys_move_in_it(tmp_path: Path) -> None:
    script = """
    const names = [];
    const note = () => names.push(document.activeElement.textContent);
    find("[data-flame] [tabindex='0']").focus(); note();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "Home"]) {
      press(key); note();
    }
    press("ArrowDown"); press("ArrowDown"); press("ArrowDown");
    document.activeElement.click();
    find("h1").textContent = names.join(" > ");
    """
    shown = after(script, tmp_path)
    walk = ("train.py", "&lt;module&gt;", "fit", "train", "train", "fit", "train.py")
    assert f"<h1>{' &gt; '.join(walk)}</h1>" in shown
    flame = shown[shown.index('<div class="flame') :]
    flame = flame[: flame.index("</div>")]
    assert flame.count('tabindex="0"') == 1
    assert "left: 0%; width: 100%" in flame.rpartition("train.py")[2] or 'hidden=""' in flame
    assert 'role="status"' in shown


def test_the_order_of_focus_is_that_of_the_page(tmp_path: Path) -> None:
    script = """
    const stops = [...document.querySelectorAll("a, button, input, select, summary, [tabindex]")]
      .filter((each) => each.tabIndex >= 0 && each.checkVisibility());
    const section = (each) => each.closest("section, header").querySelector("h1, h2").textContent;
    find("h1").textContent += " | " + [...new Set(stops.map(section))].join(" > ");
    """
    shown = re.search("<h1>(.+)</h1>", after(script, tmp_path))
    assert shown
    assert shown[1].partition(" | ")[2] == (
        "train.py &gt; Summary &gt; What to do first &gt; Where Python waits &gt; Who asked &gt; "
        "Step by step"
    )
