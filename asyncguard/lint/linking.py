"""How often is each function entered? The call graphs of all files together decide.

A function called from a step loop runs once a step, and so does what it calls. `link` spreads
that over all files, then gives each candidate its final context. A read of a parameter is
reported at the calls that pass a device value, if there are such; else where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from asyncguard.lint.notebook import Notebook
from asyncguard.lint.suppress import Suppression
from asyncguard.lint.words import naming
from asyncguard.model import Confidence, Finding, Loop

Key = tuple[str, str]  # path, qualified name of a function
COLD, EPOCH, GUARDED, STEP = range(4)  # how often a function is entered
_OWN = {Loop.NONE: COLD, Loop.EPOCH: EPOCH, Loop.STEP: STEP}


class Candidate(NamedTuple):
    """A finding whose loop context is as seen within its function.

    `via` are the places inside helpers that a call stands for, down to the read; `params` are those
    of its function that it reads, which is left to the calls where these are known. `named`: only
    its name says that the value is on the device, which is likely where the function is entered in
    every step. What a helper reads is reported there too: then `by` is the call that it reads for,
    by path, function, line and column.
    """

    finding: Finding
    params: frozenset[int] = frozenset()
    via: tuple[tuple[str, int, int], ...] = ()
    named: bool = False
    by: tuple[str, str, int, int] | None = None

    @property
    def function(self) -> Key:
        """Return the function that decides how often it happens."""
        return self.by[:2] if self.by is not None else (self.finding.path, self.finding.function)


class Call(NamedTuple):
    """A call of a function of checked code, with the context within its caller."""

    caller_path: str
    caller: str
    callee_path: str
    callee: str
    loop: Loop
    guarded: bool
    spared: frozenset[int] = frozenset()  # parameters that it hands what is in host memory


class NamedCall(NamedTuple):
    """A call of which only the callee's simple name is known."""

    caller_path: str
    caller: str
    name: str
    loop: Loop
    guarded: bool


class Hook(NamedTuple):
    """A function that its framework enters this often."""

    path: str
    function: str
    loop: Loop


class Class(NamedTuple):
    """A class that inherits or has dormant methods, by the last words of its bases' names."""

    bases: frozenset[str]
    dormant: frozenset[str]


class FileFacts(NamedTuple):
    """What the check of one file told: candidates, calls, and functions that frameworks enter.

    Functions of other files that it calls are in it too.
    """

    path: str
    candidates: tuple[Candidate, ...] = ()
    calls: tuple[Call, ...] = ()
    hooks: tuple[Hook, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    notebook: Notebook | None = None
    named: tuple[NamedCall, ...] = ()
    defined: tuple[tuple[str, str], ...] = ()  # simple and qualified names of what was analysed
    dormant: frozenset[str] = frozenset()  # names of functions left alone, for all seemed cold
    awake: frozenset[str] = frozenset()  # those of them that were run as what others call
    innocent: Mapping[str, frozenset[str]] = {}  # what others left alone,
    # where all calls seemed to lead to no sync point, call
    rounds: frozenset[Key] = frozenset()  # functions that loop over training steps
    classes: Mapping[str, Class] = {}  # by their names

    def with_woken(self, names: frozenset[str], more: FileFacts) -> FileFacts:
        """Add what the analysis of the dormant functions of these names told."""
        return self._replace(
            candidates=self.candidates + more.candidates,
            calls=self.calls + more.calls,
            hooks=self.hooks + more.hooks,
            named=self.named + more.named,
            defined=self.defined + more.defined,
            rounds=self.rounds | more.rounds,
            dormant=self.dormant - names,
            innocent={name: calls for name, calls in self.innocent.items() if name not in names},
        )


class Linked(NamedTuple):
    """What is to be said of a file: findings in their final context, what silences and places them.

    It is the same for all settings that the analysis was made for.
    """

    findings: tuple[Finding, ...]
    suppressions: tuple[Suppression, ...] = ()
    notebook: Notebook | None = None


# Names that say nothing of whose method is called: those of Python's own types, and of arrays.
_COMMON = frozenset(
    {
        *(name for kind in (str, bytes, list, dict, set, object) for name in dir(kind)),
        "abs", "all", "any", "argmax", "argmin", "argsort", "astype", "bmm", "bool", "cat", "ceil",
        "chunk", "clamp", "clip", "clone", "concat", "concatenate", "contiguous", "cos", "cpu",
        "cuda", "cumsum", "detach", "diag", "div", "dot", "einsum", "exp", "expand", "flatten",
        "flip", "float", "floor", "gather", "half", "int", "item", "log", "long", "matmul", "max",
        "maximum", "mean", "median", "min", "minimum", "mm", "mul", "narrow", "norm", "numel",
        "numpy", "ones", "outer", "pad", "permute", "pow", "prod", "ravel", "relu", "repeat",
        "reshape", "rsqrt", "scatter", "sigmoid", "sin", "softmax", "sqrt", "squeeze", "stack",
        "std", "sub", "sum", "swapaxes", "tan", "tanh", "tile", "to", "tolist", "topk", "transpose",
        "tril", "triu", "type", "unbind", "unflatten", "unfold", "unsqueeze", "var", "view",
        "zeros",
    }
)  # fmt: skip
ANYBODY = frozenset({""})  # whose method it is
# Definitions of a name of several words, of one, and of a method left to subclasses.
MANY, FEW, MOST = 12, 1, 40


def is_telling(name: str, definitions: int = 1) -> bool:
    """Whether a name, of so many functions, is rare enough to say what is called by it.

    `Base.method` is a method that a class leaves to its subclasses, `.method` one of any class.
    """
    if "." in name:
        return definitions <= MOST
    limit = MANY if "_" in name.strip("_") else FEW
    return definitions <= limit and name not in _COMMON and not name.startswith("__")


class Definitions(NamedTuple):
    """The functions that calls by name may mean.

    A name that too many files use tells in its own file still: one of many scripts that are alike.
    """

    telling: Mapping[str, set[Key]]
    own: Mapping[Key, set[Key]]  # by path and name

    def of(self, call: NamedCall) -> Collection[Key]:
        """Return the functions that a call may mean."""
        return self.telling.get(call.name) or self.own.get((call.caller_path, call.name), set())


def definitions(files: Collection[FileFacts], above: Mapping[str, set[str]]) -> Definitions:
    """Return the functions that calls by name may mean, by their telling names.

    `above`: the classes of each name together with what they inherit from.
    """
    found: dict[str, set[Key]] = {}
    owners: dict[str, set[str]] = {}  # the classes that define a method
    called = {call.name for facts in files for call in facts.named}
    wanted: dict[str, set[str]] = {}  # methods, by what is said of whose they are
    for base, dot, method in (name.rpartition(".") for name in called):
        if dot:
            wanted.setdefault(method, set()).add(base)
    asked = called.union(*(calls for facts in files for calls in facts.innocent.values()))

    def note(name: str, key: Key) -> None:
        if name in asked:
            found.setdefault(name, set()).add(key)

    def note_method(name: str, owner: str, key: Key) -> None:
        if name in asked:
            owners.setdefault(name, set()).add(owner)
        if bases := wanted.get(name):
            for base in bases & (above.get(owner, ANYBODY) | ANYBODY):
                found.setdefault(f"{base}.{name}", set()).add(key)

    for facts in files:
        for name, qualname in facts.defined:
            key = (facts.path, qualname)
            note(name, key)
            if owner := qualname.rpartition(".")[0].rpartition(".")[2]:
                note_method(name, owner, key)
        asleep = facts.dormant - facts.awake
        for name in asleep.difference(name for name, _ in facts.defined):
            note(name, (facts.path, name))
        for owner, known in facts.classes.items():
            for name in known.dormant & asleep:
                note_method(name, owner, (facts.path, name))
    telling: dict[str, set[Key]] = {}
    own: dict[Key, set[Key]] = {}
    for name, keys in found.items():
        if len(keys) <= MOST and _tells(name, len(keys), owners.get(name, set()), above):
            telling[name] = keys
        elif is_telling(name, MANY):
            for path, function in keys:
                own.setdefault((path, name), set()).add((path, function))
    return Definitions(telling, {k: keys for k, keys in own.items() if len(keys) <= MANY})


def _tells(name: str, count: int, owners: set[str], above: Mapping[str, set[str]]) -> bool:
    """Whether a name tells what is called by it; methods that override others count as one."""
    if is_telling(name, count) or not is_telling(name):
        return is_telling(name, count)
    overriding = sum(_overrides(owner, owners, above) for owner in owners)
    return is_telling(name, max(count - overriding, 1))


def _overrides(owner: str, owners: set[str], above: Mapping[str, set[str]]) -> bool:
    """Whether a class inherits what it defines from another of these: it means the same."""
    return any(base != owner and base in owners for base in above.get(owner, ()))


def _above(files: Iterable[FileFacts]) -> dict[str, set[str]]:
    """Return the classes of each name together with what they inherit from, as far as is seen."""
    bases: dict[str, set[str]] = {}
    for facts in files:
        for name, known in facts.classes.items():
            bases.setdefault(name, set()).update(known.bases)
    found = {}
    for name in bases:
        found[name] = {name}
        pending = [name]
        while pending:
            new = bases.get(pending.pop(), set()) - found[name]
            found[name] |= new
            pending += new
    return found


class Network:
    """Who calls whom in files, and how often each function is entered; by the files' paths.

    `before`: that of the same files before more of their functions were looked at.
    """

    def __init__(self, facts: Mapping[str, FileFacts], before: Network | None = None) -> None:
        self.facts = facts
        files = facts.values()
        self.above: dict[str, set[str]] = _above(files) if before is None else before.above
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
            (hook.path, hook.function): _OWN[hook.loop] for facts in files for hook in facts.hooks
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
_RARE = naming(
    r"^_*(save|load|export|plot|visuali[sz]e|set_?up|initiali[sz]e|teardown|finalize|reset)(_|$)"
    r"|state_dict|(save|load)_checkpoint|[^_]_init$|^_*(un)?merge(_and_unload)?$|^from_pretrained$"
)


def _tests(call: Call) -> bool:
    """Whether a test calls what it tests, which says nothing of how often programs do."""
    if "test_" not in call.caller or call.callee_path == call.caller_path:
        return False
    return _TEST(f"{call.caller_path}/{call.caller}")


_TEST = naming(r"(^|[/\\])tests?[/\\](.*[/\\.])?test_\w*$")


# What saves a model, which no program does in every step.
_CHECKPOINT = naming(
    r"^_*(save|write|dump|store).*(check_?point|ckpt|snapshot|model|weights|network)"
    r"|^(get|make|build)_(checkpoint|ckpt)|(checkpoint|ckpt)_(state|dict)|^_*save$",
    re.IGNORECASE,
)


def _level(call: Call | NamedCall, caller: int) -> int:
    called = (call.name if isinstance(call, NamedCall) else call.callee).rpartition(".")[2]
    if call.loop == Loop.STEP:
        return GUARDED if call.guarded or _CHECKPOINT(called) else STEP
    if caller >= GUARDED:
        return GUARDED if call.guarded or _RARE(called) else caller
    return max(caller, _OWN[call.loop])


def link(network: Network) -> dict[str, Linked]:
    """Give every candidate of every file its final context."""
    files = network.facts
    candidates = {c for facts in files.values() for c in facts.candidates}
    told = {
        place
        for c in candidates
        if not _is_doubtful(c)
        for place in c.via
        if place[0] == c.finding.path
    }
    spared = network.spared()
    nearby = network.entered_nearby({c.function for c in candidates if _is_wrapped_barrier(c)})
    found: dict[str, list[Finding]] = {path: [] for path in files}
    for candidate in candidates:
        finding = candidate.finding
        function = candidate.function
        levels = network.entered
        if function in nearby and _is_wrapped_barrier(candidate):
            levels = nearby
        if params := candidate.params:
            by = candidate.by or (finding.path, finding.function, finding.line, finding.column)
            at_calls = (by[0], *by[2:]) in told
            if at_calls or _is_spared(params, spared.get(function, frozenset())):
                levels = network.hooks
        level = levels.get(function, COLD)
        if candidate.named and level >= GUARDED:
            finding = replace(finding, confidence=Confidence.MEDIUM)
        found[finding.path].append(in_context(finding, level))
    return {
        path: Linked(
            tuple(worded(f) for f in _hottest(findings)),
            files[path].suppressions,
            files[path].notebook,
        )
        for path, findings in found.items()
    }


def _is_spared(params: frozenset[int], spared: frozenset[int]) -> bool:
    """Whether no call hands a function what it reads, or all what spares it to make that (`~p`)."""
    read = {p for p in params if p >= 0}
    return (bool(read) and read <= spared) or any(p < 0 for p in params & spared)


def _hottest(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Keep one finding of what several callers heat: that of the hottest, or else the surest."""
    kept: dict[tuple[int, int, int, int, str, str], Finding] = {}
    for finding in findings:
        place = finding.line, finding.column, finding.end_line, finding.end_column
        key = (*place, finding.code, finding.api)
        if key not in kept or _heat(finding) > _heat(kept[key]):
            kept[key] = finding
    return kept.values()


def _heat(finding: Finding) -> tuple[int, bool, int, str, str]:
    sure = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH).index(finding.confidence)
    return _OWN[finding.loop], not finding.guarded, sure, finding.message, finding.advice


def _is_wrapped_barrier(candidate: Candidate) -> bool:
    """Whether it is a barrier in a function that is one, by its name: whoever calls it, waits."""
    finding = candidate.finding
    barrier = finding.code in ("ASG201", "ASG202")
    return barrier and _BARRIER(finding.function.rpartition(".")[2])


_BARRIER = naming(
    r"(^|_)(barrier|synchroni[sz]e|sync|wait)(_|$)|(zero|main|master|process|rank)_first$",
    re.IGNORECASE,
)


def _is_doubtful(candidate: Candidate) -> bool:
    return candidate.finding.confidence == Confidence.LOW and not candidate.named


def in_context(finding: Finding, level: int) -> Finding:
    """Return the finding with the context that its function's entry level gives it."""
    if finding.loop == Loop.STEP or level == COLD:
        return finding
    if level == EPOCH:
        return replace(finding, loop=Loop.EPOCH)
    return replace(finding, loop=Loop.STEP, guarded=finding.guarded or level == GUARDED)


def worded(finding: Finding) -> Finding:
    """Say in the message how often it happens."""
    when = {Loop.STEP: "in every step", Loop.EPOCH: "in every epoch", Loop.NONE: "here"}
    words = "in some steps" if finding.guarded and finding.loop == Loop.STEP else when[finding.loop]
    return replace(finding, message=finding.message.replace("{when}", words))
