"""Which comments silence which findings."""

from __future__ import annotations

import pytest

from asyncguard.lint import selectors
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.suppress import NO_ALLOWANCES, Allowances, apply, suppressions
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
        "# asyncguard: ignore[scalar-conversion]",
        "# asyncguard: ignore[ASG1]",
        "# asyncguard: ignore[ALL] all of it",
        "# asyncguard: ignore[ASG999, ASG102]",
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


def test_a_noqa_for_other_linters_beside_a_bare_one_is_no_problem() -> None:
    source = "import a  # noqa: F401\nb = 1  # noqa\n"
    assert [found.code for found in check_source(source, "a.py", Settings(cache=False))] == []


def test_a_file_that_cannot_be_tokenized_has_no_comments() -> None:
    assert suppressions("x = (  # asyncguard: ignore\n") == ()


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# asyncguard: disable=ASG102", "does not understand `disable=ASG102`: write `# asyncg"),
        ("# asyncguard: off", "does not understand `off`"),
        ("# asyncguard:", "does not understand ``"),
        ("# asyncguard: ignored", "does not understand `ignored`"),
        ("# asyncguard: ignore[ASG999]", "unknown rule 'ASG999'; did you mean 'ASG"),
        ("# asyncguard: ignore[ASG102, scaler-conversion]", "did you mean 'scalar-conversion'?"),
        ("# asyncguard: ignore[]", "name a rule between the brackets"),
        ("# noqa: ASG999", "unknown rule 'ASG999'"),
        ("# noqa: E501, ASG102", ""),
        ("# asyncguard finds this", ""),
        ("# asyncguard: ignore[ASG102]", ""),
    ],
)
def test_a_comment_that_cannot_be_understood_is_reported(comment: str, problem: str) -> None:
    told = [f"{item.problem}" for item in suppressions(f"x = loss.item()  {comment}\n")]
    assert [bool(text) for text in told] == [bool(problem)] * len(told)
    assert all(problem in text for text in told)
    found = check_source(f"import torch\nx = 1  {comment}\n", "a.py", Settings(cache=False))
    reported = [f for f in found if f.code == "ASG901" and problem in f.message]
    assert len(reported) == ("finds" not in comment)


def test_what_is_wrong_with_a_comment_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likeliest rule is searched for one unknown word, however many there are."""
    asked = []
    monkeypatch.setattr(selectors, "did_you_mean", lambda text, known: asked.append(text) or "")
    words = ",".join(f"ASGX{number}" for number in range(1000))
    (comment,) = suppressions(f"import torch\nx = 1  # asyncguard: ignore[{words}, ASG102]\n")
    assert comment.problem.startswith("unknown rule 'ASGX0'")
    assert comment.codes == {"ASG102"}
    assert asked == ["ASGX0"]


# ---- allowances: what the program itself says


def allowed(source: str, *findings, more: Allowances = NO_ALLOWANCES):
    return apply(findings, suppressions(source, more))


BLOCK = """
with asyncguard.allow_syncs("the schedule needs it"):
    a = loss.item()

    if a:
        b = loss.item()
c = loss.item()
"""


def test_a_context_that_allows_waits_covers_its_block() -> None:
    kept, idle = allowed(BLOCK, *(finding(line=line) for line in (3, 6, 7)))
    assert [f.line for f in kept] == [7]
    assert idle == []


def test_an_allowance_speaks_of_waits_alone() -> None:
    kept, idle = allowed(BLOCK, finding(code="ASG402", line=3))
    assert len(kept) == 1
    assert [comment.allows for comment in idle] == ["allow_syncs"]


@pytest.mark.parametrize(
    "source",
    [
        "@asyncguard.allow_syncs()\n@other\ndef f(x):\n    return x.item()\n",
        "if a:\n    with open(p) as f, allow_syncs():\n        f.write(\n            x.item())\n",
        "async def f():\n\n    async with allow_syncs():\n        x.item()\n",
        "\n\n\nwith allow_syncs(): x.item()\n",
    ],
)
def test_an_allowance_is_a_decorator_or_any_kind_of_with(source: str) -> None:
    assert allowed(source, finding(line=4)) == ([], [])


@pytest.mark.parametrize(
    "source",
    ["x = allow_syncs\ny = x.item()\n", "with allowed():\n    x.item()\n", "with f(:\n    x\n"],
)
def test_what_merely_names_a_context_allows_nothing(source: str) -> None:
    assert len(allowed(source, finding(line=2))[0]) == 1


def test_a_team_names_its_own_contexts_and_comments() -> None:
    source = "with gpu_sync_allowed():\n    x.item()\ny.item()  # gpu-sync-ok: sampled\n"
    found = finding(line=2), finding(line=3)
    own = Allowances(("gpu_sync_allowed",), ("gpu-sync-ok",))
    assert allowed(source, *found, more=own) == ([], [])
    assert len(allowed(source, *found)[0]) == 2


PROGRAM = """
import asyncguard, torch
def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        with asyncguard.allow_syncs():
            print(loss)
        with asyncguard.allow_syncs():
            optimizer.zero_grad()
"""


def test_an_allowance_that_allows_nothing_is_reported() -> None:
    found = check_source(PROGRAM, "a.py", Settings())
    assert [(f.code, f.line) for f in found] == [("ASG901", 10)]
    assert "`allow_syncs` allows nothing" in found[0].message
