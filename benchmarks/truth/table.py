"""The table of what ran: writes benchmarks/truth.md and benchmarks/results/truth.json."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "truth.md"
RESULTS = HERE.parent / "results" / "truth.json"
HEAD = (
    "| package | half | cases | stopped | lines | waiting | again | found | false | host | missed"
    " | precision | recall |\n" + "| --- " * 2 + "| ---: " * 11 + "|"
)
SUMS = (
    "cases",
    "executed_lines",
    "waiting_lines",
    "waiting_lines_repeated",
    "missed",
    "missed_repeated",
)
RAN = ("same", "alone", "random", "branches", "differs", "stopped", "killed", "late")


def row(record: dict[str, Any]) -> str:
    """One package's line of the table."""
    return _row(record["package"], record["half"], record["totals"])


def _row(name: str, half: str, totals: dict[str, Any]) -> str:
    verdicts, outcomes = totals["findings"], totals["outcomes"]
    found = verdicts.get("confirmed", 0) + verdicts.get("repeated", 0)
    cells = (
        name,
        half,
        sum(outcomes.get(name, 0) for name in RAN),
        sum(outcomes.get(name, 0) for name in ("stopped", "killed", "late", "differs")),
        totals["executed_lines"],
        totals["waiting_lines"],
        totals["waiting_lines_repeated"],
        found,
        verdicts.get("false", 0),
        verdicts.get("host", 0),
        totals["missed"],
        _share(precision(totals)),
        _share(recall(totals)),
    )
    return "| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def precision(totals: dict[str, Any]) -> float | None:
    """Of the findings in lines that ran, the share that waited."""
    verdicts = totals["findings"]
    true = verdicts.get("confirmed", 0) + verdicts.get("repeated", 0)
    ran = true + verdicts.get("false", 0) + verdicts.get("host", 0)
    return true / ran if ran else None


def recall(totals: dict[str, Any]) -> float | None:
    """Of the expressions that waited again and again, the share that a finding tells of."""
    found = totals["findings"].get("repeated", 0)
    of = found + totals["missed_repeated"]
    return found / of if of else None


def total(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sums over packages."""
    outcomes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    packages = 0
    for each in records:
        packages += 1
        totals = each["totals"]
        outcomes.update(totals["outcomes"])
        verdicts.update(totals["findings"])
        sums.update({name: totals[name] for name in SUMS})
    found = {"packages": packages, **{name: sums[name] for name in SUMS}}
    return {
        **found,
        "outcomes": dict(sorted(outcomes.items())),
        "findings": dict(sorted(verdicts.items())),
    }


def write(folder: Path) -> None:
    """Write the page and the figures."""
    records = [
        json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.gz"))
    ]
    halves = {half: total(r for r in records if r["half"] == half) for half in ("dev", "test")}
    whole = total(records)
    stopped = sum(whole["outcomes"].get(name, 0) for name in ("stopped", "killed", "differs"))
    figures = {
        "totals": {
            "packages": whole["packages"],
            "cases": sum(whole["outcomes"].get(name, 0) for name in RAN),
            "executed_lines": whole["executed_lines"],
            "waiting_lines": whole["waiting_lines"],
            "stopped": stopped,
        },
        **{
            f"{half}_half": {**totals, "precision": precision(totals), "recall": recall(totals)}
            for half, totals in halves.items()
        },
        "packages": {r["package"]: {"half": r["half"], **r["totals"]} for r in records},
    }
    RESULTS.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    rows = [row(record) for record in records]
    rows += [_row(f"**all of {half}**", half, totals) for half, totals in halves.items()]
    begin, mark, _ = PAGE.read_text(encoding="utf-8").partition("<!-- the table -->\n")
    text = "\n".join((begin.rstrip() + "\n", mark.rstrip(), HEAD, *rows))
    PAGE.write_text(text + "\n", encoding="utf-8")
