"""`join` merges what control-flow paths know: in any order, and as often as they meet."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from asyncguard.lint.check import check_source
from asyncguard.lint.domain.copies import PAGED, Layout, Made, Memory, Size
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.dependence import Dependence
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.join import MAX_CLASSES, join
from asyncguard.lint.domain.reasons import CERTAIN, Doubt, Provenance, Reason
from asyncguard.lint.domain.values import (
    CLASS,
    CONTAINER,
    DEVICE,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    HOST_VALUE,
    INSTANCE,
    MODEL,
    NONE_VALUE,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    device,
    literal,
    symbol,
    unplaced,
    widened,
)
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.syntax.unit import NO_TREE
from tests.effort import examples

USED = Reason(Provenance.USAGE, "`.item` is a method of such values", "a.py", 3)
SCALARS = (
    UNKNOWN_VALUE,
    HOST_VALUE,
    NONE_VALUE,
    literal(0),
    literal("text"),
    Value(HOST, doubt=Doubt.INFERRED),
    device("torch"),
    device("torch", USED),
    device("torch", Reason(Provenance.GUESS)),
    device("torch", CERTAIN, Dependence(frozenset({1}))),
    device("torch")._replace(role=Role.MASK),
    device("torch")._replace(role=Role.MODEL_OUTPUT),
    unplaced("torch", USED),
    Value(HOST_ARRAY, "torch"),
    Value(HOST_ARRAY, "torch", ref=PAGED),
    Value(HOST_ARRAY, "torch", ref=PAGED._replace(size=Size.FEW)),
    Value(HOST_ARRAY, "torch", ref=Memory(True, Layout.DENSE, block=Made("a.py", (1, 0, 1, 9)))),
    Value(HOST_ARRAY, "torch", ref=Memory(True, Layout.DENSE, block=Made("a.py", (2, 0, 2, 9)))),
    Value(HOST_ARRAY, "torch", ref=Memory(True, Layout.GAPPED)),
    Value(MODEL, "torch"),
    Value(INSTANCE, ref=object),
    Value(INSTANCE, ref=int),
    symbol("torch.float32"),
    symbol("numpy"),
    symbol("cupy"),
    symbol("jax.numpy"),
    symbol("fast.fetch"),
    symbol("plain.fetch"),
    symbol("other.fetch"),
)
KINDS = (UNKNOWN, HOST, HOST_ARRAY, DEVICE, MODEL, CONTAINER, SYMBOL, CLASS, INSTANCE, "progress")


class File:
    """A module, as far as the order of functions asks it."""

    path = "a.py"


FUNCTIONS = [
    FunctionInfo(f"f{number}", f"f{number}", NO_TREE, cast(Any, File())) for number in range(6)
]
CLASSES = [
    ClassInfo(f"C{number:02}", f"C{number:02}", cast(Any, File()))
    for number in range(MAX_CLASSES + 2)
]
instances = st.builds(
    lambda kind, cls: Value(kind, "torch", ref=cls),
    st.sampled_from([MODEL, "metric", INSTANCE]),
    st.sampled_from([*CLASSES, None]),
)
reasons = st.builds(
    Reason,
    st.sampled_from(Provenance),
    st.sampled_from(["`x` is named like one", "it is passed to `f`"]),
    st.just("a.py"),
    st.integers(0, 2),
)
functions = st.builds(
    lambda info, owner: Value(FUNCTION, ref=info, element=owner),
    st.sampled_from(FUNCTIONS),
    st.none() | st.sampled_from(SCALARS),
)
SOME = st.frozensets(st.integers(0, 2))
PATHS = (Doubt.ANOTHER_PATH, Doubt.ANOTHER_PATH | Doubt.HOST_PATH)
others = st.builds(
    lambda kind, framework, why, role, name, literal, ref, doubt, params: Value(
        kind, framework, why, role, name, literal, ref=ref, doubt=doubt, params=params
    ),
    st.sampled_from(KINDS),
    st.sampled_from(["", "cupy", "torch"]),
    reasons,
    st.sampled_from(Role),
    st.sampled_from(["", "numpy", "int"]),
    st.sampled_from([None, 0, 1, True, "cpu"]),
    st.sampled_from([None, int, str]),
    st.sampled_from([Doubt.NONE, Doubt.INFERRED, Doubt.MAY_HOLD, *PATHS]),
    st.builds(Dependence, SOME, SOME),
).filter(lambda value: value.kind != HOST or value.doubt not in PATHS)
scalars = st.one_of(st.sampled_from(SCALARS), functions, instances, others)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(container),
        st.tuples(inner, inner).map(lambda items: container(None, items)),
        st.tuples(inner, inner).map(lambda items: device("torch")._replace(items=items)),
        st.tuples(inner, inner).map(
            lambda pair: Value(CONTAINER, fields=Entries([("a", pair[0]), ("b", pair[1])]))
        ),
        inner.map(lambda value: Value(CONTAINER, fields=Entries([("b", value)]))),
    ),
    max_leaves=3,
)
thorough = settings(max_examples=examples(300), derandomize=True)


@thorough
@given(values, values, values)
@example(device("torch"), device("torch")._replace(framework="cupy"), UNKNOWN_VALUE)
@example(symbol("numpy"), symbol("cupy"), UNKNOWN_VALUE)
@example(UNKNOWN_VALUE, HOST_VALUE, device("torch"))
@example(HOST_VALUE, UNKNOWN_VALUE, device("torch"))
def test_paths_meet_in_any_order_and_as_often_as_they_do(
    one: Value, other: Value, third: Value
) -> None:
    both = join(one, other)
    assert join(one, one) == one
    assert join(other, one) == both
    assert join(one, both) == both
    assert join(both, third) == join(one, join(other, third))


@thorough
@given(values, st.integers(0, 3))
def test_a_widened_value_is_as_deep_as_it_may_be_and_stays_so(value: Value, depth: int) -> None:
    once = widened(value, depth)
    assert _depth(once) <= depth
    assert widened(once, depth) == once
    assert (once == value) == (_depth(value) <= depth)


def _depth(value: Value) -> int:
    """Return how deep containers nest in a value."""
    parts = [*(value.items or ()), *(field for _, field in value.fields)]
    parts += [value.element] if value.element is not None else []
    held = value.items is not None or bool(parts)
    return 1 + max(map(_depth, parts), default=0) if held else 0


@thorough
@given(st.permutations(CLASSES), st.integers(1, len(CLASSES)))
def test_an_instance_is_of_each_class_it_may_be_of_unless_these_are_many(
    classes: list[ClassInfo], count: int
) -> None:
    paths = [Value("metric", "torch", ref=cls) for cls in classes[:count]]
    known = {1: classes[0]}.get(count, tuple(sorted(classes[:count], key=CLASSES.index)))
    assert reduce(join, paths).ref == (known if count <= MAX_CLASSES else None)


BRANCHES = """\
import torch
def train(model, loader, optimizer, mode, guess):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        if mode == 1:
            value = {}
        elif mode == 2:
            value = {}
        else:
            value = {}
        {read}
"""


@pytest.mark.parametrize("read", ["print(value)", "if value > 3: break"])
@pytest.mark.parametrize("unknown", ["guess(batch)", "guess", "guess.part"])
def test_the_order_of_branches_does_not_change_the_findings(unknown: str, read: str) -> None:
    verdicts = set()
    for branches in itertools.permutations([unknown, "len(batch)", "loss"]):
        source = BRANCHES.format(*branches, read=read)
        findings = check_source(source, "a.py", Settings(select=("ALL",), cache=False))
        verdicts.add(tuple((f.line, f.code, f.confidence) for f in findings))
    assert len(verdicts) == 1


@thorough
@given(st.lists(scalars, min_size=3, max_size=3))
@example([UNKNOWN_VALUE, HOST_VALUE, device("torch", USED)])
def test_a_device_value_on_one_path_is_as_sure_in_any_order(paths: list[Value]) -> None:
    joined = [reduce(join, order) for order in itertools.permutations(paths)]
    assert len({(value.kind, value.confidence) for value in joined}) == 1


def test_a_device_value_on_one_path_is_one_after_the_paths_have_met() -> None:
    for other in SCALARS:
        if other.kind != DEVICE and other != symbol("numpy"):
            assert join(device("torch"), other).kind == DEVICE
            assert join(other, device("torch")).kind == DEVICE
