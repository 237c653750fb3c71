"""The call graph of all checked files, and how often each function is entered.

A function that is called from a step loop runs once a step, and so does what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from asyncguard.lint.domain.dependence import Dependence
from asyncguard.lint.domain.handed import Signature
from asyncguard.lint.domain.hotness import OF_LOOP, Hotness
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.names import family
from asyncguard.lint.program import calls
from asyncguard.lint.program.choosing import unchosen
from asyncguard.lint.program.definitions import classes_above, definitions
from asyncguard.lint.program.facts import Call, FileFacts, FunctionId, Hook
from asyncguard.lint.program.levels import level_of
from asyncguard.lint.program.reach import Reach, module_name, users_of
from asyncguard.lint.source.switches import NO_SWITCHES, Switches, settled, sum_of
from asyncguard.model import Loop

_TEST_CASE = family("function.test_case")
_TESTS = family("file.test")
HOPS = 4  # by which an argument is handed on from caller to caller, at most


class CallGraph:
    """Who calls whom in files, and how often each function is entered; by the files' paths."""

    def __init__(self, facts: Mapping[str, FileFacts], configured: Switches = NO_SWITCHES) -> None:
        """`configured`: what configuration files and launch scripts say."""
        self.facts = facts
        self._reach = Reach(facts, configured.words)
        files = facts.values()
        programs = [each.options for each in files if not _TESTS(each.path)]
        self.off = settled(programs, calls.asked(files), configured)
        self.compiled = frozenset[FunctionId]().union(*(facts.compiled for facts in files))
        self._above = above = classes_above(files)
        signatures = {
            (each.path, qualname): signature
            for each in files
            for _, qualname, signature in each.defined
        }
        passing = calls.by_passing(files, signatures)
        seen = (*calls.of_sources(facts), *passing, *calls.wrapped(facts))
        guesses = [*calls.by_name(files, definitions(files, above), signatures)]
        self.calls = list(filter(self._runs, {*map(self._decided, seen)}))
        self.guesses = list(filter(self._runs, map(self._decided, guesses)))
        self.rounds = frozenset[FunctionId]().union(*(facts.rounds for facts in files))
        ways = (call for call in (*seen, *guesses) if not _tests(call))
        hooks = [hook for facts in files for hook in facts.hooks]
        self.hooked = {(hook.path, hook.function): hook for hook in hooks}
        entered = {key for key in self.hooked if key not in signatures or signatures[key].has_self}
        closed = calls.of_options_alone(ways, self.off) - entered  # by others
        left = unchosen(files, configured, _TESTS)
        self.fallbacks = left.union(closed, *(facts.fallbacks for facts in files))
        self._seldom = self.fallbacks.union(*(facts.draws for facts in files))
        self.hooks: dict[FunctionId, Hotness] = {}
        self._enter(hooks, signatures)
        self.runs = self._runs_of(files)
        self.entered = self._entries()

    def _enter(self, hooks: Iterable[Hook], signatures: Mapping[FunctionId, Signature]) -> None:
        """Fill in how often what a framework enters runs."""
        for hook in hooks:
            if not self.is_aside(hook.function):
                self.hooks[hook.path, hook.function] = OF_LOOP[hook.loop]
        self.hooks.update(self._between_epochs(signatures))
        self.hooks.update(self._in_epochs({(h.path, h.function) for h in hooks if h.named}))
        for key in self._of_data():
            del self.hooks[key]
        for key in self._seldom & self.hooks.keys():
            self.hooks[key] = min(self.hooks[key], Hotness.RARE)

    def _decided(self, call: Call) -> Call:
        """Return a call as one that an option which is off makes rare, if it hangs on any."""
        context = call.context.decided(self.off)
        return call if context is call.context else call._replace(context=context)

    def _between_epochs(
        self, signatures: Mapping[FunctionId, Signature]
    ) -> dict[FunctionId, Hotness]:
        """Return the plain functions, named like hooks of steps, that only hooks of epochs call.

        A framework enters methods; of others, the calls in sight say more than their names.
        """
        callers: dict[FunctionId, set[Hotness | None]] = {
            key: set()
            for key, level in self.hooks.items()
            if level is Hotness.STEP and key in signatures and not signatures[key].has_self
        }
        for call in (*self.calls, *self.guesses):
            if (key := (call.callee_path, call.callee)) in callers:
                callers[key].add(self.hooks.get((call.caller_path, call.caller)))
        return {key: Hotness.EPOCH for key, levels in callers.items() if levels == {Hotness.EPOCH}}

    def _runs_of(self, files: Iterable[FileFacts]) -> set[FunctionId]:
        """Return the functions that run many steps which follow from each other, and their callers.

        What they do beside these they do once a run: a generation, a sampling. What a framework
        enters in every step is none, nor what a step of another run calls: a draft of few tokens.
        """
        up: dict[FunctionId, list[FunctionId]] = {}
        steps: set[FunctionId] = set()
        for call in (*self.calls, *self.guesses):
            caller, callee = (call.caller_path, call.caller), (call.callee_path, call.callee)
            if call.context.loop is Loop.NONE and not call.context.guarded:
                up.setdefault(callee, []).append(caller)
            if call.hot is not None and call.hot.kind is Provenance.REPEATS:
                steps.add(callee)
        within = calls.reached(steps, self._callees)
        runs = set[FunctionId]().union(*(facts.runs for facts in files))
        found = calls.reached(runs, up)
        return found - within - {key for key in found - runs if key in self.hooks}

    def _in_epochs(self, named: set[FunctionId]) -> dict[FunctionId, Hotness]:
        """Return those of which names alone say that they are steps, but calls that they are none.

        Some stand in loops over epochs, none in steps: `for epoch in epochs: self._test_step()`.
        """
        loops: dict[FunctionId, set[Hotness]] = {}
        for call in self.calls:
            if (key := (call.callee_path, call.callee)) in named and key in self.hooks:
                loops.setdefault(key, set()).add(self._of_place(call))
        return {
            key: Hotness.EPOCH
            for key, found in loops.items()
            if Hotness.EPOCH in found and Hotness.STEP not in found
        }

    def _of_place(self, call: Call) -> Hotness:
        """Return how often a call is made, as far as its place and its function's hook tell."""
        caller = call.caller_path, call.caller
        whole = Hotness.EPOCH if caller in self.rounds else Hotness.COLD
        return max(OF_LOOP[call.context.loop], self.hooks.get(caller, whole))

    def _of_data(self) -> list[FunctionId]:
        """Return the hooks that only what prepares data calls, on the host: parts of no model."""
        callers: dict[FunctionId, set[str]] = {key: set() for key in self.hooks}
        for call in self.calls:
            if (key := (call.callee_path, call.callee)) in callers:
                callers[key].add(call.caller)
        return [key for key, found in callers.items() if found and all(map(self.is_aside, found))]

    def is_aside(self, function: str) -> bool:
        """Whether a function prepares data on the host, beside the steps: of a processor.

        Or of a pipeline, before it moves inputs to the device and after it fetched the outputs.
        """
        path, dot, name = function.rpartition(".")
        if not dot:
            return False
        owner = path.rpartition(".")[2]
        if self._is_model(owner):
            return False
        names = self._above.get(owner, {owner})
        if any(map(_PIPELINE, names)):
            return _PIPES(name)
        return any(map(_PREPARES, names)) and not _OF_OUTPUTS(name)

    def _makes_model(self, function: str) -> bool:
        """Whether a function sets a model up, or a part of one, which no program does in a step."""
        path, _, name = function.rpartition(".")
        return name == "__init__" and self._is_model(path.rpartition(".")[2])

    def _is_model(self, owner: str) -> bool:
        return any(map(_MODEL, self._above.get(owner, {owner})))

    def _runs(self, call: Call) -> bool:
        """Whether a call says how often a program runs: not in a test, nor while it is traced."""
        return not _tests(call) and (call.caller_path, call.caller) not in self.compiled

    def _entries(self) -> dict[FunctionId, Hotness]:
        """Return how often each function is entered, as far as hooks and callers tell.

        One that loops over training steps is not entered in each: it runs an epoch, or a round.
        """
        entered = dict(self.hooks)
        outgoing: dict[FunctionId, list[Call]] = {}
        waiting: dict[Hotness, list[FunctionId]] = {}
        for level in sorted(Hotness, reverse=True):  # the hottest first: each is looked at once
            waiting[level] = []
        for key, level in entered.items():
            waiting[level].append(key)

        def enter(call: Call, caller: Hotness) -> None:
            callee = (call.callee_path, call.callee)
            level = self.level(call, caller)
            if level > entered.get(callee, Hotness.COLD):
                entered[callee] = level
                waiting[level].append(callee)

        for call in (*self.calls, *self.guesses):
            outgoing.setdefault((call.caller_path, call.caller), []).append(call)
            if call.context.loop is not Loop.NONE:
                enter(call, Hotness.COLD)
        for level, callers in waiting.items():
            for caller in callers:
                if entered.get(caller) == level:
                    for call in outgoing.pop(caller, ()):
                        enter(call, level)
        return entered

    def entered_nearby(self, functions: set[FunctionId]) -> dict[FunctionId, Hotness]:
        """Return how often these functions are entered, by calls in their own files alone."""
        found = {key: self.hooks.get(key, Hotness.COLD) for key in functions}
        for call in self.calls:
            key = call.callee_path, call.callee
            if key in functions and call.caller_path == call.callee_path:
                caller = self.hooks.get((call.caller_path, call.caller), Hotness.COLD)
                found[key] = max(found[key], level_of(call, caller))
        return found

    def level(self, call: Call, caller: Hotness) -> Hotness:
        """Return how often a call enters its callee: no step if that runs many or makes a model."""
        level = Hotness.COLD if self.is_aside(call.callee) else level_of(call, caller)
        callee = call.callee_path, call.callee
        if callee in self.rounds or self._begins_run(call) or self._makes_model(call.callee):
            level = min(level, Hotness.EPOCH)
        return min(level, Hotness.RARE) if callee in self._seldom else level

    def _begins_run(self, call: Call) -> bool:
        """Whether a call runs many steps, and stands in no run, nor in a loop over batches."""
        if (call.callee_path, call.callee) not in self.runs:
            return False
        of_batch = call.hot is not None and call.hot.kind is Provenance.LOADER
        return not of_batch and (call.caller_path, call.caller) not in self.runs

    @cached_property
    def _callers(self) -> dict[FunctionId, tuple[list[Call], list[Call]]]:
        """The known calls of each function, and those by name that are none of these."""
        found: dict[FunctionId, tuple[list[Call], list[Call]]] = {}
        seen = {call[:4] for call in self.calls}
        for call in self.calls:
            found.setdefault((call.callee_path, call.callee), ([], []))[0].append(call)
        for call in self.guesses:
            if call[:4] not in seen:
                found.setdefault((call.callee_path, call.callee), ([], []))[1].append(call)
        return found

    def known_calls(self, function: FunctionId) -> list[Call]:
        """Return the calls of a function that are known by more than its name."""
        return self._callers.get(function, ([], []))[0]

    def calls_of(self, function: FunctionId) -> list[Call]:
        """Return the calls of a function, those too that are known by its name alone."""
        known, guesses = self._callers.get(function, ([], []))
        return [*known, *guesses]

    def causing(self, function: FunctionId, params: Dependence, hops: int = HOPS) -> Hotness:
        """Return how often calls enter a function that may cause what depends on its parameters.

        Calls by name leave nothing out that no known call does. Where all known calls are those of
        other classes, and none of them causes it, the framework's calls come by way of these. What
        a caller hands on of its own parameters is as its own callers handed it.
        """
        known, guesses = self._callers.get(function, ([], []))
        passed = bool(known) and all(params.is_given_by(call.handed) for call in known)
        causing = [call for call in known if not self._rules_out(call, params)]
        if not passed:
            causing += [call for call in guesses if not self._rules_out(call, params)]
        levels = [self.level(call, self._entered_causing(call, params, hops)) for call in causing]
        ruled_out = bool(known) and not causing and not any(map(_is_of_own_class, known))
        aside = ruled_out or bool(params.when_host)
        hook = Hotness.COLD if aside else self.hooks.get(function, Hotness.COLD)
        return max([hook, *levels])

    def _rules_out(self, call: Call, params: Dependence, hops: int = 0) -> bool:
        """Whether a call does not cause what depends on its callee's parameters.

        Nor does one that hands on options of its caller, which no call of that gives.
        """
        if params.is_ruled_out_by(call.handed):
            return True
        own = params.options.renamed([(theirs, index) for index, theirs in call.handed_on])
        caller = call.caller_path, call.caller
        return bool(own) and hops < _MOST_HOPS and self.is_closed(caller, own, hops + 1)

    def _entered_causing(self, call: Call, params: Dependence, hops: int) -> Hotness:
        """Return how often a call is entered by calls of its caller that may cause what it does."""
        asked = params.of_caller(call.handed_on)
        if not hops or not asked or params.when_host:
            return self.entered_by(call)
        caller = call.caller_path, call.caller
        return min(self.entered_by(call), self.causing(caller, asked, hops - 1))

    def is_closed(self, function: FunctionId, params: Dependence, hops: int = 0) -> bool:
        """Whether no call in sight gives the options that this hangs on, and no framework may.

        Then it does not happen there, though it stands in a loop of its own function.
        """
        options = params.options
        known, guesses = self._callers.get(function, ([], []))
        if not options or not known or function in self.hooks:
            return False
        return all(self._rules_out(call, options, hops) for call in (*known, *guesses))

    def is_caused(self, function: FunctionId, params: Dependence) -> bool:
        """Whether a known call hands arrays in host memory, where what depends on it asks for that.

        A framework, and a call that is known by a name alone, hand no one knows what.
        """
        known, _ = self._callers.get(function, ([], []))
        asks = bool(params.when_host)
        return not asks or any(not params.is_ruled_out_by(call.handed) for call in known)

    def is_handed(self, function: FunctionId, params: Dependence) -> bool:
        """Whether a call that is known by its name hands a value on the device for one of these.

        Where a call is known by more, what it causes is told of it; but not elsewhere, by methods
        that read what one was handed before, and kept.
        """
        kept = (((path, method), index) for path, method, index in params.kept)
        if any(calls.gives_there(self._callers, method, index, HOPS) for method, index in kept):
            return True
        _, guesses = self._callers.get(function, ([], []))
        return any(
            not params.on.isdisjoint(call.handed.unless_array - call.handed.on)
            and not params.is_ruled_out_by(call.handed)
            for call in guesses
        )

    def known_of(self, path: str, function: str) -> Iterator[str]:
        """Yield who uses a function, the class that it is of, and its file, as items of evidence.

        That is told by their names; unit tests do not count.
        """
        head = function.partition(".")[0]
        users = self._users.get(sum_of(head), set())
        others = users - {path}
        yield f"reach.{self._reach.by(path, function)}"
        yield f"used.{'elsewhere' if others else 'here' if users else 'nowhere'}"
        importing = self._users.get(sum_of(module_name(path)), set()) - {path}
        yield f"file.{'imported' if importing else 'alone'}"
        if path in self._users.get(sum_of("__name__"), set()):
            yield "file.main"
        known, guesses = self._callers.get((path, function), ([], []))
        yield f"callers.{min(len(known), 2)}"
        if guesses:
            yield "callers.by_name"
        if known:
            level = max(self.level(call, self.entered_by(call)) for call in known)
            yield f"called.{level.name.lower()}"
        if (path, function) in self.trained:
            yield "reached.by_training"

    @cached_property
    def trained(self) -> set[FunctionId]:
        """The functions that are training steps, and what these call."""
        start = {k for k, h in self.hooked.items() if h.by == "trains" and h.loop is Loop.STEP}
        for call in (*self.calls, *self.guesses):
            trains = call.hot is not None and call.hot.kind is Provenance.TRAINS
            if trains and call.context.loop is Loop.STEP:
                start.add((call.callee_path, call.callee))
        return calls.reached(start, self._callees)

    @cached_property
    def _callees(self) -> dict[FunctionId, list[FunctionId]]:
        """The functions that each function calls, known or by name."""
        found: dict[FunctionId, list[FunctionId]] = {}
        for call in (*self.calls, *self.guesses):
            found.setdefault((call.caller_path, call.caller), []).append(
                (call.callee_path, call.callee)
            )
        return found

    @cached_property
    def _users(self) -> dict[int, set[str]]:
        """The files, but for unit tests, that use what findings stand in, by sums of its names."""
        return users_of(self.facts)

    def entered_by(self, call: Call) -> Hotness:
        """Return how often the caller of a call is entered."""
        return self.entered.get((call.caller_path, call.caller), Hotness.COLD)


def _tests(call: Call) -> bool:
    """Whether a test calls what it tests, which says nothing of how often programs do."""
    if not _TEST_CASE(call.caller) or call.callee_path == call.caller_path:
        return False
    return _TESTS(call.caller_path)


_MOST_HOPS = 4  # of an option that functions hand on

# Classes that prepare data on the host, and their methods that take a model's outputs.
_PREPARES, _MODEL = family("role.prepares"), family("role.runs_a_model")
_OF_OUTPUTS = family("function.takes_outputs")
# Pipelines, which do the same before and after they run a model.
_PIPELINE, _PIPES = family("role.pipeline"), family("function.pipes")


def _is_of_own_class(call: Call) -> bool:
    """Whether a method calls one of its own class, which others call as well then."""
    owner = call.callee.rpartition(".")[0]
    same = call.caller_path == call.callee_path and call.caller.rpartition(".")[0] == owner
    return same and owner != ""
