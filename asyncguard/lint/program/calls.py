"""The calls of checked code, known and by name, of the facts of all files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from asyncguard.lint.domain.dependence import GIVEN, INDEPENDENT, TOLD
from asyncguard.lint.domain.handed import Signature
from asyncguard.lint.domain.hotness import ONCE, Context
from asyncguard.lint.domain.reasons import Provenance, Reason
from asyncguard.lint.program.definitions import Definitions, is_override
from asyncguard.lint.program.facts import Call, FileFacts, FunctionId, NamedCall, Passed
from asyncguard.model import Loop


def of_sources(files: Mapping[str, FileFacts]) -> Iterator[Call]:
    """Yield the calls in all files; what was generated is called in what it was generated from."""
    for facts in files.values():
        for call in facts.calls:
            called = files.get(call.callee_path)
            yield call._replace(callee_path=called.source) if called and called.source else call


def by_passing(
    files: Iterable[FileFacts], signatures: Mapping[FunctionId, Signature]
) -> Iterator[Call]:
    """Yield the calls of functions that are passed, by a parameter or an attribute.

    What a call passes, and its callee calls, is entered by that call, not by all of the callee's.
    """
    passed = handed_on({each for facts in files for each in facts.passed})
    for call in (call for facts in files for call in facts.named if call.name in passed):
        own = call.name.startswith(f"{call.caller_path}:{call.caller}(")
        for each in passed[call.name]:
            place = (*each.caller, each.line) if own else (call.caller_path, call.caller, call.line)
            context = call.context.within(each.context.hotness) if own else call.context
            for found in _meant(call, each.function, signatures, place, context):
                yield found._replace(hot=_in_callee(call)) if own else found


def handed_on(passed: Collection[Passed]) -> dict[str, set[Passed]]:
    """Return what is passed by each name, itself or by way of a parameter that is handed on.

    A round goes one hop on from those before it, in whatever order they are taken.
    """
    found: dict[str, set[Passed]] = {}
    hops = [each for each in passed if each.through]
    new = [each for each in passed if not each.through]
    for _ in range(MOST_HOPS + 1):
        for each in new:
            found.setdefault(each.name, set()).add(each)
        last: dict[str, list[Passed]] = {}
        for each in new:
            last.setdefault(each.name, []).append(each)
        new = [
            given._replace(name=hop.name, context=hop.context.within(given.context.hotness))
            for hop in hops
            for given in last.get(hop.through, ())
        ]
    return found


MOST_HOPS = 3  # from parameter to parameter


def gives_there(
    callers: Mapping[FunctionId, tuple[list[Call], list[Call]]],
    method: FunctionId,
    index: int,
    hops: int,
) -> bool:
    """Whether a call gives a device value, or a container of some, for a parameter that is kept.

    Itself, or by what its own callers hand it, so many calls up at most.
    """
    known, _ = callers.get(method, ([], []))
    given = [(call, own) for call in known for own, theirs in call.gives if theirs == index]
    if any(own == TOLD for _, own in given):
        return False
    handed_on = [((call.caller_path, call.caller), own) for call, own in given if own >= 0]
    return any(own == GIVEN for _, own in given) or any(
        hops > 0 and gives_there(callers, caller, own, hops - 1) for caller, own in handed_on
    )


def _in_callee(call: NamedCall) -> Reason | None:
    """Return why the call of a parameter is repeated, where it stands in a loop of its function."""
    text = f"`{call.caller.rpartition('.')[2]}` calls in a loop what it is passed"
    reason = Reason(Provenance.CALL, text, call.caller_path, call.line)
    return reason if call.context.loop is not Loop.NONE else None


def by_name(
    files: Iterable[FileFacts], meant: Definitions, signatures: Mapping[FunctionId, Signature]
) -> Iterator[Call]:
    """Yield the calls that a name may mean, of functions that take what is handed."""
    for call in {call for facts in files for call in facts.named}:
        place = call.caller_path, call.caller, call.line
        for key in meant.of(call):
            yield from _meant(call, key, signatures, place, call.context)


def _meant(
    call: NamedCall,
    function: FunctionId,
    signatures: Mapping[FunctionId, Signature],
    place: tuple[str, str, int],
    context: Context,
) -> Iterator[Call]:
    """Yield a call by name as one of this function, if that takes what the call hands.

    What overrides the method of a known class is meant whatever it takes.
    """
    path, caller, line = place
    taken = signatures.get(function)
    takes = taken is not None and taken.takes(call.handed)
    if taken is not None and (takes or is_override(call.name)):
        handed = taken.handed(call.handed) if takes else INDEPENDENT
        yield Call(path, caller, *function, context, handed, line=line)


def wrapped(files: Mapping[str, FileFacts]) -> Iterator[Call]:
    """Yield calls by which decorated functions enter what is defined in their decorators."""
    for facts in files.values():
        for (path, function), (home, decorator), line in facts.decorated:
            for _, inner, _ in files[home].defined if home in files else ():
                if inner.startswith(f"{decorator}."):
                    yield Call(path, function, home, inner, ONCE, line=line)


def asked(files: Iterable[FileFacts]) -> Iterator[str]:
    """Yield the options that any place hangs on."""
    for facts in files:
        for context in (*(c.context for c in facts.calls), *(c.context for c in facts.named)):
            yield from context.switches
        for candidate in facts.candidates:
            yield from candidate.switches


def of_options_alone(calls: Iterable[Call], off: Collection[str]) -> frozenset[FunctionId]:
    """Return the functions that are called only for options which are off, or by such functions."""
    ways: dict[FunctionId, set[FunctionId | None]] = {}
    for call in calls:
        closed = not call.context.switches.isdisjoint(off)
        caller = None if closed else (call.caller_path, call.caller)
        ways.setdefault((call.callee_path, call.callee), set()).add(caller)
    found: set[FunctionId | None] = {None}
    before = 0
    while len(found) != before:
        before = len(found)
        found.update([key for key, callers in ways.items() if callers <= found])
    return frozenset(key for key in found if key is not None)


def reached(
    start: Iterable[FunctionId], ways: Mapping[FunctionId, Iterable[FunctionId]]
) -> set[FunctionId]:
    """Return what these ways lead to from there, with where they start."""
    found = set(start)
    waiting = [*found]
    while waiting:
        new = {*ways.get(waiting.pop(), ())} - found
        found |= new
        waiting += new
    return found
