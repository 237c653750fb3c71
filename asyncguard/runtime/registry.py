"""Which frameworks are hooked: installs adapters when a session wants them, and takes them away.

An adapter is made once its framework is imported, be it before the session or within it. Hooks
stay installed as long as anybody listens; with the last listener every attribute is again the
object that it was.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import pkgutil
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncguard import catalogue
from asyncguard.catalogue import SyncPoint
from asyncguard.runtime import adapters, hooks, patch, versions, warned, watch
from asyncguard.runtime.adapter import Adapter, Clock, Undo
from asyncguard.runtime.frames import Rank
from asyncguard.runtime.hub import hub, log
from asyncguard.runtime.probes import Probe
from asyncguard.runtime.sites import ranks

ENTRY_POINTS = "asyncguard.adapters"


@dataclass(frozen=True)
class Hook:
    """One attribute, what it is, and what takes its place."""

    place: patch.Place
    raw: Any
    hook: Any


@dataclass(frozen=True)
class Plan:
    """Everything to be replaced with the modules that were loaded when it was made."""

    loaded: int  # how many modules that was
    hooks: tuple[Hook, ...]
    missing: frozenset[str]  # modules with something to hook that nobody has imported yet
    users: tuple[types.ModuleType, ...]  # modules of the user's own, which may hold copies

    def copies(self) -> Iterator[Hook]:
        """The module functions that the user's modules have taken with `from m import f`."""
        functions = [h for h in self.hooks if isinstance(h.place.owner, types.ModuleType)]
        for module in self.users:
            names = vars(module)
            for hook in functions:
                now = names.get(hook.place.name)
                if now is not None and (now is hook.raw or now is hook.hook):
                    yield Hook(patch.Place(module, hook.place.name), hook.raw, hook.hook)


class Installation:
    """One framework's hooks. Planned once, put in place and taken away as often as needed."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._patcher = patch.Patcher()
        self._made: dict[tuple[int, str], Hook] = {}  # (owner, name) -> the hook made for it
        self._plan = Plan(0, (), frozenset(), ())
        self._undo: Undo | None = None
        for name in adapter.framework.modules:
            directory = _directory(sys.modules.get(name))
            if directory:
                ranks.add_framework(directory)

    def install(self, clock: Clock) -> None:
        """Put all hooks in place whose modules are loaded."""
        self._undo = self.adapter.install(clock)
        self.complete()

    def complete(self) -> None:
        """Put in place what is not yet: a module of the framework may have been imported since."""
        if any(self._is_stale(hook) for hook in self.plan().hooks):
            self._plan = Plan(0, (), frozenset(), ())
        plan = self.plan()
        for module in self.adapter.watched - plan.missing:
            self.adapter.loaded(module)
        for hook in (*plan.hooks, *plan.copies()):
            if not self._patcher.holds(hook.place):
                try:
                    self._patcher.replace(hook.place, hook.hook)
                except (TypeError, AttributeError) as error:
                    log.warning("%s cannot be hooked: %s", hook.place, error)

    def _is_stale(self, hook: Hook) -> bool:
        """Whether somebody else has put another object there since the hook was made."""
        now = hook.place.effective()
        return not self._patcher.holds(hook.place) and now is not hook.raw and now is not hook.hook

    def uninstall(self) -> None:
        """Put every attribute back, also where a module has taken a hook for the function."""
        self._patcher.restore()
        plan = self.plan()
        for copy in (*plan.hooks, *plan.copies()):
            if copy.place.raw() is copy.hook:
                setattr(copy.place.owner, copy.place.name, copy.raw)
        if self._undo is not None:
            self._undo()
            self._undo = None

    def plan(self) -> Plan:
        """What to replace; made anew when modules have been imported since the last time."""
        if self._plan.loaded != len(sys.modules):
            found = {path: patch.find(path) for path in self._points()}
            missing = {at.module for at in found.values() if isinstance(at, patch.NotLoaded)}
            missing |= {name for name in self.adapter.watched if name not in sys.modules}
            hooks = [hook for path in found for hook in self._hooks_of(path)]
            users = tuple(module for module in _modules() if _is_users(module))
            self._plan = Plan(len(sys.modules), tuple(hooks), frozenset(missing), users)
        return self._plan

    def _points(self) -> dict[str, list[SyncPoint]]:
        """Attribute path -> its catalogue entries in their order; none for what ends a step."""
        if not self.adapter.patches:
            return {}
        version = self.adapter.version()
        result: dict[str, list[SyncPoint]] = {}
        for point in self.adapter.framework.sync:
            if point.runtime is not None and versions.matches(version, point.versions):
                for path in point.runtime.patch:
                    result.setdefault(path, []).append(point)
        steps = self.adapter.framework.steps
        return {**result, **{path: [] for path in steps.runtime + steps.runtime_compiled}}

    def _hooks_of(self, path: str) -> Iterator[Hook]:
        """The hook of one path, and of the copies that other modules hold of a function."""
        place = patch.find(path)
        if isinstance(place, patch.NotLoaded):
            return
        held = self._patcher.holds(place)
        raw = self._made[place.key].raw if held else place.effective()
        if raw is patch.MISSING:
            return
        made = self._hook(path, place, raw)
        yield made
        if isinstance(place.owner, types.ModuleType):
            own = self.adapter.framework.modules
            for module in _modules():
                if module.__name__.partition(".")[0] in own and module is not place.owner:
                    copy = patch.Place(module, place.name)
                    if copy.raw() is raw or copy.raw() is made.hook:
                        yield Hook(copy, raw, made.hook)

    def _hook(self, path: str, place: patch.Place, raw: Any) -> Hook:
        known = self._made.get(place.key)
        if known is None or known.raw is not raw:
            known = self._made[place.key] = Hook(place, raw, self._make(path, place, raw))
        return known

    def _make(self, path: str, place: patch.Place, raw: Any) -> Any:
        points = self._points()[path]
        if not points:
            compiled = path in self.adapter.framework.steps.runtime_compiled
            make = hooks.compiled_hook if compiled else hooks.step_hook
            return patch.rewrap(raw, lambda function: make(function, path, self.adapter))
        method = isinstance(place.owner, type) and not isinstance(raw, staticmethod)
        probes = [Probe(point, self.adapter, method) for point in points]
        return patch.rewrap(raw, lambda function: hooks.make(function, path, self.adapter, probes))


def _modules() -> Iterator[types.ModuleType]:
    return (module for module in list(sys.modules.values()) if isinstance(module, types.ModuleType))


def _is_users(module: types.ModuleType) -> bool:
    file = vars(module).get("__file__")
    if not isinstance(file, str):
        return module.__name__ == "__main__"
    return ranks.rank_of(file) is Rank.USER


def _directory(module: types.ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    return os.path.dirname(file) if file else ""


@dataclass(frozen=True)
class Home:
    """Where an adapter is, and the module whose import calls for it."""

    framework: str
    module: str
    entry: importlib.metadata.EntryPoint | None = None  # None: a file of ours

    def make(self) -> Adapter:
        """Load and make the adapter; the framework has been imported."""
        if self.entry is None:
            module = importlib.import_module(f"{adapters.__name__}.{self.framework}")
            framework = catalogue.load().frameworks[self.framework]
            made: Adapter = module.Adapter(framework)
        else:
            kind = self.entry.load()
            made = kind(kind.description())
        return made


@lru_cache(maxsize=1)
def homes() -> dict[str, Home]:
    """The adapters that there are, by framework: ours, then those of other packages."""
    known = catalogue.load().frameworks
    names = [info.name for info in pkgutil.iter_modules(adapters.__path__)]
    found = {name: Home(name, known[name].modules[0]) for name in names}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found.setdefault(entry.name, Home(entry.name, entry.name, entry))
    return found


class Registry:
    """Who wants which framework hooked."""

    def __init__(self) -> None:
        self._wants: list[tuple[frozenset[str] | None, Clock]] = []  # None: every framework
        self._made: dict[str, Installation] = {}  # every adapter made so far
        self._installed: dict[str, Installation] = {}
        self._failed: set[str] = set()
        self._told: list[Callable[[Adapter], None]] = []
        self._watcher = watch.Watcher(self._imported)
        self._warnings = patch.Patcher()

    def acquire(
        self, frameworks: frozenset[str] | None, clock: Clock = time.perf_counter_ns
    ) -> None:
        """Hook these frameworks (None: all) until `release`, also those imported later."""
        with hub.lock:
            if not self._wants:
                warned.redirect(self._warnings)
            self._wants.append((frameworks, clock))
            self._update()

    def release(
        self, frameworks: frozenset[str] | None, clock: Clock = time.perf_counter_ns
    ) -> None:
        """Take back one `acquire`."""
        with hub.lock:
            self._wants.remove((frameworks, clock))
            self._update()
            if not self._wants:
                self._warnings.restore()

    def adapters(self) -> tuple[Adapter, ...]:
        """The adapters in place now; another thread may be changing them."""
        return tuple(installation.adapter for installation in list(self._installed.values()))

    def each(self, tell: Callable[[Adapter], None]) -> Undo:
        """Tell of each adapter in place now, and of those to come until that is undone."""
        with hub.lock:
            self._told.append(tell)
            for adapter in self.adapters():
                tell(adapter)
        return lambda: self._told.remove(tell)

    def accelerator_in_use(self) -> bool:
        """Whether a framework whose CPU values stand in has values on an accelerator."""
        return any(
            adapter.accelerator_in_use()
            for adapter in self.adapters()
            if not adapter.framework.asynchronous_cpu
        )

    def _update(self) -> None:
        """Bring what is installed in line with what is wanted."""
        self._remove_unwanted()
        for home in homes().values():
            if self._is_wanted(home.framework) and _is_ready(home.module):
                self._activate(home)
        self._watch()

    def _remove_unwanted(self) -> None:
        """Uninstall, newest first: two frameworks may hook the same function of NumPy's.

        What is still wanted above the oldest that goes is put back by `_update`.
        """
        names = list(self._installed)
        first = next((at for at, name in enumerate(names) if not self._is_wanted(name)), len(names))
        for name in reversed(names[first:]):
            self._installed.pop(name).uninstall()

    def _is_wanted(self, name: str) -> bool:
        return any(names is None or name in names for names, _ in self._wants)

    def _activate(self, home: Home) -> None:
        name = home.framework
        if name in self._installed:
            self._installed[name].complete()
            return
        if name in self._failed:
            return
        try:
            installation = self._made.get(name) or Installation(home.make())
            self._made[name] = self._installed[name] = installation
            installation.install(self._wants[0][1])
            for tell in self._told:
                tell(installation.adapter)
        except Exception:  # noqa: BLE001  the user's program must run, hooked or not
            self._failed.add(name)
            self._installed.pop(name, None)
            log.exception("%s cannot be hooked; its sync points are not counted", name)

    def _imported(self, module: str) -> None:
        """A watched module has just been imported; importlib may not call it ready yet."""
        with hub.lock:
            for home in homes().values():
                ready = module == home.module or _is_ready(home.module)
                if ready and self._is_wanted(home.framework):
                    self._activate(home)
            self._watch()

    def _watch(self) -> None:
        """Wait for the imports of what is wanted and not there yet."""
        missing = {
            home.module
            for home in homes().values()
            if self._is_wanted(home.framework) and not _is_ready(home.module)
        }
        for installation in self._installed.values():
            missing |= installation.plan().missing
        self._watcher.watch(frozenset(missing))


def _is_ready(name: str) -> bool:
    """Whether the module is imported, and its import has finished."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)


registry = Registry()
