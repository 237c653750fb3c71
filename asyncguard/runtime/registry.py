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
import types
from collections import defaultdict
from functools import lru_cache
from typing import Any

from asyncguard import catalogue
from asyncguard.catalogue import Framework, SyncPoint
from asyncguard.runtime import adapters, hooks, patch, versions, watch
from asyncguard.runtime.adapter import Adapter, Undo
from asyncguard.runtime.frames import Rank
from asyncguard.runtime.hub import hub, log
from asyncguard.runtime.probes import Probe
from asyncguard.runtime.sites import ranks

ENTRY_POINTS = "asyncguard.adapters"


class Installation:
    """One framework's hooks. Prepared once, put in place and taken away as often as needed."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._patcher = patch.Patcher()
        self._hooks: dict[tuple[int, str], tuple[Any, Any]] = {}  # (owner, name) -> (raw, hook)
        self._undo: Undo | None = None
        for name in adapter.framework.modules:
            directory = _directory(sys.modules.get(name))
            if directory:
                ranks.add_framework(directory)

    def install(self) -> None:
        """Put all hooks in place whose modules are loaded."""
        self._undo = self.adapter.install()
        self.complete()

    def complete(self) -> None:
        """Put in place what is not yet: a module of the framework may have been imported since."""
        modules = self._modules()
        for path, points in self._points().items():
            self._replace(path, points, modules)
        for path in self.adapter.framework.steps.runtime:
            self._replace(path, [], modules)

    def uninstall(self) -> None:
        """Put every attribute back."""
        self._patcher.restore()
        if self._undo is not None:
            self._undo()
            self._undo = None

    def missing_modules(self) -> frozenset[str]:
        """Modules with something to hook that nobody has imported yet."""
        paths = (*self._points(), *self.adapter.framework.steps.runtime)
        found = (patch.find(path) for path in paths)
        return frozenset(place.module for place in found if isinstance(place, patch.NotLoaded))

    def _points(self) -> dict[str, list[SyncPoint]]:
        """Attribute path -> the entries that concern it, in the catalogue's order."""
        version = self.adapter.version()
        result: dict[str, list[SyncPoint]] = defaultdict(list)
        for point in self.adapter.framework.sync:
            if point.runtime is not None and versions.matches(version, point.versions):
                for path in point.runtime.patch:
                    result[path].append(point)
        return result

    def _replace(self, path: str, points: list[SyncPoint], modules: list[Any]) -> None:
        place = patch.find(path)
        if isinstance(place, patch.NotLoaded):
            return
        raw = place.effective()
        if raw is patch.MISSING or self._patcher.holds(place):
            return
        hook = self._hook(path, place, raw, points)
        try:
            self._patcher.replace(place, hook)
        except (TypeError, AttributeError) as error:
            log.warning("%s cannot be hooked: %s", path, error)
            return
        if isinstance(place.owner, types.ModuleType):
            for copy in patch.copies(raw, place.name, modules):
                self._patcher.replace(copy, hook)

    def _hook(self, path: str, place: patch.Place, raw: Any, points: list[SyncPoint]) -> Any:
        key = (id(place.owner), place.name)
        known = self._hooks.get(key)
        if known is None or known[0] is not raw:
            known = self._hooks[key] = (raw, self._make_hook(path, place, raw, points))
        return known[1]

    def _make_hook(self, path: str, place: patch.Place, raw: Any, points: list[SyncPoint]) -> Any:
        method = isinstance(place.owner, type) and not isinstance(raw, staticmethod)
        if not points:
            return patch.rewrap(raw, hooks.step_hook)
        probes = [Probe(point, self.adapter, method) for point in points]
        return patch.rewrap(raw, lambda function: hooks.make(function, path, probes))

    def _modules(self) -> list[types.ModuleType]:
        """Where copies of module functions may be: the framework itself and the user's code."""
        own = tuple(self.adapter.framework.modules)
        return [
            module
            for name, module in list(sys.modules.items())
            if isinstance(module, types.ModuleType)
            and (name.partition(".")[0] in own or _is_users(module))
        ]


def _is_users(module: types.ModuleType) -> bool:
    file = vars(module).get("__file__")
    if not isinstance(file, str):
        return module.__name__ == "__main__"
    return ranks.rank_of(file) is Rank.USER


def _directory(module: types.ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    return os.path.dirname(file) if file else ""


class Registry:
    """Who wants which framework hooked."""

    def __init__(self) -> None:
        self._wants: list[frozenset[str] | None] = []  # None: every framework
        self._made: dict[str, Installation] = {}  # every adapter made so far
        self._installed: dict[str, Installation] = {}
        self._failed: set[str] = set()
        self._watcher = watch.Watcher(self._imported)

    def acquire(self, frameworks: frozenset[str] | None) -> None:
        """Hook these frameworks (None: all) until `release`, also those imported later."""
        with hub.lock:
            self._wants.append(frameworks)
            self._update()

    def release(self, frameworks: frozenset[str] | None) -> None:
        """Take back one `acquire`."""
        with hub.lock:
            self._wants.remove(frameworks)
            self._update()

    def adapters(self) -> tuple[Adapter, ...]:
        """The adapters in place now."""
        return tuple(installation.adapter for installation in self._installed.values())

    def accelerator_in_use(self) -> bool:
        """Whether a framework whose CPU values stand in has values on an accelerator."""
        return any(
            adapter.accelerator_in_use()
            for adapter in self.adapters()
            if not adapter.framework.asynchronous_cpu
        )

    def _update(self) -> None:
        """Bring what is installed in line with what is wanted."""
        for name in [name for name in self._installed if not self._is_wanted(name)]:
            self._installed.pop(name).uninstall()
        for name in homes():
            if self._is_wanted(name) and _is_ready(sys.modules.get(name)):
                self._activate(name)
        self._watch()

    def _is_wanted(self, name: str) -> bool:
        return any(want is None or name in want for want in self._wants)

    def _activate(self, name: str) -> None:
        if name in self._installed:
            self._installed[name].complete()
            return
        if name in self._failed:
            return
        try:
            installation = self._made.get(name) or Installation(make_adapter(name))
            self._made[name] = self._installed[name] = installation
            installation.install()
        except Exception:  # noqa: BLE001  the user's program must run, hooked or not
            self._failed.add(name)
            self._installed.pop(name, None)
            log.exception("%s cannot be hooked; its sync points are not counted", name)

    def _imported(self, module: str) -> None:
        """A watched module has just been imported."""
        with hub.lock:
            name = module.partition(".")[0]
            if self._is_wanted(name) and (module == name or _is_ready(sys.modules.get(name))):
                self._activate(name)
            self._watch()

    def _watch(self) -> None:
        """Wait for the imports of what is wanted and not there yet."""
        missing = {
            name
            for name in homes()
            if self._is_wanted(name) and not _is_ready(sys.modules.get(name))
        }
        for installation in self._installed.values():
            missing |= installation.missing_modules()
        self._watcher.watch(frozenset(missing))


def _is_ready(module: types.ModuleType | None) -> bool:
    """Whether `module` is imported, and its import has finished."""
    spec = getattr(module, "__spec__", None)
    return module is not None and not getattr(spec, "_initializing", False)


@lru_cache(maxsize=1)
def homes() -> dict[str, importlib.metadata.EntryPoint | None]:
    """Framework -> where its adapter is: None for a file of ours, else the entry point."""
    found: dict[str, importlib.metadata.EntryPoint | None] = {
        info.name: None for info in pkgutil.iter_modules(adapters.__path__)
    }
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found.setdefault(entry.name, entry)
    return found


def make_adapter(name: str) -> Adapter:
    """Load and make the adapter of an imported framework."""
    entry = homes()[name]
    if entry is None:
        kind = importlib.import_module(f"{adapters.__name__}.{name}").Adapter
    else:
        kind = entry.load()
    framework = kind.description() or _described(name)
    made: Adapter = kind(framework)
    return made


def _described(name: str) -> Framework:
    framework = catalogue.load().frameworks.get(name)
    if framework is None:
        raise LookupError(f"the catalogue has no rules/{name}.toml")
    return framework


registry = Registry()
