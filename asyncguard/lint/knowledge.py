"""The catalogue, arranged for quick questions: what does this name return, does this call block?

`Knowledge` compiles the rules files once a process into exact tables and patterns. The
interpreter asks it about dotted names (imports resolved), methods, protocols and operators; the
names of foreign APIs are all in the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from asyncguard import additions
from asyncguard.additions import Addition
from asyncguard.catalogue import Catalogue, Framework, Region, SyncPoint, Trigger
from asyncguard.lint.names import family
from asyncguard.lint.names.patterns import Patterns, literal_start, matcher
from asyncguard.lint.names.words import MAX_NAMES, compiled

# Names of what is chosen, not of values: `use_model`, `enable_loss`.
_SWITCH = family("value.switch")
_STATE = family("state.training")
_UPDATES = family("function.updates")


def _last_parts(names: Iterable[str]) -> frozenset[str]:
    """Return the methods of the dotted ones: `update` of "metric.update"."""
    return frozenset(name.rpartition(".")[2] for name in names if "." in name)


MORE = "..."  # ends a list of parameters to which others may follow


def _calls(methods: tuple[str, ...], text: str) -> bool:
    """Whether one of these methods is called in a text."""
    any_of = "|".join(map(re.escape, methods))
    return bool(methods) and compiled(rf"\.({any_of})\(").search(text) is not None


class RegionMakers:
    """What makes regions, in all frameworks, by name."""

    def __init__(self, known: Iterable[Region]) -> None:
        regions = tuple(known)
        self.contexts = {name: region for region in regions for name in region.contexts}
        self.functions = {name: region for region in regions for name in region.functions}
        self.disables = {name: region for region in regions for name in region.disables}
        self.methods = {name: region for region in regions for name in region.methods}
        self.begins = {name: region for region in regions for name in region.begins}
        self.ends = {name: region for region in regions for name in region.ends}
        self.of_methods = frozenset({*self.methods, *self.begins, *self.ends})


class Knowledge:
    """What the catalogue says, by the questions that the interpreter asks."""

    def __init__(self, table: Catalogue) -> None:
        self.catalogue = table
        self.frameworks: Mapping[str, Framework] = table.frameworks
        frameworks = list(table.frameworks.values())
        self.language = table.language
        self._index_modules(frameworks)
        self._index_values(frameworks)
        self._index_masks(frameworks)
        self._index_memory(frameworks)
        self._index_functions(frameworks)
        self._index_sync(table)
        self._index_steps(frameworks)
        self._index_triggers(table.triggers)
        self.clocks = frozenset(table.clocks)

    def _index_modules(self, frameworks: list[Framework]) -> None:
        self.module_framework = {
            name: f.name for f in frameworks for name in (*f.companions, *f.modules)
        }
        self.aliases = {alias: real for f in frameworks for alias, real in f.aliases.items()}
        self.customary = {
            name: f.name
            for f in frameworks
            for name in (*f.modules, *f.aliases)
            if f.name != "numpy" and "." not in name
        }

    def _index_values(self, frameworks: list[Framework]) -> None:
        self.returns = _patterns(frameworks, lambda f: f.returns)
        self.types = _patterns(frameworks, lambda f: f.types)
        self.device_types = {
            name.rpartition(".")[2]: f.name
            for f in frameworks
            for name in f.types.get("device", ())
            if name.endswith("Tensor")
        }
        self.attributes = _kinds(frameworks, lambda f: f.attributes)
        self.methods = _kinds(frameworks, lambda f: f.methods)
        self.model_methods = _kinds(frameworks, lambda f: f.model_methods)
        self.usage = _kinds(frameworks, lambda f: f.usage)
        self.telling = _kinds(frameworks, lambda f: f.telling)
        self.parts = _kinds(frameworks, lambda f: f.parts)
        self.likely = _kinds(frameworks, lambda f: f.likely)
        self.alone = _kinds(frameworks, lambda f: f.alone)
        self.names = {f.name: _patterns([f], lambda f: f.names) for f in frameworks}

    def _index_masks(self, frameworks: list[Framework]) -> None:
        masks = [(f.name, f.masks) for f in frameworks if f.masks]
        self.makes_masks = {name: frozenset(mask.makes) for name, mask in masks}
        self.makes_indices = {name: frozenset(mask.indices) for name, mask in masks}
        self.keeps_masks = {name: frozenset(mask.keeps) for name, mask in masks}
        self.mask_types = frozenset(name for _, mask in masks for name in mask.types)

    def _index_functions(self, frameworks: list[Framework]) -> None:
        self.passes = {f.name: frozenset(f.passes) for f in frameworks}
        self.registers = {f.name: frozenset(f.registers) for f in frameworks}
        self.tree_maps = _all_names(frameworks, lambda f: f.tree_maps)
        operators = _all_names(frameworks, lambda f: f.operators)
        self.operators = tuple(f"{name}." for name in sorted(operators))
        self.whole = _all_names(frameworks, lambda f: f.whole)
        self.joins = _all_names(frameworks, lambda f: f.joins)
        self.takes = _patterns(frameworks, lambda f: {"device": f.takes})
        self.reductions = _all_names(frameworks, lambda f: f.reductions)
        self.shaped = _all_names(frameworks, lambda f: f.shaped)
        self.rare = _all_names(frameworks, lambda f: f.rare)
        self.axes = {f.name: frozenset(f.axes) for f in frameworks}
        self.asks_for_arrays: dict[str, dict[str, str]] = {}
        for framework in frameworks:
            for text in framework.asked_for:
                keyword, _, word = text.partition("=")
                self.asks_for_arrays.setdefault(keyword, {})[word] = framework.name
        self.reveals = tuple(sorted(_all_names(frameworks, lambda f: f.reveals)))
        self.device_functions = {
            name: where for f in frameworks for name, where in f.device_functions.items()
        }
        self.numbers = {name: most for f in frameworks for name, most in f.numbers.items()}

    def _index_memory(self, frameworks: list[Framework]) -> None:
        memories = [f.memory for f in frameworks if f.memory is not None]
        self.stream_contexts = frozenset(n for memory in memories for n in memory.stream_contexts)
        self.stream_setters = frozenset(n for memory in memories for n in memory.set_stream)
        self.copy_waits = frozenset(n for memory in memories for n in memory.waits)
        self.copy_orders = frozenset(n for memory in memories for n in memory.orders)

    def _index_sync(self, table: Catalogue) -> None:
        self.sync_functions: dict[str, list[SyncPoint]] = {}
        self.sync_methods: dict[tuple[str, str], list[SyncPoint]] = {}
        self.sync_protocols: dict[tuple[str, str], SyncPoint] = {}
        self.sync_operators: dict[tuple[str, str], SyncPoint] = {}
        self.sync_launches: dict[str, SyncPoint] = {}
        conditions = [c for point in table for c in (point.when, point.unless) if c is not None]
        self.made_with = frozenset(word for asked in conditions for word in asked.made_with)
        for point in table:
            source = point.source
            if source is None:
                continue
            if source.launch:
                self.sync_launches[point.framework] = point
            for function in source.functions:
                self.sync_functions.setdefault(function, []).append(point)
            for method in source.methods:
                self.sync_methods.setdefault((source.receiver, method), []).append(point)
            for protocol in source.protocols:
                self.sync_protocols.setdefault((point.framework, protocol), point)
            for operator in source.operators:
                self.sync_operators.setdefault((point.framework, operator), point)

    def _index_steps(self, frameworks: list[Framework]) -> None:
        self.step_methods = _owners(frameworks, lambda f: f.steps.methods)
        self.optimizer_methods = _owners(frameworks, lambda f: f.steps.optimizer_methods)
        self.step_functions = _patterns(frameworks, lambda f: {"step": f.steps.functions})
        self.default_device = {name: f.name for f in frameworks for name in f.default_device}
        self.device_contexts = {name: f.name for f in frameworks for name in f.device_contexts}
        self.step_contexts = _patterns(frameworks, lambda f: {"step": f.steps.contexts})
        self.compiled = _patterns(
            frameworks, lambda f: {"compiled": f.steps.compiled + f.steps.translated}
        )
        self.regions = RegionMakers(region for f in frameworks for region in f.region)
        self.hot_decorators = _patterns(frameworks, lambda f: {"hot": f.steps.hot_decorators})
        self.eager_contexts = {
            f.name: tuple(name.rpartition(".")[2] for name in f.steps.contexts) for f in frameworks
        }
        shared = self.language.hot_functions
        self.hot_functions = _owners(
            frameworks, lambda f: shared.union(own) if (own := f.steps.hot_functions) else ()
        )
        self.kind_hooks = _last_parts(self.hot_functions)
        self.step_states = _owners(frameworks, lambda f: f.steps.states)
        self.functional = frozenset[str]().union(*self.step_states.values())
        self.cold_functions = _owners(frameworks, lambda f: f.steps.cold_functions)
        self.kind_hooks |= _last_parts(self.cold_functions)
        self.updating = _all_names(frameworks, lambda f: f.steps.updates)
        self.signatures = {tuple(taken.split()) for f in frameworks for taken in f.steps.signatures}
        self.data_parameters = _owners(frameworks, lambda f: f.steps.data)
        self.trainings = _owners(frameworks, lambda f: f.steps.trainings)

    def _index_triggers(self, triggers: tuple[Trigger, ...]) -> None:
        self.trigger_functions: dict[str, Trigger] = {}
        self.trigger_methods: dict[str, list[Trigger]] = {}
        for trigger in triggers:
            for function in trigger.functions:
                self.trigger_functions[function] = trigger
            for method in trigger.methods:
                self.trigger_methods.setdefault(method, []).append(trigger)
        self.trigger_patterns = [
            (name, trigger)
            for name, trigger in self.trigger_functions.items()
            if literal_start(name) != name
        ]
        self.trigger_memo: dict[str, Trigger | None] = {}

    def trigger(self, function: str) -> Trigger | None:
        """Return how a call of `function` reads its arguments, if it does."""
        if function not in self.trigger_memo:
            self.trigger_memo[function] = self.trigger_functions.get(function) or next(
                (trigger for name, trigger in self.trigger_patterns if matcher(name)(function)),
                None,
            )
        return self.trigger_memo[function]

    def dispatches(self, framework: str, function: str) -> bool:
        """Whether a function of NumPy's runs on the device, on this framework's values."""
        known = self.frameworks.get(framework)
        return known is not None and (known.array_function or function in known.array_methods)

    def framework_of(self, dotted: str) -> str:
        """Return the framework that owns the module of a dotted name, or ""."""
        return self.module_framework.get(dotted.partition(".")[0], "")

    @lru_cache(MAX_NAMES)  # noqa: B019 - there is one catalogue
    def by_usage(self, method: str, frameworks: tuple[str, ...]) -> tuple[str, str] | None:
        """Return (kind, framework) of a value that `method` is called on, if that tells.

        It does not where the values of another framework in use have a method of that name. Beside
        a framework of pure functions, which trains, another one reads the data.
        """
        for framework in frameworks:
            if kind := self.usage[framework].get(method):
                others = tuple(f for f in frameworks if f != framework)
                if any(method in self.methods[f] for f in others):
                    return None
                return self._of_data(kind, others), framework
        return None

    @lru_cache(MAX_NAMES)  # noqa: B019
    def by_axis(
        self, method: str, keyword: str, frameworks: tuple[str, ...]
    ) -> tuple[str, str] | None:
        """Return (kind, framework) of a value of which `method` is asked along an axis: `dim=1`."""
        if method not in self.language.array_methods:
            return None
        for framework in frameworks:
            if keyword in self.axes[framework]:
                others = tuple(f for f in frameworks if f != framework)
                return self._of_data("device", others), framework
        return None

    def _of_data(self, kind: str, others: tuple[str, ...]) -> str:
        """Return the kind of what is used beside other frameworks: one that trains leaves data."""
        return "host_array" if kind == "device" and self.functional_of(others) else kind

    def has(self, method: str, frameworks: tuple[str, ...]) -> bool:
        """Whether a method is one of these frameworks: a step of theirs, or known by its usage."""
        steps = self.step_methods.get(method, frozenset())
        return not steps.isdisjoint(frameworks) or self.by_usage(method, frameworks) is not None

    @lru_cache(MAX_NAMES)  # noqa: B019
    def updates(self, state: str, called: str, frameworks: tuple[str, ...]) -> bool:
        """Whether what is called runs a training step: it takes such a variable and gives it back.

        That is plain of an optimizer's state; of parameters, if the name of what is called says so.
        """
        plain = _STATE(state) and _UPDATES(called)
        owners = self.functional if plain else self.step_states.get(state, frozenset())
        return not owners.isdisjoint(frameworks)

    @lru_cache(MAX_NAMES)  # noqa: B019
    def canonical(self, name: str) -> str:
        """Replace an alias of a framework's module by its real name."""
        prefix = name
        while prefix and prefix not in self.aliases:
            prefix = prefix.rpartition(".")[0]
        return f"{self.aliases[prefix]}{name[len(prefix) :]}" if prefix else name

    def enters(self, taken: tuple[str, ...]) -> bool:
        """Whether a library enters functions that take these parameters, once a step."""
        if taken in self.signatures:
            return True
        starts = (wanted[:-1] for wanted in self.signatures if wanted[-1] == MORE)
        return any(taken[: len(start)] == start for start in starts)

    @lru_cache(MAX_NAMES)  # noqa: B019
    def functional_of(self, frameworks: tuple[str, ...]) -> str:
        """Return the one of these frameworks that hands its state on from call to call, or ""."""
        return next((f for f in frameworks if f in self.functional), "")

    def builds_graphs(self, framework: str, text: str) -> bool:
        """Whether a file builds graphs; a session alone may merely limit what eager code takes."""
        known = self.frameworks[framework]
        if _calls(known.graph_functions, text):
            return True
        if not _calls(known.session_functions, text):
            return False
        return not any(name in text for name in self.eager_contexts[framework])

    def part(self, framework: str, owner: str, name: str) -> str:
        """Return the kind of an attribute or of a method's result, by the kind of its owner."""
        return self.parts.get(framework, {}).get(f"{owner}.{name}", "")

    def by_attribute(self, attr: str, frameworks: Iterable[str]) -> tuple[str, str] | None:
        """Return (kind, framework) of a value that has the attribute, if that tells."""
        for framework in frameworks:
            if kind := self.telling[framework].get(attr):
                return kind, framework
        return None

    @lru_cache(MAX_NAMES)  # noqa: B019
    def by_name(self, name: str, frameworks: tuple[str, ...]) -> tuple[str, str] | None:
        """Return (kind, framework) that a variable's name suggests, a private one's too."""
        name = name.lstrip("_")
        if _SWITCH(name):
            return None
        for framework in frameworks:
            if found := self.names[framework].find(name):
                return found
        return None


Names = Callable[[Framework], Iterable[str]]
Kinds = Callable[[Framework], Mapping[str, tuple[str, ...]]]  # kind -> names


def _all_names(frameworks: Iterable[Framework], names: Names) -> frozenset[str]:
    return frozenset(name for f in frameworks for name in names(f))


def _kinds(frameworks: Iterable[Framework], kinds: Kinds) -> dict[str, dict[str, str]]:
    """Return the kind of each name, by framework."""
    return {
        f.name: {name: kind for kind, names in kinds(f).items() for name in names}
        for f in frameworks
    }


def _patterns(frameworks: Iterable[Framework], kinds: Kinds) -> Patterns:
    return Patterns(
        (pattern, kind, f.name)
        for f in frameworks
        for kind, patterns in kinds(f).items()
        for pattern in patterns
    )


def _owners(frameworks: Iterable[Framework], names: Names) -> dict[str, frozenset[str]]:
    """Return the frameworks that each name belongs to."""
    owners: dict[str, frozenset[str]] = {}
    for framework in frameworks:
        for name in names(framework):
            owners[name] = owners.get(name, frozenset()) | {framework.name}
    return owners


@lru_cache(maxsize=4)
def load(own: tuple[Addition, ...] = ()) -> Knowledge:
    """Return the shipped catalogue with a team's additions, compiled."""
    return Knowledge(additions.load(own))
