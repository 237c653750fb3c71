"""Findings and waits, joined by place: what each half knows that the other does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.advise.agreement import Agreement, Verdict, hidden, join
from asyncguard.model import Confidence, Finding, Loop, SiteStats
from asyncguard.render import Screen, find
from tests.records import finding as make_finding
from tests.records import record, site

POINTS = {point.id: point for point in catalogue.load()}
ITEM, TOLIST = "torch.Tensor.item", "torch.Tensor.tolist"


def finding(line: int, api: str = ITEM, code: str = "ASG102", **more: Any) -> Finding:
    place = {"line": line, "end_line": line, **more}
    return make_finding(code=code, api=api, source="loss.item()", **place)


def counted(line: int, api: str = ITEM, **more: Any) -> SiteStats:
    return site(line=line, api=api, count=4, **more)


def joined(
    findings: Sequence[Finding],
    sites: Sequence[SiteStats],
    lines: Sequence[int] | None = None,
    folder: Path = Path("/nowhere"),
    **more: Any,
) -> Agreement:
    extra: Mapping[str, Any] = {} if lines is None else {"lines": {"train.py": list(lines)}}
    made = replace(record(*sites), root=str(folder), extra=extra, frameworks={"torch": "2"}, **more)
    return join(findings, findings[:1], made, POINTS, ["train.py"], str(folder))


def only(found: Agreement) -> Any:
    (row,) = found.rows
    return row


def test_a_finding_that_was_counted_is_confirmed() -> None:
    row = only(joined([finding(3)], [counted(3)]))
    assert (row.verdict, row.count, row.why) == (Verdict.CONFIRMED, 4, "")
    assert row.cpu_stall_ns == counted(3).cpu_stall_ns
    assert row.reported


def test_each_site_of_a_line_goes_to_the_finding_of_its_api() -> None:
    found = joined([finding(3), finding(3, TOLIST)], [counted(3), counted(3, TOLIST)])
    assert [[s.api for s in row.sites] for row in found.rows] == [[ITEM], [TOLIST]]
    assert only(joined([finding(3)], [counted(3, TOLIST)])).verdict is Verdict.CONFIRMED


def test_a_wait_that_two_rules_know_of_is_one_place() -> None:
    accumulated = finding(3, code="ASG302", advice="Add on the device.")
    found = join(
        [finding(3, advice="With all rules."), accumulated],
        [finding(3, advice="By default.")],
        replace(record(counted(3)), root="/nowhere"),
        POINTS,
        ["train.py"],
        "/nowhere",
    )
    row = only(found)
    assert (row.finding.code, row.finding.advice, row.reported) == ("ASG102", "By default.", True)


def test_a_statement_over_several_lines_is_one_place() -> None:
    assert only(joined([finding(3, end_line=5)], [counted(4)])).verdict is Verdict.CONFIRMED


def test_a_wait_below_a_call_confirms_the_call_unless_it_has_a_finding_itself() -> None:
    below = counted(20, callers=("train.py:3 main",))
    assert only(joined([finding(3)], [below])).verdict is Verdict.CONFIRMED
    found = joined([finding(3), finding(20)], [below], lines=[3, 20])
    assert {row.line: row.verdict for row in found.rows} == {
        3: Verdict.UNCOUNTED,
        20: Verdict.CONFIRMED,
    }


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [([3], Verdict.UNCOUNTED), ([2, 4], Verdict.NEVER), (None, Verdict.UNKNOWN)],
)
def test_what_was_not_counted(lines: list[int] | None, verdict: Verdict) -> None:
    row = only(joined([finding(3)], [], lines))
    assert row.verdict is verdict
    assert (verdict is Verdict.UNKNOWN) == ("--lines" in row.why)


def test_why_it_was_not_counted() -> None:
    uploads = finding(3, "torch.Tensor.to.device", "ASG106")
    stand_in = [counted(9, device="cpu (stand-in)")]
    rows = joined([uploads, finding(9)], stand_in, [3, 9]).of(Verdict.UNCOUNTED)
    assert "no accelerator was in use" in rows[0].why
    (row,) = joined([finding(3, framework="jax")], [], [3]).rows
    assert row.why == "jax was not traced"
    (row,) = joined([finding(3, confidence=Confidence.LOW)], [], [3]).rows
    assert "not sure" in row.why
    seen_in_source_only = "torch.Tensor.__getitem__.slice"
    (row,) = joined([finding(3, seen_in_source_only)], [], [3]).rows
    assert row.why == POINTS[seen_in_source_only].one_sided


def test_what_was_counted_and_not_found() -> None:
    row = only(joined([], [counted(3)]))
    assert (row.verdict, row.why, row.path) == (Verdict.UNFOUND, "", "train.py")
    seen_at_run_time_only = "torch.distributions.Distribution.__init__"
    row = only(joined([], [counted(3, seen_at_run_time_only)]))
    assert row.why == POINTS[seen_at_run_time_only].one_sided
    inner = "/v/site-packages/torch/nn/modules/module.py:9 convert"
    outer = "/v/site-packages/torch/nn/modules/module.py:7 to"
    row = only(joined([], [counted(3, library=(inner, outer))]))
    assert row.why == "it waits in a library: torch/nn/modules/module.py:9 convert"


def test_waits_in_files_that_were_not_checked_are_counted_alone() -> None:
    found = joined([], [counted(3), replace(counted(3), path="other.py")])
    assert (len(found.rows), found.elsewhere) == (1, 4)


def test_rules_that_are_about_no_wait_are_left_out() -> None:
    others = [finding(3, code=code) for code in ("ASG000", "ASG301", "ASG401", "ASG403", "ASG901")]
    assert joined(others, [], [3]).rows == ()


def test_a_trace_from_another_machine_is_joined_by_its_relative_paths(tmp_path: Path) -> None:
    made = replace(record(counted(3)), root="/home/somebody/project")
    found = join([finding(3)], [], made, POINTS, ["train.py"], str(tmp_path))
    assert only(found).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"guarded": True}, "condition"),
        ({"loop": Loop.EPOCH}, "not in every step"),
        ({"confidence": Confidence.LOW}, "on the host"),
        ({}, "settings"),
    ],
)
def test_why_a_finding_is_not_reported(more: dict[str, Any], why: str) -> None:
    assert why in hidden(finding(3, **more))


def test_as_text_and_as_json() -> None:
    found = joined(
        [finding(3), finding(5, guarded=True), finding(7)],
        [counted(3), counted(5), counted(9, source="y\x1b[2J")],
        [3, 5],
    )
    text = find("text", "agreements")(found, Screen())
    assert "train.py:3: confirmed 4 x" in text
    assert "(not reported by default: behind a condition that seldom holds)" in text
    assert "train.py:7: never executed ASG102" in text
    assert "train.py:9: counted, not found 4 x" in text
    assert "\x1b" not in text
    assert text.endswith("2 confirmed; 1 never executed; 1 counted, not found\n")
    assert '"verdict": "never executed"' in find("json", "agreements")(found, Screen())
    assert "nothing to compare" in find("text", "agreements")(joined([], []), Screen())


def test_reads_that_share_a_line_say_that_they_are_counted_together() -> None:
    both = joined(
        [finding(3, column=1, end_column=9), finding(3, column=12, end_column=20)], [counted(3)]
    )
    shown = find("text", "agreements")(both, Screen())
    assert shown.count("(counted together with 1 other read here)") == 2
    alone = find("text", "agreements")(joined([finding(3)], [counted(3)]), Screen())
    assert "counted together" not in alone
