"""What matters first: the order and the groups of findings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.report.impact import KEYS, groups, ordered
from asyncguard.model import CallSite, Confidence, Finding, Loop
from tests.records import finding

FINDINGS = st.builds(
    finding,
    path=st.sampled_from(["a.py", "b.py"]),
    line=st.integers(1, 4),
    function=st.sampled_from(["", "f", "C.g"]),
    code=st.sampled_from(["ASG000", "ASG102", "ASG202"]),
    loop=st.sampled_from(Loop),
    guarded=st.booleans(),
    confidence=st.sampled_from(Confidence),
    reached_from=st.integers(0, 3).map(lambda n: tuple(CallSite("c.py", i) for i in range(n))),
)


def calls(number: int) -> tuple[CallSite, ...]:
    return tuple(CallSite("c.py", line) for line in range(1, number + 1))


def test_hot_comes_before_wide_and_wide_before_certain() -> None:
    wanted = [
        finding(path="z.py", code="ASG000", loop=Loop.NONE),  # not analysed at all
        finding(path="y.py", reached_from=calls(9)),
        finding(path="x.py", reached_from=calls(6), confidence=Confidence.MEDIUM),
        finding(path="w.py", reached_from=calls(2)),
        finding(path="u.py"),
        finding(path="v.py"),
        finding(path="b.py", code="ASG106", api="torch.tensor"),  # it waits for its own copy alone
        finding(path="t.py", confidence=Confidence.MEDIUM),
        finding(path="s.py", guarded=True, reached_from=calls(9)),
        finding(path="r.py", loop=Loop.EPOCH),
        finding(path="q.py", loop=Loop.NONE),
    ]
    assert ordered(reversed(wanted), "impact") == wanted
    assert [f.path for f in ordered(wanted, "path")] == sorted(f.path for f in wanted)


@given(st.lists(FINDINGS, unique_by=lambda found: (found.path, found.line, found.code)))
def test_the_order_does_not_depend_on_where_it_began(found: list[Finding]) -> None:
    for order in ("impact", "path"):
        assert ordered(reversed(found), order) == ordered(found, order)


@given(st.lists(FINDINGS), st.sampled_from(sorted(KEYS)))
def test_groups_hold_every_finding_once(found: list[Finding], key: str) -> None:
    made = groups(found, key)
    assert sorted(map(repr, found)) == sorted(repr(f) for group in made for f in group.findings)
    assert len({group.title for group in made}) == len(made)


def test_the_group_that_weighs_most_comes_first() -> None:
    found = [finding(path="a.py"), finding(path="b.py"), finding(path="b.py", line=2)]
    assert [group.title for group in groups(found, "file")] == ["b.py", "a.py"]
    assert [group.title for group in groups(found, "cause")] == ["torch.Tensor.item"]
    assert groups([finding(function="")], "function")[0].title == "train.py: <module>"
