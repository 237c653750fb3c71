"""What ran, joined with what the linter says: each finding and each wait gets its verdict."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.truth.environments import ENVIRONMENT

WAITS = ("ASG1", "ASG2")  # rules that say that a line waits, which a run can tell
COLD = 2  # times in a case (or steps, where it has some) from which a wait is no one-time one
BELOW = "below "  # before the api of a wait that only a dispatch mode sees, of a trace's full depth
Key = tuple[str, int, int, int, int, bool, str, str]


class Range(NamedTuple):
    """Where something stands; from column 0 to 0 where Python does not tell columns."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, other: Range) -> bool:
        """Whether the other lies within it."""
        begin, end = (self.line, self.column), (self.end_line, self.end_column)
        return begin <= (other.line, other.column) and (other.end_line, other.end_column) <= end

    def meets(self, other: Range) -> bool:
        """Whether the two have something in common."""
        if not (self.column and other.column):
            return self.line <= other.end_line and other.line <= self.end_line
        begin, end = (self.line, self.column), (self.end_line, self.end_column)
        return begin < (other.end_line, other.end_column) and (other.line, other.column) < end


def findings(
    python: Path, folders: Iterable[Path], kept: Path, exclude: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Every finding of every rule in the package, with its path from the folder's parent.

    They are kept in a file until the package is run afresh. `exclude`: patterns of files that are
    not checked.
    """
    if kept.exists():
        known: list[dict[str, Any]] = json.loads(kept.read_text())
        return known
    found = []
    for folder in folders:
        command = (
            python,
            "-m",
            "asyncguard",
            "check",
            "--no-cache",
            "--exit-zero",
            "--select",
            "ALL",
            *(f"--extend-exclude={pattern}" for pattern in exclude),
        )
        done = subprocess.run(
            [*command, "--output-format", "json", folder.name],
            cwd=folder.parent,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        )
        found += json.loads(done.stdout)
    kept.write_text(json.dumps(found))
    return found


def lines_of(found: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """The lines of findings that a run can judge, by file."""
    lines: dict[str, set[int]] = {}
    for finding in filter(_tells_waits, found):
        at = _range(finding)
        lines.setdefault(finding["path"], set()).update(range(at.line, at.end_line + 1))
    return {path: sorted(each) for path, each in lines.items()}


class _Waited(NamedTuple):
    """All of one api's waits at one expression."""

    path: str
    at: Range
    direct: bool
    api: str
    kind: str
    count: int
    cases: int
    repeated: int  # of the cases, those in which it waited in two steps or more


def record(rows: list[dict[str, Any]], found: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of a package: its cases, and file by file what ran, waited and was found."""
    lines: dict[str, Counter[int]] = {}
    counts: Counter[Key] = Counter()
    cases: Counter[Key] = Counter()
    repeated: Counter[Key] = Counter()
    host: Counter[tuple[str, Range]] = Counter()
    ran_there: dict[str, set[Range]] = {}
    for row in rows:
        if not row.get("enqueued"):  # nothing of it was on the device
            continue
        for path, ran in row["lines"].items():
            lines.setdefault(path, Counter()).update(dict(map(tuple, ran)))
        for path, expressions in row["expressions"].items():
            ran_there.setdefault(path, set()).update(Range(*at) for at in expressions)
        for *key, count, steps in row["waits"]:
            at: Key = tuple(key)
            counts[at] += count
            cases[at] += 1
            repeated[at] += (steps if row["steps"] else count) >= COLD
        for path, line, column, end_line, end_column, *_, count, _steps in row["host"]:
            host[path, Range(line, column, end_line, end_column)] += count
    waits = [
        _Waited(path, Range(*at), direct, api, kind, count, cases[key], repeated[key])
        for key, count in sorted(counts.items())
        for path, *at, direct, api, kind in [key]
    ]
    files = {
        path: {
            "lines": _packed(ran),
            "waits": [list(_flat(wait)) for wait in waits if wait.path == path],
        }
        for path, ran in sorted(lines.items())
    }
    judged = list(_judged(found, ran_there, waits, host))
    for path, *finding in judged:
        files.setdefault(path, {}).setdefault("findings", []).append(finding)
    missed = list(_missed(found, waits))
    return {
        "cases": [[row["case"], row["outcome"], row["reason"]] for row in rows],
        "files": files,
        "missed": [[wait.path, *_flat(wait)] for wait in missed],
        "totals": _totals(rows, lines, waits, judged, missed),
    }


def again(
    record: dict[str, Any], found: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield today's findings with their verdicts, by the record of a run that others were asked of.

    As `_judged` says; but of a line that no finding stood on when it ran, only this is known: it
    ran, so that what did not wait there is "false".
    """
    of_file: dict[str, tuple[set[int], list[tuple[Range, bool]], dict[Range, str]]] = {}
    for path, file in record["files"].items():
        waits = [(Range(*wait[:4]), bool(wait[-1])) for wait in file.get("waits", ())]
        known = {Range(*told[1:5]): told[-1] for told in file.get("findings", ())}
        of_file[path] = set(_unpacked(file.get("lines", ()))), waits, known
    for finding in filter(_tells_waits, found):
        ran, waits, known = of_file.get(finding["path"], (set(), [], {}))
        at = _range(finding)
        here = [repeated for where, repeated in waits if where.meets(at)]
        if here:
            yield finding, "repeated" if any(here) else "confirmed"
        elif known.get(at) in ("false", "host", "unseen"):
            yield finding, known[at]
        elif ran.intersection(range(at.line, at.end_line + 1)):
            yield finding, "false"
        else:
            yield finding, "unseen"


def _unpacked(packed: Sequence[int]) -> Iterator[int]:
    """The lines of `_packed`."""
    yield from accumulate(packed[::2])


def _flat(wait: _Waited) -> Iterator[Any]:
    yield from wait.at
    yield from wait[2:]


def _packed(ran: Counter[int]) -> list[int]:
    """Lines and counts, one after the other; each line as the distance from the one before."""
    packed, last = [], 0
    for line, count in sorted(ran.items()):
        packed += [line - last, count]
        last = line
    return packed


def _range(finding: dict[str, Any]) -> Range:
    return Range(*(finding[name] for name in Range._fields))


def _tells_waits(finding: dict[str, Any]) -> bool:
    return str(finding["code"]).startswith(WAITS)


def _judged(
    found: list[dict[str, Any]],
    ran: dict[str, set[Range]],
    waits: list[_Waited],
    host: Counter[tuple[str, Range]],
) -> Iterator[list[Any]]:
    """Each finding with its verdict.

    "confirmed": it waited there; "repeated": in two steps of a case, or more; "false": its
    expression ran, and did not wait; "host": it ran, and read values of the host; "unseen": it
    never ran.
    """
    for finding in filter(_tells_waits, found):
        path, at = finding["path"], _range(finding)
        here = [wait for wait in waits if wait.path == path and wait.at.meets(at)]
        if any(wait.repeated for wait in here):
            verdict = "repeated"
        elif here:
            verdict = "confirmed"
        elif not any(at.holds(expression) for expression in ran.get(path, ())):
            verdict = "unseen"
        elif any(of == path and where.meets(at) for of, where in host):
            verdict = "host"
        else:
            verdict = "false"
        yield [path, finding["code"], *at, finding["confidence"], verdict]


def _missed(found: list[dict[str, Any]], waits: list[_Waited]) -> Iterator[_Waited]:
    """Waits in the package's own expressions of which no finding tells."""
    told: dict[str, list[Range]] = {}
    for finding in filter(_tells_waits, found):
        told.setdefault(finding["path"], []).append(_range(finding))
    for wait in waits:
        if wait.direct and not any(wait.at.meets(at) for at in told.get(wait.path, ())):
            yield wait


def _totals(
    rows: list[dict[str, Any]],
    lines: dict[str, Counter[int]],
    waits: list[_Waited],
    judged: list[list[Any]],
    missed: list[_Waited],
) -> dict[str, Any]:
    verdicts = Counter(finding[-1] for finding in judged)
    by_rule: dict[str, Counter[str]] = {}
    for _, code, *_, verdict in judged:
        by_rule.setdefault(code, Counter())[verdict] += 1
    return {
        "cases": len(rows),
        "outcomes": dict(sorted(Counter(row["outcome"] for row in rows).items())),
        "executed_lines": sum(map(len, lines.values())),
        "waiting_lines": len({(wait.path, wait.at.line) for wait in waits}),
        "waiting_lines_repeated": len({(w.path, w.at.line) for w in waits if w.repeated}),
        "waits": sum(wait.count for wait in waits),
        "findings": dict(sorted(verdicts.items())),
        "by_rule": {code: dict(sorted(each.items())) for code, each in sorted(by_rule.items())},
        "missed": len({(wait.path, wait.at) for wait in missed}),
        "missed_repeated": len({(wait.path, wait.at) for wait in missed if wait.repeated}),
        "found_repeated": verdicts["repeated"],
        "elsewhere": sum(sum(row.get("elsewhere", {}).values()) for row in rows),
        "faults": sorted({fault for row in rows for fault in row.get("faults", ())}),
    }
