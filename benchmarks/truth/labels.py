"""Labels that people read, held against what ran, line by line, where both have the same source.

A label file of `benchmarks/accuracy/labels` says of a source file (by its SHA-256) which lines wait
and which ones look as if they did and do not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from benchmarks.truth.joined import WAITS

LABELS = Path(__file__).resolve().parents[1] / "accuracy" / "labels"


class Disagreement(NamedTuple):
    """A line of which a label and a run say different things."""

    package: str
    path: str
    line: int
    label: str  # "waits", "does not wait", or "" where a complete file has none
    ran: str  # the apis that waited there; "" where it ran and none did


class Compared(NamedTuple):
    """What came of holding labels against runs."""

    files: int
    agreed: Counter[str]  # "waits", "does not wait" -> lines
    disagreements: list[Disagreement]


def by_source() -> dict[str, dict[str, Any]]:
    """The label files by the SHA-256 of their sources."""
    found = (tomli.loads(path.read_text(encoding="utf-8")) for path in LABELS.glob("*/*.toml"))
    return {labels["sha256"]: labels for labels in found}


def compared(records: list[dict[str, Any]], folders: dict[str, list[Path]]) -> Compared:
    """Hold all labels against all records; `folders`: where each package's modules lie."""
    known, result = by_source(), Compared(0, Counter(), [])
    files = 0
    for record in records:
        for path, ran in record["files"].items():
            source = _source(folders[record["package"]], path)
            labels = known.get(hashlib.sha256(source).hexdigest()) if source else None
            if labels is None or "lines" not in ran:
                continue
            files += 1
            for verdict in _lines(labels, ran):
                if isinstance(verdict, str):
                    result.agreed[verdict] += 1
                else:
                    result.disagreements.append(Disagreement(record["package"], path, *verdict))
    return result._replace(files=files)


def _source(folders: list[Path], path: str) -> bytes | None:
    top, _, rest = path.partition("/")
    for folder in folders:
        if folder.name == top and (folder / rest).is_file():
            return (folder / rest).read_bytes()
    return None


def _lines(labels: dict[str, Any], ran: dict[str, Any]) -> Iterator[str | tuple[int, str, str]]:
    """Of each labelled line that ran: what both say, or what each does."""
    executed = set(unpacked(ran["lines"]))
    waits: dict[int, set[str]] = {}
    for line, _, end, _, direct, api, *_ in ran["waits"]:
        for each in range(line, end + 1):
            if direct:
                waits.setdefault(each, set()).add(api)
    told = set()
    for site in labels.get("site", ()):
        lines = [site["line"], *site.get("also", ())]
        told.update(lines)
        if not site["code"].startswith(WAITS) or site.get("optional"):
            continue
        if site["line"] in executed:
            waited = any(line in waits for line in lines)
            yield "waits" if waited else (site["line"], "waits", "")
    for negative in labels.get("negative", ()):
        line = negative["line"]
        if line in executed and line not in told:
            apis = waits.get(line, set())
            told.add(line)
            shown = ", ".join(sorted(apis))
            yield (line, "does not wait", shown) if apis else "does not wait"
    if labels.get("complete"):
        for line in sorted(executed.intersection(waits) - told):
            yield line, "", ", ".join(sorted(waits[line]))


def unpacked(packed: list[int]) -> Iterator[int]:
    """The numbers of lines that a record keeps as distances and counts."""
    line = 0
    for step in packed[::2]:
        line += step
        yield line
