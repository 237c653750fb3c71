"""The pictures of the documentation, made by the project itself: `make pictures`.

    python tools/site/pictures.py     # into docs/pictures/

Bars and timelines are drawn from committed results, a terminal is a real command's output, and the
report is a screenshot of a real page by headless Chromium. Its pixels differ from machine to
machine: `report.json` says which page it is of, so that a test can tell whether it is old. Without
Chromium the screenshot stays as it is, and a note says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs and the tests load this file by its path

import drawings

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "pictures"
PROGRAM = ROOT / "examples" / "gallery" / "digits" / "before.py"
SHOWN = "train.py"  # what the program is called in pictures, in a folder of its own
COLUMNS = 88
SIZE = (1000, 860)  # of the screenshot, in pixels
# The linter's stages: what each is called, its place in asyncguard/lint, and what it hands on.
LINTER = {
    "once": (
        ("choose", "run/discover.py", "files, and the settings of each"),
        ("remember", "run/context.py", "known facts, and files to look at"),
    ),
    "each file, in one\nof several\nprocesses": (
        ("screen", "modules/screen.py", "the frameworks that a file reaches"),
        ("parse", "syntax/unit.py", "one tree, of libcst's"),
        ("interpret", "modules/analysis.py", "a summary of each function: sites, calls"),
        ("apply the rules", "checks/", "reports of sites"),
        ("tell", "report/file.py", "facts: candidates and calls, plain data"),
    ),
    "all files together": (
        ("build the call graph", "program/call_graph.py", "how often each function is entered"),
        ("link", "program/linking.py", "findings, with reasons and a probability"),
        ("advise and repair", "run/mending.py", "what to write instead, and edits"),
        ("select", "check.py", "what settings and comments leave to show"),
    ),
}
# What a trace says of where and when it ran, and of memory: the picture is of no machine.
PLACE = {
    "host": "laptop",
    "started": "2026-11-29T09:00:00+00:00",
    "peak_memory_growth_bytes": 10**8,
}
# rich's own, without the font that it would fetch: a viewer's own will do.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>TITLE</title>
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn() -> dict[str, str]:
    """Return the pictures that are text, by their names."""
    seconds = _results("chapter.json")["seconds"]
    runs = {"a wait after each": "chapter_each.json", "one wait": "chapter_one.json"}
    return {
        "enqueue.svg": drawings.bars(
            "Ten products of 1000 x 1000 matrices", seconds["benchmark_mxnet"]
        ),
        "barriers.svg": drawings.bars("Two barriers", seconds["barriers"]),
        "timeline.svg": drawings.timelines(
            "Six products on the reference engine",
            {label: _results(name) for label, name in runs.items()},
        ),
        "check.svg": terminal("check", SHOWN),
        "linter.svg": drawings.stages("From paths to findings", LINTER),
    }


def terminal(*arguments: str) -> str:
    """Return a terminal in which a command of asyncguard has been given, as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        done = _asyncguard(Path(folder), *arguments, "--color", "always")
    if done.stderr:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(file=nowhere, record=True, width=COLUMNS, force_terminal=True)
        console.print(Text(f"$ asyncguard {' '.join(arguments)}", style="bold"))
        console.print(Text.from_ansi(done.stdout.rstrip()))
        title = f"asyncguard {' '.join(arguments)}"
        frame = FRAME.replace("TITLE", title)
        return console.export_svg(title=title, code_format=frame, unique_id="terminal")


def report(folder: Path) -> str:
    """Return the HTML report of the program on the simulated device; needs torch and jinja2."""
    simulated = ["--quiet", "--sim", "cuda:h200", "--timeline", "--lines", "-o", "trace.json"]
    page = folder / "report.html"
    _asyncguard(folder, "run", *simulated, SHOWN).check_returncode()
    trace = folder / "trace.json"
    record = json.loads(trace.read_text(encoding="utf-8"))
    record["extra"] |= PLACE
    trace.write_text(json.dumps(record), encoding="utf-8")
    _asyncguard(folder, "report", trace.name, "-o", page.name).check_returncode()
    return page.read_text(encoding="utf-8")


def described(page: str) -> dict[str, str]:
    """Return what tells one report from another: its text, and torch's version."""
    digest = hashlib.sha256(page.encode()).hexdigest()
    return {"page": digest, "torch": metadata.version("torch").partition("+")[0]}


def photograph(page: Path, target: Path) -> None:
    """Write a screenshot of a page; raises CalledProcessError if Chromium fails."""
    with tempfile.TemporaryDirectory() as profile:
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--disable-quic", "--no-first-run", "--disable-background-networking"]
        command += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}"]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        command += [size, f"--screenshot={target}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=180)


def _asyncguard(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Give a command in a folder that holds the program."""
    shutil.copyfile(PROGRAM, folder / SHOWN)
    return subprocess.run(
        [sys.executable, "-m", "asyncguard", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def _results(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def _write(made: Mapping[str, str]) -> None:
    for name, text in made.items():
        (PICTURES / name).write_text(text, encoding="utf-8")


def main() -> int:
    PICTURES.mkdir(exist_ok=True)
    _write(drawn())
    with tempfile.TemporaryDirectory() as folder:
        page = report(Path(folder))
        record = PICTURES / "report.json"
        told = described(page)
        if record.is_file() and json.loads(record.read_text(encoding="utf-8")) == told:
            return 0
        if shutil.which("chromium") is None:
            print("docs/pictures/report.png stays as it is: chromium is not installed")
            return 0
        photograph(Path(folder, "report.html"), PICTURES / "report.png")
        _write({"report.json": json.dumps(told, indent=1) + "\n"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
