"""The table of what ran: writes benchmarks/truth.md and benchmarks/results/truth.json."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.truth.joined import BELOW

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "truth.md"
BY_HAND = ("labels.md", "causes.md", "audit.md")  # what was read, after what was counted
RESULTS = HERE.parent / "results" / "truth.json"
LABELS = RESULTS.parent / "truth_labels.json"
HEAD = (
    "| package | half | cases | stopped | lines | waiting | again | found | false | host | missed"
    " | precision | recall |\n" + "| --- " * 2 + "| ---: " * 11 + "|"
)
RULES = "| rule | half | found | false | host | precision |\n| --- | --- " + "| ---: " * 4 + "|"
BELOW_HEAD = "| api | packages | places of the dev half |\n| --- | ---: | --- |"
OUTCOMES = "| package | case | outcome | reason |\n" + "| --- " * 4 + "|"
SUMS = (
    "cases",
    "executed_lines",
    "waiting_lines",
    "waiting_lines_repeated",
    "missed",
    "missed_repeated",
)
STOPPED = ("stopped", "killed", "late", "differs")
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
        sum(outcomes.get(name, 0) for name in STOPPED),
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


def records(folder: Path) -> list[dict[str, Any]]:
    """All records, by the names of the packages."""
    paths = sorted(folder.glob("*.gz"))
    return [json.loads(gzip.decompress(path.read_bytes())) for path in paths]


def write(folder: Path) -> None:
    """Write the page and the figures."""
    kept = records(folder)
    halves = {half: total(r for r in kept if r["half"] == half) for half in ("dev", "test")}
    whole = total(kept)
    stopped = sum(whole["outcomes"].get(name, 0) for name in STOPPED)
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
        "packages": {r["package"]: {"half": r["half"], **r["totals"]} for r in kept},
    }
    RESULTS.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    rows = [row(record) for record in kept]
    rows += [_row(f"**all of {half}**", half, totals) for half, totals in halves.items()]
    begin, mark, _ = PAGE.read_text(encoding="utf-8").partition("<!-- the table -->\n")
    parts = [
        (HERE / name).read_text(encoding="utf-8").strip()
        for name in BY_HAND
        if (HERE / name).exists()
    ]
    text = "\n".join((begin.rstrip() + "\n", mark.rstrip(), HEAD, *rows))
    sections = [text, _by_rule(kept), _stopped(kept), _below(kept), _labels(), *parts]
    PAGE.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def _by_rule(records: list[dict[str, Any]]) -> str:
    """The verdicts on the findings of each rule."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for record in records:
        for code, verdicts in record["totals"]["by_rule"].items():
            counts.setdefault((code, record["half"]), Counter()).update(verdicts)
    rows = []
    for (code, half), verdicts in sorted(counts.items()):
        found = verdicts["confirmed"] + verdicts["repeated"]
        ran = found + verdicts["false"] + verdicts["host"]
        share = _share(found / ran if ran else None)
        figures = f"{found} | {verdicts['false']} | {verdicts['host']} | {share}"
        rows.append(f"| {code} | {half} | {figures} |")
    return "\n".join(("## By rule\n", RULES, *rows))


def _stopped(records: list[dict[str, Any]]) -> str:
    """The cases that run on the CPU and not, or otherwise, on the device."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for record in records:
        for name, outcome, reason in record["cases"]:
            if outcome in STOPPED:
                alike.setdefault((record["package"], outcome, reason), []).append(name)
    rows = []
    for (package, outcome, reason), names in alike.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        told = reason.replace("|", "/")
        rows.append(f"| {package} | {', '.join(names[:3])}{more} | {outcome} | {told} |")
    return "\n".join(("## What stopped\n", OUTCOMES, *rows))


def _below(records: list[dict[str, Any]]) -> str:
    """The waits of which no hook tells: what the light trace misses on a device."""
    packages: dict[str, set[str]] = {}
    places: dict[str, list[str]] = {}
    for record in records:
        for path, file in record["files"].items():
            for line, *_, api, _, _, _, _ in file.get("waits", ()):
                if api.startswith(BELOW):
                    packages.setdefault(api, set()).add(record["package"])
                    if record["half"] == "dev":
                        places.setdefault(api, []).append(f"{path}:{line}")
    rows = []
    for api, names in sorted(packages.items()):
        shown = sorted(set(places.get(api, ())))
        more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
        rows.append(f"| {api.removeprefix(BELOW)} | {len(names)} | {', '.join(shown[:5])}{more} |")
    about = (
        "Waits that C++ code begins inside a call that is no wait by itself. A trace at full depth"
        "\nsees them; the light one, which hooks what Python calls, does not.\n"
    )
    return "\n".join(("## What the light trace misses\n", about, BELOW_HEAD, *rows))


def _labels() -> str:
    """Where labels and runs agree, and each line where they do not."""
    if not LABELS.exists():
        return ""
    found = json.loads(LABELS.read_text(encoding="utf-8"))
    agreed = found["agreed"]
    rows = [
        f"| {path}:{line} | {label or 'nothing'} | {ran or 'no wait'} |"
        for _, path, line, label, ran in found["disagreements"]
    ]
    about = (
        f"{found['files']} labelled files ran. Of their labelled lines that ran both say of"
        f" {agreed.get('waits', 0)} that they wait\nand of {agreed.get('does not wait', 0)} that"
        f" they do not; of {len(rows)} they say different things:\n"
    )
    head = "| line | label | run |\n" + "| --- " * 3 + "|"
    return "\n".join(("## Beside the labels that people read\n", about, head, *rows))
