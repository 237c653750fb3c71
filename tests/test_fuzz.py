"""Mutated traces, baselines, configurations, notebooks, rules files: one line, or a result."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import fuzz

EXAMPLES = 30  # of each; `benchmarks/fuzz.py` runs more


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_a_mutated_file_is_refused_in_one_line_or_understood(name: str) -> None:
    seen: set[bool] = set()

    @settings(max_examples=EXAMPLES, database=None)
    @given(st.data())
    def examine(data: st.DataObject) -> None:
        seen.add(fuzz.run(name, data.draw(fuzz.TARGETS[name].strategy)))

    examine()
    assert seen == {True, False}  # else it would say little
