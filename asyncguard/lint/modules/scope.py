"""The names of a file: what it imports, and what dotted names stand for in checked modules."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Protocol

import libcst as cst

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.reasons import Reason
from asyncguard.lint.domain.values import (
    CLASS,
    CLASSES,
    CONTAINER,
    EITHER,
    FUNCTION,
    MODEL,
    SYMBOL,
    Value,
    symbol,
)
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.summaries import Summaries
from asyncguard.lint.names.words import compiled
from asyncguard.lint.source.imports import absolute
from asyncguard.lint.syntax.tree import dotted
from asyncguard.model import Device

_BUILTINS = frozenset(dir(builtins))


class Modules(Protocol):
    """The other checked files, as far as the analysis of one asks (`modules.project`)."""

    device: Device
    modules: Mapping[str, str]
    summaries: Summaries

    def module(self, name: str, importer: str) -> Scope | None: ...
    def binds(self, module: str, name: str, importer: str) -> bool: ...
    def handed_on(self, name: str, importer: str) -> str: ...
    def is_packaged(self, path: str) -> bool: ...
    def imported_texts(self, path: str) -> Iterable[str]: ...


class Scope(ABC):
    """A file's frameworks, imports and names. `Definitions` and `FileAnalysis` add to it."""

    def __init__(
        self,
        path: str,
        module_name: str,
        text: str,
        knowledge: Knowledge,
        frameworks: tuple[str, ...],
        project: Modules,
        *,
        is_package: bool = False,
    ) -> None:
        self.path = path
        self.module_name = module_name
        self.package = module_name if is_package else module_name.rpartition(".")[0]
        self.text = text
        self.knowledge = knowledge
        self.frameworks = frameworks
        self.with_numpy = (*frameworks, "numpy")
        self.project = project
        self.star_modules: list[str] = []

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """Return the module's own scope."""

    @property
    @abstractmethod
    def body(self) -> FunctionInfo:
        """Return the module's own statements, as a function."""

    # ---- what the text tells

    @property
    def device(self) -> Device:
        """Where values are taken to be."""
        return self.project.device

    def waits(self, framework: str) -> bool:
        """Whether reading a value of a framework may wait at all, where values are.

        Beside one of pure functions, another that keeps its values on the CPU reads the data.
        """
        if self.drives_workers:
            return False
        known = self.knowledge.frameworks.get(framework)
        if known is None or not known.asynchronous_cpu:
            return self.device != Device.CPU or known is None
        return self.knowledge.functional_of(self.frameworks) in ("", framework)

    @cached_property
    def drives_workers(self) -> bool:
        """Whether the file has other processes work, and neither is one nor speaks of a device."""
        libraries = self.knowledge.language.worker_libraries
        is_one = any(f"@{library}." in self.text for library in libraries)
        if is_one or not _names_any(libraries, self.text, r"\w."):
            return False
        moves = (f".{method}(" for method in self.knowledge.catalogue.moves)
        return not any(word in self.text for word in ("cuda", "device", *moves))

    @cached_property
    def names_other_arrays(self) -> bool:
        """Whether the file speaks of libraries whose arrays are in host memory."""
        return _names_any(self.knowledge.language.array_libraries, self.text, r"\w.")

    @cached_property
    def places_batches(self) -> bool:
        """Whether the file speaks of libraries whose loaders give batches on the device."""
        return _names_any(self.knowledge.language.placing_libraries, self.text.lower(), r"\w")

    @cached_property
    def devices(self) -> frozenset[str]:
        """The devices, beside those of its frameworks, whose packages the file speaks of."""
        return self._devices_of(self.text)

    def _devices_of(self, text: str) -> frozenset[str]:
        known = (self.knowledge.frameworks.get(name) for name in self.frameworks)
        return frozenset(
            device
            for framework in known
            for extension in (framework.extensions if framework is not None else ())
            if _names_any(extension.modules, text, r"\w.")
            for device in extension.devices
        )

    @cached_property
    def sends_freely(self) -> bool:
        """Whether the file is about devices alone to which a copy waits for nothing.

        By its own text, and those of the files that it has its device from.
        """
        catalogue = self.knowledge.catalogue
        if not catalogue.devices_named(self.text).issubset(catalogue.unwaited):
            return False
        if not self.devices.isdisjoint(catalogue.unwaited):
            return True
        texts = [*self.project.imported_texts(self.path)]
        named = frozenset[str]().union(*map(catalogue.devices_named, texts))
        spoken = frozenset[str]().union(*map(self._devices_of, texts))
        return named.issubset(catalogue.unwaited) and not spoken.isdisjoint(catalogue.unwaited)

    @cached_property
    def names_host_runtimes(self) -> bool:
        """Whether the file speaks of libraries that run models on no CUDA device."""
        return _names_any(self.knowledge.language.host_runtimes, self.text, r"\w")

    @property
    def is_alone(self) -> bool:
        """Whether its one framework is the only library in the file that has arrays."""
        return len(self.frameworks) == 1 and not self.names_other_arrays

    @cached_property
    def symbolic(self) -> frozenset[str]:
        """The frameworks with which the file builds graphs, to be run by a session."""
        builds = self.knowledge.builds_graphs
        return frozenset(f for f in self.frameworks if builds(f, self.text))

    # ---- imports

    def bind_import(self, frame: Frame, node: cst.Import) -> None:
        """`import a.b` binds `a`; `import a.b as c` binds `c` to a.b."""
        for alias in node.names:
            name = dotted(alias.name)
            if alias.asname is not None and type(alias.asname.name) is cst.Name:
                frame.bind(alias.asname.name.value, self._imported(name))
            else:
                first = name.partition(".")[0]
                above = self._beside(name).removesuffix(name)
                frame.bind(first, symbol(above + first))

    def bind_import_from(self, frame: Frame, node: cst.ImportFrom) -> None:
        """`from a import b` binds `b` to a.b; relative imports start from the package."""
        base = self._absolute(node)
        names: Any = node.names
        if type(names) is cst.ImportStar:
            self.star_modules.append(base)
            return
        for alias in names:
            name = dotted(alias.name)
            bound = name
            if alias.asname is not None and type(alias.asname.name) is cst.Name:
                bound = alias.asname.name.value
            frame.bind(bound, self._imported(f"{base}.{name}" if base else name))

    def _absolute(self, node: cst.ImportFrom) -> str:
        module = dotted(node.module) if node.module else ""
        return absolute(len(node.relative), module, self.package)

    def _imported(self, name: str) -> Value:
        full = self._beside(self.knowledge.canonical(name))
        handed_on = self.project.handed_on(full, self.path)
        return symbol(self.knowledge.canonical(handed_on) if handed_on else full)

    def _beside(self, name: str) -> str:
        """Return the full name of a module that a script finds in a folder that it is in."""
        if self.project.is_packaged(self.path):
            return name
        modules = self.project.modules
        prefix = "" if self.knowledge.framework_of(name) else self.package
        while prefix and name not in modules and name.rpartition(".")[0] not in modules:
            full = f"{prefix}.{name}"
            if full in modules or full.rpartition(".")[0] in modules:
                return full
            prefix = prefix.rpartition(".")[0]
        return name

    # ---- names

    def named(self, kind: str, framework: str, why: Reason) -> Value:
        """Return a value of a kind that a catalogue table tells."""
        if kind == "module":  # of arrays, NumPy's or one like it: `xp`
            return symbol(self.knowledge.canonical(f"{framework}.xp"))
        return Value(kind, framework, why)

    def resolve(self, name: str, depth: int = 0) -> Value:
        """Return what a dotted name stands for, looking into checked modules."""
        name = self.knowledge.canonical(name)
        found = self._in_checked_module(name, depth)
        return found if found is not None else symbol(name)

    def _in_checked_module(self, name: str, depth: int = 0) -> Value | None:
        module, _, attr = name.rpartition(".")
        if not module or depth > 6:
            return None
        analysis = self._module(module)
        if analysis is None:
            return None
        value = analysis.frame.env.get(attr)
        if value is None:
            value = analysis.from_star_imports(attr)
        if value is None:
            return None
        if value.kind == SYMBOL and value.name != name:
            return analysis.resolve(value.name, depth + 1)
        return value

    def _module(self, name: str) -> Scope | None:
        if name == self.module_name:
            return self
        return self.project.module(name, self.path)

    def from_star_imports(self, name: str, asked: frozenset[str] = frozenset()) -> Value | None:
        """Return what a star import brings under `name`; `asked`: the modules that ask for it."""
        if name in _BUILTINS:
            return None
        asked |= {self.module_name}
        for module in self.star_modules:
            if self.project.binds(module, name, self.path):
                analysis = self._module(module)
                value = analysis.frame.env.get(name) if analysis not in (None, self) else None
                if value is None and analysis is not None and analysis.module_name not in asked:
                    value = analysis.from_star_imports(name, asked)
                if value is not None:
                    return value
            elif self.knowledge.framework_of(module):
                full = self.knowledge.canonical(f"{module}.{name}")
                if full in self.knowledge.returns.exact or full in self.knowledge.sync_functions:
                    return symbol(full)
        return None

    def called_function(self, frame: Frame, name: str) -> Value | None:
        """Return the checked function that an imported name stands for, where it is called.

        It may be a compiled one.
        """
        value = self._in_checked_module(name) if self._follows(frame, name) else None
        if value is None or not isinstance(value.ref, FunctionInfo):
            return None
        return value if value.kind in (FUNCTION, MODEL) else None

    def called_class(self, frame: Frame, name: str) -> ClassInfo | None:
        """Return the checked class that a call of an imported name makes an instance of."""
        is_named_like_one = name.rpartition(".")[2][:1].isupper()
        follows = is_named_like_one or self._follows(frame, name)
        return self.foreign_class(name) if follows else None

    def _follows(self, frame: Frame, name: str) -> bool:
        """Whether a call into another file is followed: from where something may be hot."""
        if name.startswith(self.module_name + "."):
            return True
        if frame.function is self.body:
            return not self.project.is_packaged(self.path)
        return True

    def table(self, frame: Frame, name: str) -> Value | None:
        """Return the list or dict of functions or classes that an imported constant stands for."""
        value = self.constant(frame, name)
        if value is None or value.kind != CONTAINER or value.element is None:
            return None
        return value if value.element.kind in _CALLED else None

    def constant(self, frame: Frame, name: str) -> Value | None:
        """Return what an imported name that is written like a constant stands for."""
        if not name.rpartition(".")[2].isupper() or not self._follows(frame, name):
            return None
        return self._in_checked_module(name)

    def foreign_class(self, name: str) -> ClassInfo | None:
        """Return the checked class that an imported name stands for."""
        value = self._in_checked_module(name)
        if value is not None and value.kind == CLASS and isinstance(value.ref, ClassInfo):
            return value.ref
        return None


_CALLED = frozenset({CLASS, CLASSES, FUNCTION, EITHER})


def _names_any(words: Iterable[str], text: str, before: str) -> bool:
    """Whether one of these words stands in a text, behind none of the characters `before`.

    It is looked for as it is first, which is fast.
    """
    return any(w in text and compiled(rf"{w}\b(?<![{before}]{w})").search(text) for w in words)
