"""The entries of a dict: a map of versions, each of which costs what it adds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.lint.domain import entries as module
from asyncguard.lint.domain.entries import Entries
from tests.effort import examples

dicts = st.dictionaries(st.text(max_size=2), st.integers(0, 3), max_size=12)
thorough = settings(max_examples=examples(200), derandomize=True)


def made(entries: dict[str, int]) -> Entries[int]:
    return Entries(entries.items())


@thorough
@given(st.lists(st.tuples(st.text(max_size=1), st.integers(0, 3)), max_size=20))
def test_it_holds_what_a_dict_holds_in_the_order_of_the_keys(
    stores: list[tuple[str, int]],
) -> None:
    expected = dict(stores)
    versions = [Entries[int]()]
    for key, value in stores:
        versions.append(versions[-1].put(key, value))
    assert list(versions[-1]) == sorted(expected.items())
    assert all(versions[-1].get(key) == value for key, value in expected.items())
    assert versions[-1].get("absent") is None
    assert bool(versions[-1]) == bool(expected)
    for count, version in enumerate(versions):  # and no version has changed
        assert list(version) == sorted(dict(stores[:count]).items())


@thorough
@given(dicts, dicts)
def test_versions_with_the_same_entries_are_equal(
    one: dict[str, int], other: dict[str, int]
) -> None:
    assert (made(one) == made(other)) == (one == other)
    assert made(one) == made(dict(reversed(one.items())))
    assert hash(made(one)) == hash(made(dict(reversed(one.items()))))


@thorough
@given(dicts, dicts, dicts)
def test_two_versions_are_merged_key_by_key(
    shared: dict[str, int], one: dict[str, int], other: dict[str, int]
) -> None:
    base = made(shared)
    left, right = base, base
    for key, value in one.items():
        left = left.put(key, value)
    for key, value in other.items():
        right = right.put(key, value)
    merged = left.merged(right, lambda _, last: last)
    assert list(merged) == sorted({**shared, **one, **other, **_unlike(shared, one, other)}.items())


def _unlike(shared: dict[str, int], one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Return what the right side holds where the left side holds something else."""
    return {key: other.get(key, shared.get(key, value)) for key, value in one.items()}


@thorough
@given(dicts)
def test_a_change_of_each_value_is_made_once(entries: dict[str, int]) -> None:
    calls: list[int] = []

    def halved(value: int) -> int:
        calls.append(value)
        return min(value, 1)

    before = made(entries)
    after = before.projected(halved)
    assert dict(after) == dict(before.mapped(lambda value: min(value, 1)))
    first = len(calls)
    assert after.projected(halved) is after
    assert before.projected(halved) == after
    assert len(calls) == first


def _nodes(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many nodes some work makes."""
    count = 0
    kept = module._Node.__init__

    def counted(self: module._Node[int], *args: object) -> None:
        nonlocal count
        count += 1
        kept(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(module._Node, "__init__", counted)
    work()
    monkeypatch.undo()
    return count


def test_an_entry_more_costs_a_path_and_not_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    large = made({f"key_{number}": number for number in range(10_000)})
    longer = large.put("another", 1)
    changed = large.put("key_77", 1)
    for work in (
        lambda: large.put("another", 1),
        lambda: large.put("key_77", 1),
        lambda: longer.merged(changed, max),
        lambda: changed.merged(longer, max),
    ):
        assert _nodes(work, monkeypatch) < 200  # of 10,000; some 30 to be expected
    assert _nodes(lambda: large.merged(large, max), monkeypatch) == 0


def test_what_is_shared_is_not_compared() -> None:
    class Counted:
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return self is other

        __hash__ = object.__hash__

    large = Entries((f"key_{number}", Counted()) for number in range(10_000))
    assert large.put("another", Counted()) != large.put("another", Counted())
    assert Counted.compared < 200
