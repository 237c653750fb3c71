"""How a function comes to be entered in every step: by the shortest chain of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from asyncguard.lint.domain.explained import PLACE, said
from asyncguard.lint.domain.hotness import Hotness
from asyncguard.lint.program.call_graph import CallGraph
from asyncguard.lint.program.facts import Call, FunctionId, Hook
from asyncguard.model import FindingReason


class Way(NamedTuple):
    """Why a function is entered in every step, from it outwards, and how long the way is."""

    reasons: tuple[FindingReason, ...] = ()
    calls: int = 0
    conditions: int = 0  # around these calls
    callers: tuple[str, ...] = ()  # the functions that make them


class Ways:
    """The ways that lead to functions, found when they are asked for."""

    def __init__(self, network: CallGraph) -> None:
        self._network = network
        self._found: dict[tuple[FunctionId, Hotness], Way] = {}

    def to(self, function: FunctionId, levels: Mapping[FunctionId, Hotness]) -> Way:
        """Return why a function is entered as often as these levels say, from it outwards."""
        level = levels.get(function, Hotness.COLD)
        if level == Hotness.COLD:
            return Way()
        key = function, level
        if key not in self._found:
            self._found[key] = self._search(function, level)
        return self._found[key]

    @cached_property
    def _incoming(self) -> dict[FunctionId, list[Call]]:
        """The calls of each function."""
        found: dict[FunctionId, list[Call]] = {}
        for call in (*self._network.calls, *self._network.guesses):
            found.setdefault((call.callee_path, call.callee), []).append(call)
        return found

    def _search(self, function: FunctionId, level: Hotness) -> Way:
        """Go from callees to callers, breadth first, until a loop or a hook is found."""
        seen = {function}
        paths: list[tuple[FunctionId, tuple[Call, ...]]] = [(function, ())]
        for current, path in paths:
            if self._network.hooks.get(current, Hotness.COLD) >= level:
                hook = _hook(self._network.hooked[current])
                return _way(path, hook)
            for call in sorted(self._incoming.get(current, ()), key=_order):
                caller = call.caller_path, call.caller
                at_once = self._network.level(call, Hotness.COLD) >= level
                if at_once:
                    return _way((*path, call), _loop(call))
                entered = self._network.entered.get(caller, Hotness.COLD)
                if caller not in seen and self._network.level(call, entered) >= level:
                    seen.add(caller)
                    paths.append((caller, (*path, call)))
        return Way()


def _order(call: Call) -> tuple[str, int, str, str, bool]:
    context = call.context
    return call.caller_path, call.line, call.caller, context.loop.value, context.guarded


def _way(calls: tuple[Call, ...], start: FindingReason) -> Way:
    conditions = sum(call.conditions for call in calls)
    callers = tuple(call.caller for call in calls)
    return Way((*links(calls), start), len(calls), conditions, callers)


def links(calls: tuple[Call, ...]) -> Iterator[FindingReason]:
    """Yield who calls whom, as reasons."""
    return (
        FindingReason(
            PLACE,
            called(call.callee, call.caller),
            call.caller_path,
            call.line,
            kind="call",
        )
        for call in calls
    )


def called(callee: str, caller: str) -> str:
    """Say who calls whom, by their qualified names."""
    return f"`{_last(callee)}` is called by `{_last(caller) or 'the module'}`"


def _loop(call: Call) -> FindingReason:
    if call.hot is not None:
        return said(PLACE, call.hot)
    text = f"`{_last(call.caller) or 'the module'}` calls it by that name in a loop"
    return FindingReason(PLACE, text, call.caller_path, call.line, kind="call")


def _hook(hook: Hook) -> FindingReason:
    return FindingReason(PLACE, hook.why, hook.path, kind=f"hook.{hook.by}")


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2]
