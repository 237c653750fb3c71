#!/usr/bin/env python3
"""First contact: what a default check is worth on repositories that nobody here has seen.

    python benchmarks/first_contact.py order [--from N]       # the pool, as the seed shuffles it
    python benchmarks/first_contact.py sheet DIR... --out DIR # what to judge, a sheet a repository
    python benchmarks/first_contact.py score N SHEET... --key KEY... [--keep]
    python benchmarks/first_contact.py table                  # the rounds so far

A round takes the next five repositories of the order, skipping those that cannot be had. `sheet`
checks each whole at default settings and draws two samples: of the findings, and of all lines that
could wait in a few files. It writes them mixed and unmarked, REPOSITORY.sheet.tsv for the judge
and REPOSITORY.key.json for `score`, so that a judge cannot see what the linter said. A line of a
sheet is PATH, LINE, its text, and a verdict to fill in:

    step   waits for the device in every step, for what no line before it has waited
    again  reads what another line has waited for in the same step
    cold   waits, but not in every step: once an epoch, a request, a checkpoint, or to log
    none   does not wait
    ?      cannot be told by reading; counts for nothing

A step is what benchmarks/accuracy/README.md says: one optimizer update, one batch of a training,
evaluation or inference loop, one token, one step of an environment. A branch of an option is cold
that is off by default, if no script or configuration of the repository turns it on; so is what no
program of the repository reaches.

A round is judged and its row is kept before anything is mended that it shows.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import tomli

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Confidence, Finding, Loop

HERE = Path(__file__).parent
POOLS = [HERE / "first_contact" / name for name in ("pool.txt", "pool_2.txt")]
RESULTS = HERE / "results" / "first_contact.json"
LABELS, PACKAGES = HERE / "accuracy" / "labels", HERE / "truth" / "packages.toml"
SEED = 20261129
FINDINGS, LINES, FILES = 15, 60, 12  # of a repository, at most
OFF_STEP = (
    "test",
    "tests",
    "testing",
    "benchmark",
    "benchmarks",
    "tools",
    "scripts",
    "docs",
    "doc",
)
WAITS = ("ASG1", "ASG2", "ASG5")  # starts of the codes of rules that say that something waits
VERDICTS = ("step", "again", "cold", "none", "?")
# Calls that read, copy or test: wide enough to hold what no linter here knows.
READS = frozenset(
    [
        "item",
        "cpu",
        "tolist",
        "numpy",
        "asnumpy",
        "asscalar",
        "get",
        "device_get",
        "block_until_ready",
        "synchronize",
        "wait",
        "waitall",
        "wait_to_read",
        "nonzero",
        "argwhere",
        "unique",
        "unique_consecutive",
        "masked_select",
        "bincount",
        "histc",
        "one_hot",
        "repeat_interleave",
        "equal",
        "allclose",
        "is_nonzero",
        "multinomial",
        "cuda",
        "barrier",
        "from_numpy",
        "as_tensor",
        "tensor",
        "array",
        "asarray",
        "to_local",
        "FloatTensor",
        "LongTensor",
        "copy_",
        "where",
        "all_gather_object",
    ]
)
CASTS = frozenset(
    [
        "float",
        "int",
        "bool",
        "print",
        "str",
        "round",
        "max",
        "min",
        "sum",
        "any",
        "all",
        "range",
        "format",
    ]
)


def order() -> list[str]:
    """Return the repositories in the order of the rounds, a pool after the other."""
    seen, names = known(), []
    for path in POOLS:
        lines = path.read_text(encoding="utf-8").splitlines()
        pool = [line for line in lines if line and not line.startswith("#")]
        random.Random(SEED).shuffle(pool)
        names += [name for name in pool if _plain(name.rpartition("/")[2]) not in seen]
    return names


def known() -> set[str]:
    """Return the names of the packages that the linter was measured on before."""
    labelled = (path.name.partition("__")[0] for path in LABELS.rglob("*.toml"))
    names = {name.rpartition("-")[0] for name in labelled}
    names |= tomli.loads(PACKAGES.read_text(encoding="utf-8")).keys() | {"models"}  # TensorFlow's
    return set(map(_plain, names))


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


class Candidates(ast.NodeVisitor):
    """Lines that could wait: `sure` by the name of a call, others convert or test something."""

    def __init__(self) -> None:
        self.sure: set[int] = set()
        self.other: set[int] = set()

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in READS:
            self.sure.add(node.lineno)
        elif name in CASTS and any(not isinstance(a, ast.Constant) for a in node.args):
            self.other.add(node.lineno)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Compare | ast.UnaryOp) or (
            isinstance(node.slice, ast.Name) and "mask" in node.slice.id
        ):
            self.other.add(node.lineno)
        self.generic_visit(node)

    def _test(self, node: ast.If | ast.While | ast.IfExp | ast.Assert) -> None:
        if any(isinstance(n, ast.Compare | ast.Call) for n in ast.walk(node.test)):
            plain = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            compared = [
                op for n in ast.walk(node.test) if isinstance(n, ast.Compare) for op in n.ops
            ]
            if not compared or not all(isinstance(op, plain) for op in compared):
                self.other.add(node.test.lineno)
        self.generic_visit(node)

    visit_If = visit_While = visit_IfExp = visit_Assert = _test  # noqa: N815 - likewise


def candidates(path: Path) -> Candidates:
    """Return the lines of a file that could wait, none for a file that does not parse."""
    found = Candidates()
    with suppress(SyntaxError, RecursionError):
        found.visit(ast.parse(path.read_text(encoding="utf-8", errors="replace")))
    return found


def files_of_steps(root: Path) -> Iterator[Path]:
    """Yield the files of a repository that name a framework and are neither tests nor tools."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if any(part.lower() in OFF_STEP or part.startswith((".", "test_")) for part in parts):
            continue
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        if any(f"import {name}" in text or f"from {name}" in text for name in FRAMEWORKS):
            yield path


FRAMEWORKS = ("torch", "mxnet", "jax", "tensorflow", "cupy", "chainer")


def draw(
    root: Path, seed: str, findings: int, budget: int, least: float | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Check a repository and return the lines to judge, with what the key says of each."""
    chosen = random.Random(seed)
    report = check_paths([root], Settings(cache=False, root=root, min_probability=least))
    found = sorted(report.findings, key=lambda f: (f.path, f.line, f.column, f.api))
    # Lines of notebooks count within their cells: a sheet of lines cannot show them.
    waits = [f for f in found if f.code.startswith(WAITS) and not f.path.endswith(".ipynb")]
    everything = check_paths(
        [root],
        Settings(cache=False, root=root, contexts=tuple(Loop), min_confidence=Confidence.LOW,
                 guarded=True),
    )  # fmt: skip
    rows: dict[tuple[str, int], dict[str, Any]] = {}

    def add(path: Path, line: int, drawn: str, weight: float) -> None:
        name = str(path.relative_to(root))
        row = rows.setdefault((name, line), {"path": name, "line": line, "drawn": {}})
        row["drawn"][drawn] = weight

    sample = chosen.sample(waits, min(findings, len(waits)))
    for finding in sample:
        add(Path(finding.path), finding.line, "finding", 1.0)
    seen = lines_of(everything.findings)
    files = [*files_of_steps(root)]
    chosen.shuffle(files)
    taken = 0
    for path in files:
        lines = candidates(path)
        known = lines.sure | seen.get(path, set())
        if budget <= 0 or taken == FILES:
            break
        if not known:
            continue
        taken += 1
        for group, most in ((known, 24), (lines.other - known, 8)):
            part = chosen.sample(sorted(group), min(most, len(group)))
            budget -= len(part)
            for line in part:
                add(path, line, "line", len(group) / len(part))
    shown = {(str(Path(f.path).relative_to(root)), line): f for f in waits for line in covered(f)}
    told = set(shown) | {
        (str(Path(call.path).relative_to(root)), call.line)
        for f in waits for call in f.reached_from
        if Path(call.path).is_relative_to(root)
    }  # fmt: skip
    listed = sorted(rows.values(), key=lambda row: (row["path"], row["line"]))
    for row in listed:
        place = row["path"], row["line"]
        row["told"] = place in told
        if place in shown:
            row |= {"code": shown[place].code, "probability": shown[place].probability}
    summary = {
        "repository": root.name,
        "revision": revision(root),
        "findings": len(waits),
        "files": len([*root.rglob("*.py")]),
        "by code": dict(Counter(f.code for f in waits)),
    }
    return listed, summary


def revision(root: Path) -> str:
    """Return the commit of a checkout, which a file says where there is no history."""
    said = root / ".commit"
    if said.is_file():
        return said.read_text(encoding="utf-8").strip()
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def covered(finding: Finding) -> Iterable[int]:
    """Return the lines of the statement that a finding marks."""
    return range(finding.line, max(finding.line, finding.end_line) + 1)


def lines_of(findings: Iterable[Finding]) -> dict[Path, set[int]]:
    """Return the lines of findings that wait, by file."""
    lines: dict[Path, set[int]] = {}
    for finding in findings:
        if finding.code.startswith(WAITS):
            lines.setdefault(Path(finding.path), set()).add(finding.line)
    return lines


def write_sheet(root: Path, options: argparse.Namespace) -> None:
    """Write the sheet and the key of one repository."""
    seed = f"{SEED} {root.name}"
    listed, summary = draw(root, seed, options.findings, options.lines, options.least)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    with open(out / f"{root.name}.sheet.tsv", "w", encoding="utf-8", newline="") as stream:
        sheet = csv.writer(stream, delimiter="\t")
        for row in listed:
            text = (root / row["path"]).read_text(encoding="utf-8", errors="replace").split("\n")
            sheet.writerow((row["path"], row["line"], text[row["line"] - 1].strip()[:160], "TODO"))
    key = json.dumps({**summary, "rows": listed}, indent=1)
    (out / f"{root.name}.key.json").write_text(key + "\n", encoding="utf-8")
    print(f"{root.name}: {summary['findings']} findings, {len(listed)} lines to judge")


def read_verdicts(path: Path) -> dict[tuple[str, int], str]:
    """Return the verdicts of a sheet; raises SystemExit for a line without one."""
    verdicts = {}
    with open(path, encoding="utf-8", newline="") as stream:
        for number, row in enumerate(csv.reader(stream, delimiter="\t"), 1):
            if len(row) < 4 or row[3] not in VERDICTS:
                raise SystemExit(f"{path}:{number}: fill in one of {', '.join(VERDICTS)}")
            verdicts[row[0], int(row[1])] = row[3]
    return verdicts


def score(sheets: Sequence[Path], keys: Sequence[Path]) -> list[dict[str, Any]]:
    """Return a row for each repository: verdicts of its findings, and waits found and missed."""
    rows = []
    for sheet, key_file in zip(sheets, keys, strict=True):
        verdicts, key = read_verdicts(sheet), json.loads(key_file.read_text(encoding="utf-8"))
        judged = [{**row, "verdict": verdicts[row["path"], row["line"]]} for row in key["rows"]]
        findings = Counter(row["verdict"] for row in judged if "finding" in row["drawn"])
        waits = [row for row in judged if "line" in row["drawn"] and row["verdict"] == "step"]
        rows.append(
            {
                "repository": key["repository"],
                "revision": key["revision"],
                "findings": key["findings"],
                "verdicts": {v: findings[v] for v in VERDICTS},
                "waits": len(waits),
                "found": sum(row["told"] for row in waits),
                "weight of waits": round(sum(row["drawn"]["line"] for row in waits), 1),
                "weight of found": round(sum(r["drawn"]["line"] for r in waits if r["told"]), 1),
                "lines": [
                    [
                        row["path"],
                        row["line"],
                        row["verdict"],
                        "finding" in row["drawn"],
                        row["told"],
                        row.get("code"),
                        row.get("probability"),
                    ]
                    for row in judged
                ],
            }
        )
    return rows


def total(rows: Sequence[dict[str, Any]]) -> str:
    """Return the figures of some repositories together, as a line."""
    verdicts = Counter[str]()
    for row in rows:
        verdicts.update(row["verdicts"])
    judged = sum(verdicts[v] for v in VERDICTS if v != "?") or 1
    waits, found = (sum(row[key] for row in rows) for key in ("waits", "found"))
    heavy, got = (sum(r[k] for r in rows) for k in ("weight of waits", "weight of found"))
    shares = ", ".join(f"{v} {verdicts[v] / judged:.0%}" for v in VERDICTS if v != "?")
    return (
        f"{judged} findings: {shares}; {waits} waits in steps, found {found}"
        f" ({found / (waits or 1):.2f}; weighted {got / (heavy or 1):.2f})"
    )


def kept() -> dict[str, Any]:
    """Return the rounds that were judged before."""
    if not RESULTS.is_file():
        return {}
    rounds: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return rounds


def keep(number: str, rows: list[dict[str, Any]]) -> None:
    """Write a round into the results, with the commit that was measured."""
    run = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    dated = {"date": datetime.now(timezone.utc).date().isoformat(), "commit": run.stdout.strip()}
    rounds = {**kept(), number: {**dated, "repositories": rows}}
    text = json.dumps(rounds, indent=1)
    in_lines = re.sub(r"\[\n +([^][{}]*?)\n +\]", lambda m: f"[{_joined(m[1])}]", text)
    RESULTS.write_text(in_lines + "\n", encoding="utf-8")


def _joined(items: str) -> str:
    """Return the items of a list on one line."""
    return " ".join(line.strip() for line in items.split("\n"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    ordered = commands.add_parser("order")
    ordered.add_argument("--from", dest="first", type=int, default=0)
    sheet = commands.add_parser("sheet")
    sheet.add_argument("roots", type=Path, nargs="+")
    sheet.add_argument("--out", type=Path, required=True)
    sheet.add_argument("--findings", type=int, default=FINDINGS, help="to draw")
    sheet.add_argument("--lines", type=int, default=LINES, help="to draw, about")
    sheet.add_argument("--least", type=float, help="probability of the findings, not the default's")
    scored = commands.add_parser("score")
    scored.add_argument("round")
    scored.add_argument("sheets", type=Path, nargs="+")
    scored.add_argument("--key", type=Path, nargs="+", required=True)
    scored.add_argument("--keep", action="store_true")
    commands.add_parser("table")
    options = parser.parse_args()
    if options.command == "order":
        print("\n".join(f"{n:3} {name}" for n, name in enumerate(order()) if n >= options.first))
    elif options.command == "sheet":
        for root in options.roots:
            write_sheet(root.resolve(), options)
    elif options.command == "score":
        rows = score(options.sheets, options.key)
        for row in rows:
            print(f"{row['repository']:28} {total([row])}")
        print(f"{'all':28} {total(rows)}")
        if options.keep:
            keep(options.round, rows)
    else:
        for number, judged in kept().items():
            print(f"round {number}, {judged['commit']}: {total(judged['repositories'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
