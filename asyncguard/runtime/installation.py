"""One framework's hooks: which objects the catalogue's paths lead to, taken over and given back."""

from __future__ import annotations

import os
import sys
import types
from collections import defaultdict
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import starmap
from operator import contains, getitem, is_
from typing import Any

from asyncguard.catalogue import Runtime, SyncPoint
from asyncguard.model import SyncKind
from asyncguard.runtime import boundaries, hooks, patch, takeover, versions
from asyncguard.runtime.adapter import Adapter, Clock, Undo
from asyncguard.runtime.hub import log
from asyncguard.runtime.probes import Probe
from asyncguard.runtime.sites import ranks

Points = dict[str, list[SyncPoint]]  # attribute path -> entries of the catalogue, in their order


@dataclass(frozen=True)
class Found:
    """A path of the catalogue, where it leads, and the callable that is there."""

    path: str
    place: patch.Place
    thing: Any

    @property
    def binds(self) -> bool:
        """Whether the callable's first argument is the value whose method it is."""
        raw = self.place.effective()
        return isinstance(self.place.owner, type) and not isinstance(raw, staticmethod)

    @property
    def is_in_slot(self) -> bool:
        """Whether C code reaches it by a slot of its class."""
        return takeover.in_slot(self.thing) and isinstance(self.place.owner, type)

    def is_there(self) -> bool:
        """Whether nobody has put another object in the place since."""
        return takeover.unwrap(self.place.effective()) is self.thing


class Hook(takeover.Hold):
    """A callable that is watched, under each of the paths that lead to it."""

    def __init__(
        self, found: tuple[Found, ...], target: takeover.Target, layer: takeover.Layer
    ) -> None:
        super().__init__(target, layer)
        self.found = found
        self.in_slots = [each for each in found if each.is_in_slot]


class Plan:
    """Everything to be watched with the modules that were loaded when it was made.

    loaded:  how many modules that was.
    hooks:   by the id of what is watched.
    missing: modules with something to hook that nobody has imported yet.
    """

    def __init__(self, loaded: int, hooks: Iterable[Hook], missing: frozenset[str]) -> None:
        self.loaded = loaded
        self.hooks = {id(hook.target.thing): hook for hook in hooks}
        self.missing = missing
        self.batch = takeover.Batch(self.hooks.values())
        self.slotted = [hook for hook in self.hooks.values() if hook.in_slots]
        found = [each for hook in self.hooks.values() for each in hook.found]
        self._in_slots = [each for each in found if each.is_in_slot]  # our hooks change those
        seen = [at for each in found if not each.is_in_slot for at in each.place.sight()]
        self._missed = [(names, name) for names, name, thing in seen if thing is patch.MISSING]
        self._seen = [(names, name) for names, name, thing in seen if thing is not patch.MISSING]
        self._things = [thing for _, _, thing in seen if thing is not patch.MISSING]

    def is_there(self) -> bool:
        """Whether nobody has put another object in any of the places since."""
        try:
            same = all(map(is_, starmap(getitem, self._seen), self._things))
        except KeyError:
            return False
        new = any(starmap(contains, self._missed))
        return same and not new and all(each.is_there() for each in self._in_slots)


class Installation:
    """One framework's hooks. Planned once, put in place and taken away as often as needed."""

    def __init__(self, adapter: Adapter) -> None:
        """Raises AsyncguardError on an interpreter whose objects cannot be taken over."""
        takeover.check_interpreter()
        self.adapter = adapter
        self._patcher = patch.Patcher()
        self._made: dict[tuple[int, tuple[str, ...]], Hook | None] = {}  # None: refused
        self._put: dict[int, Hook] = {}  # by the id of what is watched
        self._batches: list[takeover.Batch] = []  # that `_put` consists of
        self._plan = Plan(0, (), frozenset())
        self._undo: Undo | None = None
        self.faults: dict[str, str] = {}  # what cannot be hooked, and why
        for name in adapter.framework.modules:
            directory = _directory(sys.modules.get(name))
            if directory:
                ranks.add_framework(directory)

    def install(self, clock: Clock) -> None:
        """Put all hooks in place whose modules are loaded; none where that raises."""
        try:
            self._undo = self.adapter.install(clock)
            self.complete()
        except BaseException:
            self.uninstall()
            raise

    def complete(self) -> None:
        """Put in place what is not yet: a module of the framework may have been imported since."""
        if not self._plan.is_there():
            self._plan = Plan(0, (), frozenset())
        plan, known = self.plan(), self._put
        if plan.hooks is known:
            return
        if known:
            new = [hook for key, hook in plan.hooks.items() if known.get(key) is not hook]
            plan = Plan(0, new, frozenset())
            self._drop(known[key] for key in plan.hooks if key in known)
        if plan.hooks:
            plan.batch.put()
            self._batches.append(plan.batch)
            self._put = {**known, **plan.hooks} if known else plan.hooks
        for hook in plan.slotted:
            self._put_into_slots(hook)

    def _drop(self, outdated: Iterable[Hook]) -> None:
        for hook in outdated:
            for batch in self._batches:
                batch.drop(hook)

    def _put_into_slots(self, hook: Hook) -> None:
        """Let C code, too, find what it reaches by the slots of a class: they lead there now."""
        try:
            for each in hook.in_slots:
                self._patcher.replace(each.place, each.thing)
        except (TypeError, AttributeError) as error:  # a class that cannot change
            self._note(hook.found[0].path, error)

    def uninstall(self) -> tuple[str, ...]:
        """Give everything back; the attributes that somebody else has changed meanwhile.

        Each step is taken whatever became of the others; then an error is raised.
        """
        left: list[patch.Place] = []
        batches, undo = self._batches, self._undo
        self._put, self._batches, self._undo = {}, [], None
        with ExitStack() as steps:  # the last comes first
            if undo is not None:
                steps.callback(undo)
            steps.callback(lambda: left.extend(self._patcher.restore()))
            for batch in batches:
                steps.callback(batch.take_off)
        return tuple(str(place) for place in left)

    def plan(self) -> Plan:
        """What to watch; made anew when modules have been imported since the last time."""
        if self._plan.loaded != len(sys.modules):
            loaded = len(sys.modules)
            points = self._points()
            places = {path: patch.find(path) for path in points}
            missing = {at.module for at in places.values() if isinstance(at, patch.NotLoaded)}
            missing |= {name for name in self.adapter.watched if name not in sys.modules}
            by_thing: dict[int, list[Found]] = defaultdict(list)
            for path, place in places.items():
                if isinstance(place, patch.Place):
                    thing = takeover.unwrap(place.effective())
                    if thing is not patch.MISSING:
                        by_thing[id(thing)].append(Found(path, place, thing))
            made = (self._hook(tuple(found), points) for found in by_thing.values())
            hooks = [hook for hook in made if hook is not None]
            self._plan = Plan(loaded, hooks, frozenset(missing))
        return self._plan

    def _points(self) -> Points:
        """Attribute path -> its catalogue entries in their order; none for what ends a step."""
        if not self.adapter.patches:
            return {}
        version = self.adapter.version()
        result: Points = {}
        for point in self.adapter.framework.sync:
            if point.runtime is not None and versions.matches(version, point.versions):
                for path in point.runtime.patch:
                    result.setdefault(path, []).append(point)
                for path in point.runtime.inside:
                    read = Runtime(patch=(path,))
                    result[path] = [point._replace(kind=SyncKind.ARRAY, runtime=read)]
        steps = self.adapter.framework.steps
        return {**result, **{path: [] for path in steps.runtime + steps.runtime_compiled}}

    def _hook(self, found: tuple[Found, ...], points: Points) -> Hook | None:
        key = id(found[0].thing), tuple(each.path for each in found)
        if key not in self._made:
            try:
                target = takeover.target(found[0].thing)
                layer = takeover.Layer(self._maker(found, points))
                self._made[key] = Hook(found, target, layer)
            except TypeError as error:
                self._made[key] = None
                self._note(found[0].path, error)
        return self._made[key]

    def _note(self, path: str, error: Exception) -> None:
        self.faults[path] = f"{path} cannot be hooked: its waits are not counted ({error})."
        log.warning("%s", self.faults[path])

    def _maker(self, found: tuple[Found, ...], points: Points) -> takeover.Make:
        """What makes the hook; the paths share it, so they are of one sort."""
        adapter, steps = self.adapter, self.adapter.framework.steps
        path, owner = found[0].path, found[0].place.owner
        if path in steps.runtime_compiled:
            return lambda original: boundaries.compiled_hook(original, owner)
        if path in steps.runtime:
            return lambda original: boundaries.step_hook(original, path, adapter, owner)
        asked = {point.id: (point, each) for each in found for point in points[each.path]}
        probes = [Probe(point, adapter, each.path, each.binds) for point, each in asked.values()]
        up = 2 if takeover.is_python(found[0].thing) else 1
        if any(path in point.runtime.inside for point in adapter.framework.sync if point.runtime):
            return lambda original: hooks.make_inner(original, path, adapter, probes, up)
        return lambda original: hooks.make(original, path, adapter, probes, up)


def _directory(module: types.ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    return os.path.dirname(file) if file else ""
