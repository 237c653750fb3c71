"""What the attributes of a class's instances are, by all that its methods assign."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.join import join
from asyncguard.lint.domain.values import Role, Value
from asyncguard.lint.modules.summaries import Summaries


class Attributes:
    """The attributes of the classes of one file."""

    def __init__(
        self, summaries: Summaries, run: Callable[[FunctionInfo, dict[str, Value]], object]
    ) -> None:
        """Take what runs a method and notes in a dict what it assigns to attributes."""
        self._summaries = summaries
        self._run = run
        self._running: set[FunctionInfo] = set()  # methods, for what they assign

    def of(self, cls: ClassInfo, name: str) -> Value | None:
        """Return what an attribute of a class's instances is, by all that its methods assign."""
        if name not in cls.attributes:
            setters = [method for method in cls.methods.values() if method.fills(name)]
            setters.sort(key=lambda method: method.name != "__init__")
            found, final = self._summaries.derive(
                (cls, name), lambda: self._assigned(cls, name, setters)
            )
            if final and self._running.isdisjoint(setters):
                cls.attributes[name] = found
            return found
        self._summaries.ask((cls, name))
        return cls.attributes[name]

    def _assigned(self, cls: ClassInfo, name: str, setters: Sequence[FunctionInfo]) -> Value | None:
        """Join what the methods that assign an attribute give it."""
        found = cls.own.get(name)
        cls.attributes[name] = found or Value(role=Role.IN_PROGRESS)  # what it sees itself as
        for method in setters:
            value = self._given(method).get(name)
            if value is not None:
                found = value if found is None else join(found, value)
        del cls.attributes[name]
        return found

    def _given(self, method: FunctionInfo) -> Mapping[str, Value]:
        """Return what a method assigns to attributes; it is run for that once."""
        if method.given is not None:
            self._summaries.ask(method)
            return method.given
        given, final = self._summaries.derive(method, lambda: self._run_for_given(method))
        if not final:
            method.given = None
        return given

    def _run_for_given(self, method: FunctionInfo) -> dict[str, Value]:
        given: dict[str, Value] = {}
        method.given = given  # as far as it is known, for those who ask meanwhile
        self._running.add(method)
        self._run(method, given)
        self._running.discard(method)
        return given
