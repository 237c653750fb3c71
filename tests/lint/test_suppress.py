"""Which comments silence which findings."""

from __future__ import annotations

import pytest

from asyncguard.lint.source.suppress import apply, suppressions
from tests.records import finding


def kept(source: str, *findings):
    return apply(findings, suppressions(source))[0]


@pytest.mark.parametrize(
    "comment",
    [
        "# asyncguard: ignore[ASG102]",
        "# asyncguard: ignore[ASG102] early stopping reads it",
        "# asyncguard: ignore[ASG101, ASG102]",
        "# asyncguard:ignore[asg102]",
        "# asyncguard: ignore",
        "# type: ignore  # asyncguard: ignore[ASG102]",
        "# noqa: ASG102",
        "# noqa: E501,ASG102",
        "# noqa:E501 ASG102 because",
        "# NOQA",
    ],
)
def test_a_comment_silences_its_line(comment: str) -> None:
    source = f"a = 1\nx = loss.item()  {comment}\n"
    assert kept(source, finding(line=2)) == []
    assert kept(source, finding(line=1)) != []


@pytest.mark.parametrize(
    "comment",
    [
        "# asyncguard: ignore[ASG103]",
        "# noqa: E501",
        "# asyncguard: ignored",
        "# asyncguard: ignore-files",
        "# noqation",
    ],
)
def test_another_comment_does_not(comment: str) -> None:
    assert kept(f"x = loss.item()  {comment}\n", finding(line=1)) != []


def test_a_comment_within_a_string_is_no_comment() -> None:
    source = 's = "# asyncguard: ignore-file"\nx = loss.item()\n'
    assert kept(source, finding(line=2)) != []


def test_a_comment_speaks_for_its_whole_statement() -> None:
    source = "log(\n    a,\n    loss.item(),\n)  # asyncguard: ignore[ASG102]\ny = loss.item()\n"
    assert kept(source, finding(line=3)) == []
    assert kept(source, finding(line=5)) != []


def test_a_comment_on_a_loop_header_does_not_speak_for_its_body() -> None:
    source = "for x in y:  # asyncguard: ignore[ASG102]\n    loss.item()\n"
    assert kept(source, finding(line=1)) == []
    assert kept(source, finding(line=2)) != []


def test_ignore_file_speaks_for_the_file_or_for_its_rules() -> None:
    assert kept("# asyncguard: ignore-file\n", finding(line=9)) == []
    only = "# asyncguard: ignore-file[ASG101]\n"
    assert kept(only, finding(line=9)) != []
    assert kept(only, finding(line=9, code="ASG101")) == []


def test_comments_that_silence_nothing_are_told() -> None:
    source = (
        "a = 1  # asyncguard: ignore[ASG102]\n"
        "b = loss.item()  # asyncguard: ignore[ASG102]\n"
        "c = 3  # noqa: ASG102\n"
        "d = 4  # noqa: E501\n"
        "e = 5  # noqa\n"
    )
    unused = apply([finding(line=2)], suppressions(source))[1]
    assert [(item.line, item.column) for item in unused] == [(1, 8), (3, 8)]


def test_a_file_that_cannot_be_tokenized_has_no_comments() -> None:
    assert suppressions("x = (  # asyncguard: ignore\n") == ()
