#!/usr/bin/env python3
"""Check the accuracy labels against the sources that they name.

    python benchmarks/accuracy/validate_labels.py --sources DIR [--labels DIR]

DIR holds one folder a package, named NAME-VERSION, with the unpacked wheel or source archive
(``pip download --no-deps NAME==VERSION`` and unzip). Without --sources only the form of the
labels is checked. Exit status 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
from collections import Counter
from pathlib import Path

import tomli

CODES = {
    *(f"ASG10{n}" for n in range(1, 9)),
    *(f"ASG20{n}" for n in range(1, 4)),
    *("ASG301", "ASG302", "ASG401", "ASG402", "ASG403", "ASG404", "ASG405"),
}
FRAMEWORKS = {"torch", "mxnet", "jax", "tensorflow", "cupy", "chainer"}
CONTEXTS = {"step", "epoch", "none"}
HEADER = {"package", "version", "path", "sha256", "framework", "complete"}
SITE = {"line", "code", "api", "framework", "context", "guarded"}
SITE_EXTRA = {"count", "also", "alt", "optional", "note"}
NEGATIVE = {"line", "code", "api", "framework", "reason"}
# The last part of an api name that is not what stands in the source.
SPELLED = {
    "truth": ("if", "while", "assert", "and", "or", "not", "in ", "for", "bool("),
    "format": ('f"', "f'", ".format", "%", '"', "'"),
    "logging": ("log", "info", "warning", "debug"),
    "__getitem__": ("[",),
    "__setitem__": ("[", "="),
}


def statement_text(tree: ast.AST, lines: list[str], line: int) -> str:
    """The text of the innermost statement (its header, for a compound one) around a line."""
    best = (line, line)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= node.end_lineno:
            continue
        body = getattr(node, "body", None)
        end = node.end_lineno
        if isinstance(body, list) and body:
            end = max(node.lineno, body[0].lineno - 1)
        if node.lineno <= line <= end and (best == (line, line) or node.lineno >= best[0]):
            best = (node.lineno, end)
    return "\n".join(lines[best[0] - 1 : best[1]])


def check_file(path: Path, sources: Path | None, problems: list[str], count: Counter) -> None:  # noqa: C901 - one check a field, in their order
    def bad(text: str) -> None:
        problems.append(f"{path.parent.name}/{path.name}: {text}")

    try:
        data = tomli.loads(path.read_text(encoding="utf-8"))
    except tomli.TOMLDecodeError as error:
        return bad(str(error))
    if missing := HEADER - data.keys():
        return bad(f"header lacks {sorted(missing)}")
    if unknown := data.keys() - HEADER - {"site", "negative"}:
        bad(f"unknown keys {sorted(unknown)}")
    sites, negatives = data.get("site", []), data.get("negative", [])
    half = path.parent.name
    for kind, entries, keys, extra in (
        ("site", sites, SITE, SITE_EXTRA),
        ("negative", negatives, NEGATIVE, set()),
    ):
        seen = set()
        for entry in entries:
            where = f"{kind} at line {entry.get('line')}"
            if missing := keys - entry.keys():
                bad(f"{where}: lacks {sorted(missing)}")
                continue
            if unknown := entry.keys() - keys - extra:
                bad(f"{where}: unknown keys {sorted(unknown)}")
            if not {entry["code"], *entry.get("alt", [])} <= CODES:
                bad(f"{where}: unknown code")
            if entry["framework"] not in FRAMEWORKS:
                bad(f"{where}: unknown framework {entry['framework']}")
            if kind == "site" and entry["context"] not in CONTEXTS:
                bad(f"{where}: unknown context {entry['context']}")
            key = (entry["line"], entry["code"], entry["api"])
            if key in seen:
                bad(f"{where}: twice")
            seen.add(key)
            optional = " optional" if entry.get("optional") else ""
            count[f"{half} {kind}{optional}"] += 1
    both = {(e["line"], e["code"]) for e in sites} & {(e["line"], e["code"]) for e in negatives}
    if both:
        bad(f"both a site and a negative: {sorted(both)}")
    if sources is None:
        return None
    source = sources / f"{data['package']}-{data['version']}" / data["path"]
    if not source.is_file():
        return bad(f"no {source}")
    blob = source.read_bytes()
    if hashlib.sha256(blob).hexdigest() != data["sha256"]:
        bad("the source has another sha256")
    text = blob.decode("utf-8")
    lines, tree = text.split("\n"), ast.parse(text)
    for entry in [*sites, *negatives]:
        for line in [entry["line"], *entry.get("also", [])]:
            if not 1 <= line <= len(lines) or not lines[line - 1].strip():
                bad(f"line {line} is empty or outside the file")
        name = entry["api"].rpartition(".")[2]
        words = SPELLED.get(name, (name,))
        near = [statement_text(tree, lines, n) for n in [entry["line"], *entry.get("also", [])]]
        if not any(word in part for word in words for part in near):
            count[f"{half} indirect"] += 1
            if not entry.get("note"):
                bad(f"line {entry['line']}: no {name!r} in the statement, and no note")
    return None


def main() -> int:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=Path, help="folder with the unpacked packages")
    parser.add_argument("--labels", type=Path, default=here / "labels")
    options = parser.parse_args()
    problems: list[str] = []
    count: Counter = Counter()
    files = sorted(options.labels.glob("*/*.toml"))
    for path in files:
        check_file(path, options.sources, problems, count)
    for problem in problems:
        print(problem)
    print(f"{len(files)} files;", ", ".join(f"{v} {k}" for k, v in sorted(count.items())))
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
