"""Many rows in one test, which tells of each that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def wrong(names: Iterable[str], check: Callable[[str], None]) -> dict[str, str]:
    """What `check` raises, by the name that it is given."""
    return {name: fault for name in names if (fault := _fault(name, check))}


def _fault(name: str, check: Callable[[str], None]) -> str:
    try:
        check(name)
    except Exception as error:  # noqa: BLE001  what is wrong with one is told with the others'
        return f"{type(error).__name__}: {error}"
    return ""
