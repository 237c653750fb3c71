"""SARIF 2.1.0, the exchange format of static analysis that code hosts show beside the code."""

from __future__ import annotations

import json
from collections.abc import Iterator

from asyncguard.lint.labels import ERRORS
from asyncguard.model import CallSite, Confidence, Edit, Finding, Loop
from asyncguard.render import FindingsReport, RuleText, Screen
from asyncguard.render.place import fingerprints, uri
from asyncguard.render.visible import in_json
from asyncguard.version import __version__

ESCAPES = True  # control characters, as JSON writes them
VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "%SRCROOT%"
Json = dict[str, object]
_RANK = {Confidence.HIGH: 90.0, Confidence.MEDIUM: 60.0, Confidence.LOW: 20.0}


def findings(report: FindingsReport, screen: Screen) -> str:
    """Return one run with the rules that found something and its results."""
    codes = sorted({finding.code for finding in report.findings})
    prints = fingerprints(report.findings)
    driver: Json = {
        "name": "asyncguard",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(code, report.rules.get(code)) for code in codes],
    }
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, codes.index(finding.code), mark)
            for finding, mark in zip(report.findings, prints, strict=True)
        ],
    }
    data = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return in_json(json.dumps(data, indent=1, ensure_ascii=False)) + "\n"


def _rule(code: str, rule: RuleText | None) -> Json:
    if rule is None:
        return {"id": code}
    text: Json = {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": f"{rule.summary}."},
        "fullDescription": {"text": rule.description},
        "help": {"text": rule.explanation, "markdown": _markdown(rule.explanation)},
        "defaultConfiguration": {"level": "error" if code in ERRORS else "warning"},
        "properties": {"tags": ["performance"]},
    }
    return text | ({"helpUri": rule.url} if rule.url else {})


def _markdown(explanation: str) -> str:
    """Return an explanation with its examples between fences."""
    blocks = []
    for block in explanation.split("\n\n"):
        if all(line.startswith("    ") for line in block.splitlines()):
            code = "\n".join(line[4:] for line in block.splitlines())
            block = f"```python\n{code}\n```"
        blocks.append(block)
    return "\n\n".join(blocks)


def _result(finding: Finding, index: int, fingerprint: str) -> Json:
    advice = f"\n{finding.advice}" if finding.advice else ""
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _level(finding),
        "rank": _RANK[finding.confidence],
        "message": {"text": f"{finding.message}{advice}"},
        "locations": [_location(finding)],
        "partialFingerprints": {"asyncguard/v1": fingerprint},
        "properties": {
            "api": finding.api,
            "framework": finding.framework,
            "loop": finding.loop.value,
            "guarded": finding.guarded,
            "confidence": finding.confidence.value,
        },
    }
    if finding.reached_from:
        result["relatedLocations"] = [
            _call_location(number, call) for number, call in enumerate(finding.reached_from, 1)
        ]
    if finding.fix is not None and finding.fix.edits and finding.cell is None:
        result["fixes"] = [_fix(finding)]
    return result


def _level(finding: Finding) -> str:
    if finding.code in ERRORS:
        return "error"
    return "warning" if finding.loop == Loop.STEP and not finding.guarded else "note"


def _location(finding: Finding) -> Json:
    name = finding.function or "<module>"
    if finding.cell is not None:  # the lines of a cell are not those of the file
        name = f"cell {finding.cell}, line {finding.line}: {name}"
        physical: Json = {"artifactLocation": _artifact(finding.path)}
    else:
        region: Json = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": max(finding.end_column, finding.column),
        }
        physical = {"artifactLocation": _artifact(finding.path), "region": region}
        if finding.source.strip() and finding.line == finding.end_line:
            snippet = {"text": finding.source}
            physical["contextRegion"] = {"startLine": finding.line, "snippet": snippet}
    logical = {"fullyQualifiedName": name, "kind": "function" if finding.function else "module"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _call_location(number: int, call: CallSite) -> Json:
    physical: Json = {"artifactLocation": _artifact(call.path)}
    if call.cell is None:
        physical["region"] = {"startLine": call.line}
    text = f"called in {call.function or 'the module'}"
    return {"id": number, "message": {"text": text}, "physicalLocation": physical}


def _artifact(path: str) -> Json:
    address, relative = uri(path)
    return {"uri": address, **({"uriBaseId": ROOT} if relative else {})}


def _fix(finding: Finding) -> Json:
    assert finding.fix is not None
    change = {
        "artifactLocation": _artifact(finding.path),
        "replacements": [*_replacements(finding.fix.edits)],
    }
    return {"description": {"text": finding.fix.message}, "artifactChanges": [change]}


def _replacements(edits: tuple[Edit, ...]) -> Iterator[Json]:
    for edit in edits:
        region = {
            "startLine": edit.line,
            "startColumn": edit.column + 1,
            "endLine": edit.end_line,
            "endColumn": edit.end_column + 1,
        }
        yield {"deletedRegion": region, "insertedContent": {"text": edit.text}}
