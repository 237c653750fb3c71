"""The call graph of all checked files, and how often each function is entered.

A function that is called from a step loop runs once a step, and so does what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from asyncguard.lint.names import family
from asyncguard.lint.program.definitions import classes_above, definitions
from asyncguard.lint.program.facts import Call, FileFacts, Key, NamedCall
from asyncguard.lint.program.linking import TEST_CASE
from asyncguard.model import Loop

COLD, EPOCH, GUARDED, STEP = range(4)  # how often a function is entered
LEVELS = {Loop.NONE: COLD, Loop.EPOCH: EPOCH, Loop.STEP: STEP}


class Network:
    """Who calls whom in files, and how often each function is entered; by the files' paths.

    `before`: that of the same files before more of their functions were looked at.
    """

    def __init__(self, facts: Mapping[str, FileFacts], before: Network | None = None) -> None:
        self.facts = facts
        files = facts.values()
        self.above: dict[str, set[str]] = classes_above(files) if before is None else before.above
        self.meant = definitions(files, self.above)
        self.named = {call for facts in files for call in facts.named}  # told by several files
        known = {call for facts in files for call in facts.calls}
        self.calls = [call for call in known if not _tests(call)]
        guesses = (
            Call(named.caller_path, named.caller, *key, named.loop, named.guarded)
            for named in self.named
            for key in self.meant.of(named)
        )
        self.guesses = [call for call in guesses if not _tests(call)]
        self.rounds = frozenset[Key]().union(*(facts.rounds for facts in files))
        self.hooks = {
            (hook.path, hook.function): LEVELS[hook.loop] for facts in files for hook in facts.hooks
        }
        self.reading = {
            (c.finding.path, c.finding.function) for facts in files for c in facts.candidates
        }
        self.entered = self._entries()

    def _entries(self) -> dict[Key, int]:
        """Return how often each function is entered, as far as hooks and callers tell.

        One that loops over training steps is not entered in each: it runs an epoch, or a round.
        """
        entered = dict(self.hooks)
        outgoing: dict[Key, list[Call]] = {}
        waiting: dict[int, list[Key]] = {level: [] for level in (STEP, GUARDED, EPOCH)}
        for key, level in entered.items():
            waiting[level].append(key)

        def enter(call: Call, caller: int) -> None:
            callee = (call.callee_path, call.callee)
            level = _level(call, caller)
            if callee in self.rounds:
                level = min(level, EPOCH)
            if level > entered.get(callee, COLD):
                entered[callee] = level
                waiting[level].append(callee)

        for call in (*self.calls, *self.guesses):
            outgoing.setdefault((call.caller_path, call.caller), []).append(call)
            if call.loop is not Loop.NONE:
                enter(call, COLD)
        for level, callers in waiting.items():  # the hottest first: each is looked at once
            for caller in callers:
                if entered.get(caller) == level:
                    for call in outgoing.pop(caller, ()):
                        enter(call, level)
        return entered

    def entered_nearby(self, functions: set[Key]) -> dict[Key, int]:
        """Return how often these functions are entered, by calls in their own files alone."""
        found = {key: self.hooks.get(key, COLD) for key in functions}
        for call in self.calls:
            key = call.callee_path, call.callee
            if key in functions and call.caller_path == call.callee_path:
                caller = self.hooks.get((call.caller_path, call.caller), COLD)
                found[key] = max(found[key], _level(call, caller))
        return found

    def leading(self) -> set[Key]:
        """Return the functions that read something on the device, themselves or what they call."""
        callers: dict[Key, list[Key]] = {}
        for call in (*self.calls, *self.guesses):
            caller = call.caller_path, call.caller
            callers.setdefault((call.callee_path, call.callee), []).append(caller)
        found = set(self.reading)
        pending = list(found)
        while pending:
            for caller in callers.get(pending.pop(), ()):
                if caller not in found:
                    found.add(caller)
                    pending.append(caller)
        return found

    def spared(self) -> dict[Key, frozenset[int]]:
        """Return the parameters of functions that all calls hand what is in host memory."""
        found: dict[Key, frozenset[int]] = {}
        seen = {call[:4] for call in self.calls}
        others = (call for call in self.guesses if call[:4] not in seen)  # mostly the same calls
        for call in self.calls:
            key = call.callee_path, call.callee
            found[key] = found.get(key, call.spared) & call.spared
        for call in others:  # which leave nothing out that no known call does
            key = call.callee_path, call.callee
            found[key] = frozenset(p for p in found.get(key, call.spared) if p < 0)
        return found


def to_wake(network: Network) -> dict[str, frozenset[str]]:
    """Return the functions left alone, by path, that concern a sync point in a step after all.

    Dormant ones that are called by name in every step somewhere, or by an innocent one; and
    innocent ones that call by name what has come to lead to a sync point: in which loop is to be
    seen.
    """
    files, meant, entered = network.facts, network.meant, network.entered
    called: dict[str, set[str]] = {}  # by path

    def note(keys: Iterable[Key]) -> None:
        for path, function in keys:
            called.setdefault(path, set()).add(function.rpartition(".")[2])

    for call in network.named:
        if _level(call, entered.get((call.caller_path, call.caller), COLD)) == STEP:
            note(meant.of(call))
    innocent = (calls for facts in files.values() for calls in facts.innocent.values())
    for name in frozenset[str]().union(*innocent):
        note(meant.telling.get(name, ()))
    leading = network.leading()
    waiting = {name for name, keys in meant.telling.items() if not leading.isdisjoint(keys)}
    waiting_here: dict[str, set[str]] = {}
    for (path, name), keys in meant.own.items():
        if not leading.isdisjoint(keys):
            waiting_here.setdefault(path, set()).add(name)
    found = {}
    for path, facts in files.items():
        near = called.get(path, set())
        if own := {name for name in facts.dormant if (path, name) in meant.own}:
            near = near.union(*(calls & own for calls in facts.innocent.values()))
        here = waiting_here.get(path, set())
        asking = {
            name
            for name, calls in facts.innocent.items()
            if not waiting.isdisjoint(calls) or not here.isdisjoint(calls)
        }
        if names := (facts.dormant & near) - facts.awake | asking:
            found[path] = frozenset(names)
    return found


# What a program does now and then, though a function that runs in every step may call it.
_RARE = family("function.rare")


def _tests(call: Call) -> bool:
    """Whether a test calls what it tests, which says nothing of how often programs do."""
    if not TEST_CASE(call.caller) or call.callee_path == call.caller_path:
        return False
    return _TEST(f"{call.caller_path}/{call.caller}")


_TEST = family("file.tested_by")


# What saves a model, which no program does in every step.
_CHECKPOINT = family("function.saves")


def _level(call: Call | NamedCall, caller: int) -> int:
    called = (call.name if isinstance(call, NamedCall) else call.callee).rpartition(".")[2]
    if call.loop == Loop.STEP:
        return GUARDED if call.guarded or _CHECKPOINT(called) else STEP
    if caller >= GUARDED:
        return GUARDED if call.guarded or _RARE(called) else caller
    return max(caller, LEVELS[call.loop])
