"""Pages of the HTML format as tests read them: parsed strictly, and in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from asyncguard.model import SiteStats, SyncKind, TimelineEvent, TraceRecord
from tests.records import record, site, steady

BROWSER = pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
VOID = {"meta", "link", "br", "img", "input", "hr", "col"}


class Parsed(HTMLParser):
    """A page: its tags with their attributes in order, its headings, and its text.

    Raises AssertionError where tags are not balanced.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.declared: list[str] = []
        self.headings: list[int] = []
        self.text = ""
        self.open: list[str] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_decl(self, decl: str) -> None:
        self.declared.append(decl)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]].append(data)
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each of these tags."""
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def policy(self) -> str:
        """Its Content Security Policy."""
        (found,) = [m["content"] for m in self.all("meta") if "http-equiv" in m]
        return found


def digest(text: str) -> str:
    """What a Content Security Policy calls an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def acting(page: str, script: str) -> str:
    """The page with a script that does what a reader would, and that its policy lets run."""
    allowed = page.replace("script-src ", f"script-src {digest(script)} ")
    return allowed.replace("</body>", f"<script>{script}</script></body>")


def framed(page: str, script: str, width: int) -> str:
    """A document with the page in a frame of some width; `frame` is its window in the script."""
    return (
        f'<!doctype html><body><iframe width="{width}" height="900" srcdoc="{escape(page)}">'
        "</iframe><output></output><script>const tell = (text) => "
        'document.querySelector("output").textContent = text; const element = '
        'document.querySelector("iframe"); element.onload = () => { const frame = '
        f"element.contentWindow; {script} }};</script></body>"
    )


def in_browser(page: str, folder: Path, size: str = "", patience: int = 0) -> str:
    """The page as a browser has it once its scripts have run, and what they wait for.

    size: "WIDTH,HEIGHT" of the window; patience: the seconds on the page's own clock at most.
    """
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    chromium = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    done = subprocess.run(
        [*chromium, *quiet, "--disable-sync", f"--user-data-dir={folder / 'profile'}",
         *([f"--window-size={size}"] if size else []),
         *([f"--virtual-time-budget={patience}000"] if patience else []),
         "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


EVENTS = (
    TimelineEvent("step", "step 0", 0, 1000),
    TimelineEvent("step", "step 1", 1000, 2000),
    TimelineEvent("enqueue", "dot", 1010, 1020, thread="main"),
    TimelineEvent("wait", "torch.Tensor.item", 1100, 1600, thread="main", site=0),
    TimelineEvent("run", "dot", 1050, 1550, thread="worker 0"),
    TimelineEvent("idle", "idle", 1550, 1700, thread="worker 0", cause=2),
)
CALLS = ("train.py:5 fit", "train.py:9 <module>")


def sites() -> tuple[SiteStats, ...]:
    """A site of every step, a slow one before them, and one elsewhere."""
    return (
        steady(2, stall_ns=100_000, line=3, path="t.py", source="loss.item()", callers=CALLS),
        site(line=9, path="u.py", cpu_stall_ns=5, source="a < b", kind=SyncKind.TRUTH, count=4,
             function="other"),
        steady(1, stall_ns=300_000, line=20, path="t.py", source="x.cpu()", callers=CALLS,
               kind=SyncKind.ARRAY, api="torch.Tensor.cpu"),
    )  # fmt: skip


def whole() -> TraceRecord:
    """A run with everything that a page shows."""
    return record(
        *sites(),
        step_count=11,
        steady_steps=10,
        steady_duration_ns=10**7,
        step_syncs=(3, 4) * 5,
        timeline=EVENTS,
        command="train.py",
        device="NVIDIA H200 (simulated)",
        basis="modelled",
        frameworks={"torch": "2.13.0"},
        notes=("A note.",),
        faults=("torch was not hooked.",),
        sources={"t.py": {2: "before", 3: "loss.item()", 4: "after"}},
        extra={
            "started": "2026-11-28T05:40:12.123456+00:00",
            "graph_breaks": [{
                "path": "model.py", "line": 7, "function": "forward", "source": "print(x)",
                "reason": "print", "effect": "split", "count": 2, "before": 0,
                "explanation": "", "url": "",
            }],
            "units": [{"name": "token", "count": 4, "waits": 9, "steady_count": 3,
                       "steady_waits": 6, "most": 3}],
            "races": [{"code": "ASG404", "use": "read", "copy": "to"}],
        },
    )  # fmt: skip
