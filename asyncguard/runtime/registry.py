"""Which frameworks are hooked: installs adapters when a session wants them, and takes them away.

An adapter is made once its framework is imported, be it before the session or within it. Hooks
stay installed as long as anybody listens.

The lock guards the state, and nothing is imported while it is held: who waits for it may hold the
lock of a module that the holder would have to wait for. So adapters are loaded first, by as many
threads as want them, and the first to take the lock then decides which one stays.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache

from asyncguard import catalogue
from asyncguard.runtime import adapters, patch, warned, watch
from asyncguard.runtime.adapter import Adapter, Clock, Undo
from asyncguard.runtime.hub import hub, log
from asyncguard.runtime.installation import Installation

ENTRY_POINTS = "asyncguard.adapters"


@dataclass(frozen=True)
class Home:
    """Where an adapter is, and the module whose import calls for it."""

    framework: str
    module: str
    entry: importlib.metadata.EntryPoint | None = None  # None: a file of ours

    def load(self) -> type[Adapter]:
        """Load the adapter's class; the framework has been imported."""
        if self.entry is None:
            module = importlib.import_module(f"{adapters.__name__}.{self.framework}")
            kind: type[Adapter] = module.Adapter
        else:
            kind = self.entry.load()
        return kind

    def make(self) -> Adapter:
        """Load and make the adapter."""
        kind = self.load()
        framework = catalogue.load().frameworks.get(self.framework)
        return kind(kind.description() or framework)  # type: ignore[arg-type]  # one has it


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
        self._failed: dict[str, str] = {}  # why a framework is not hooked, while anybody wants it
        self._told: list[Callable[[Adapter], None]] = []
        self._watcher = watch.Watcher(self._imported)
        self._warnings = patch.Patcher()

    def acquire(
        self, frameworks: frozenset[str] | None, clock: Clock = time.perf_counter_ns
    ) -> None:
        """Hook these frameworks (None: all) until `release`, also those imported later."""
        with hub.lock:
            if not self._wants:
                self._failed.clear()
                warned.redirect(self._warnings)
            self._wants.append((frameworks, clock))
            before = self.faults(frameworks)
        for fault in before:  # who listens now has not been told
            log.error("%s", fault)
        try:
            self._bring_in()
        except BaseException:
            self.release(frameworks, clock)
            raise

    def release(
        self, frameworks: frozenset[str] | None, clock: Clock = time.perf_counter_ns
    ) -> tuple[str, ...]:
        """Take back one `acquire`; the attributes that somebody else has changed since then."""
        left: list[str] = []
        with hub.lock, ExitStack() as steps:  # each is taken whatever became of the others
            self._wants.remove((frameworks, clock))
            steps.callback(self._watch)
            if not self._wants:
                steps.callback(lambda: left.extend(map(str, self._warnings.restore())))
            for name in [name for name in self._installed if not self._is_wanted(name)]:
                steps.callback(self._uninstall, name, left)
        return tuple(left)

    def _uninstall(self, name: str, left: list[str]) -> None:
        left.extend(self._installed.pop(name).uninstall())

    def faults(self, frameworks: frozenset[str] | None) -> tuple[str, ...]:
        """What of these frameworks (None: all) cannot be hooked, so that its waits are missed."""
        found = list(self._failed.items())
        for name, installation in list(self._installed.items()):
            found += [(name, fault) for fault in installation.faults.values()]
        return tuple(fault for name, fault in found if frameworks is None or name in frameworks)

    def adapters(self) -> tuple[Adapter, ...]:
        """The adapters in place now; another thread may be changing them."""
        return tuple(installation.adapter for installation in list(self._installed.values()))

    @staticmethod
    def imported() -> frozenset[str]:
        """The frameworks that the program has imported, of those with an adapter."""
        return frozenset(name for name, home in homes().items() if _is_ready(home.module))

    def each(self, tell: Callable[[Adapter], None]) -> Undo:
        """Tell of each adapter in place now, and of those to come until that is undone."""
        with hub.lock:
            self._told.append(tell)
            present = self.adapters()
        for adapter in present:
            tell(adapter)
        return lambda: self._told.remove(tell)

    def accelerator_in_use(self) -> bool:
        """Whether a framework whose CPU values stand in has values on an accelerator."""
        return any(
            adapter.accelerator_in_use()
            for adapter in self.adapters()
            if not adapter.framework.asynchronous_cpu
        )

    def _is_wanted(self, name: str) -> bool:
        return any(names is None or name in names for names, _ in self._wants)

    def _imported(self, module: str) -> None:
        """A watched module has just been imported; importlib may not call it ready yet."""
        self._bring_in(module)

    def _bring_in(self, imported: str = "") -> None:
        """Hook what is wanted and there; the lock must not be held."""
        for home in homes().values():
            ready = home.module == imported or _is_ready(home.module)
            if ready and self._is_wanted(home.framework) and home.framework not in self._failed:
                try:
                    self._activate(home)
                except Exception as error:  # noqa: BLE001  the program must run, hooked or not
                    self._fail(home.framework, error)
        with hub.lock:
            self._watch()

    def _fail(self, name: str, error: Exception) -> None:
        """Go on without a framework, and leave none of its hooks behind."""
        with hub.lock:
            installation = self._installed.pop(name, None)
            self._failed[name] = f"{name} cannot be hooked: its waits are not counted ({error!r})."
        log.error("%s", self._failed[name], exc_info=error)
        if installation is not None:
            installation.uninstall()

    def _activate(self, home: Home) -> None:
        """Put one framework's hooks in place, or those that are not yet."""
        name = home.framework
        made = self._made.get(name) or Installation(home.make())
        told: tuple[Callable[[Adapter], None], ...] = ()
        with hub.lock:
            made = self._made.setdefault(name, made)
            if name in self._installed:
                made.complete()
            elif self._is_wanted(name):  # still
                self._installed[name] = made
                made.install(self._wants[0][1])
                told = tuple(self._told)
        for module in made.adapter.watched:
            if module in sys.modules:
                made.adapter.loaded(module)
        for tell in told:
            tell(made.adapter)

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
