"""Warnings out of hooked calls: the same ones, at the same lines, as without a trace."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest

from asyncguard.runtime import boundaries
from asyncguard.runtime.adapter import Adapter
from asyncguard.runtime.session import Session
from tests.frameworks import require

Told = list[tuple[str, int, type[Warning]]]


def told(do: Any, traced: bool, action: Any = "default") -> Told:
    """Where `do` warns, each time with fresh memory of what has been shown."""
    vars(sys.modules[__name__]).pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as caught, Session() if traced else nullcontext():
        warnings.resetwarnings()
        warnings.simplefilter(action)
        do()
    return [(each.filename, each.lineno, each.category) for each in caught]


def copies() -> None:
    torch = require("torch")
    for _ in range(3):
        torch.tensor(torch.ones(2))
        torch.tensor(torch.ones(2))


def masks() -> None:
    torch = require("torch")
    values, mask = torch.ones(2), torch.zeros(2, dtype=torch.uint8)
    for _ in range(3):
        values[mask]


@lambda function: boundaries.step_hook(function, "a step", Mock(spec=Adapter), None)
def python_function() -> None:
    warnings.warn("from within", DeprecationWarning, stacklevel=2)


def from_python() -> None:
    for _ in range(3):
        python_function()


@pytest.mark.parametrize("action", ["default", "always", "once", "module", "ignore"])
@pytest.mark.parametrize("do", [copies, masks])
def test_torchs_own_warnings_are_told_where_they_are_without_a_trace(do: Any, action: str) -> None:
    bare = told(do, False, action)
    assert told(do, True, action) == bare
    assert {filename for filename, _, _ in bare} <= {__file__}
    assert bool(bare) == (action != "ignore")


def test_a_python_functions_warning_is_told_at_its_callers_line() -> None:
    ((filename, line, category),) = told(from_python, True)
    assert (filename, category) == (__file__, DeprecationWarning)
    assert line == from_python.__code__.co_firstlineno + 2


def test_the_users_filters_for_a_module_hold() -> None:
    require("torch")
    with Session(), warnings.catch_warnings():
        warnings.filterwarnings("error", module=__name__.replace(".", r"\."))
        with pytest.raises(UserWarning, match="To copy construct"):
            copies()


def test_a_warning_that_is_none_of_ours_is_shown_as_it_is() -> None:
    ((filename, _, category),) = told(lambda: warnings.warn("mine", stacklevel=1), True)
    assert (filename, category) == (__file__, UserWarning)


def test_the_way_warnings_are_shown_is_put_back() -> None:
    before = warnings._showwarnmsg  # type: ignore[attr-defined]
    with Session():
        with Session():
            pass
        assert warnings._showwarnmsg is not before  # type: ignore[attr-defined]
    assert warnings._showwarnmsg is before  # type: ignore[attr-defined]
