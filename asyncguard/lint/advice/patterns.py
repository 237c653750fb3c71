"""The patterns of `rules/advice.toml`: which advice fits which code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from asyncguard import prepared
from asyncguard.catalogue import ADVICE, CatalogueError, entries, load, rules_directory
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.plain import made

SCHEMA = 1


@dataclass(frozen=True)
class Pattern:
    """Code around a wait, and what to do about the wait there.

    `when` names predicates that must all hold, with `not ` before those that must not. `remedy` is
    the clause that ends the message, `help` the text below it; `{others}` stands for the lines of
    other reads that could be made together with this one. `fact`, if given, says in the message why
    it waits. In `hit`, a finding gets this advice; in `miss`, one of the same rules does not. What
    is only so with a package, or on some devices, names these: `modules`, `devices`.
    """

    id: str
    rules: tuple[str, ...]
    remedy: str
    help: str
    hit: str
    miss: str
    when: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()  # of the catalogue; none: all of these rules
    frameworks: tuple[str, ...] = ()  # none: all
    modules: tuple[str, ...] = ()  # the file imports one of these
    devices: tuple[str, ...] = ()  # the file names one of these accelerators, and no others
    fact: str = ""

    @property
    def text(self) -> str:
        """Both of its texts."""
        return f"{self.remedy} {self.help}"

    def speaks_of(self, code: str, api: str, framework: str) -> bool:
        """Whether it is about such findings, whatever code stands around them."""
        return (
            code in self.rules
            and (not self.apis or api in self.apis)
            and (not self.frameworks or framework in self.frameworks)
        )

    def is_for(self, code: Code) -> bool:
        """Whether it is about such files: by what they import, and the devices that they name."""
        if self.modules and _packages(code).isdisjoint(self.modules):
            return False
        named = _devices(code) if self.devices else frozenset()
        return named.issubset(self.devices) and bool(named or self.modules or not self.devices)


@kept(OF_SCOPES)
def _packages(code: Code) -> frozenset[str]:
    """Return the packages that a file imports."""
    return frozenset(name.partition(".")[0] for name in code.may_import.values())


@kept(OF_SCOPES)
def _devices(code: Code) -> frozenset[str]:
    return load().devices_named(code.text)


@lru_cache(maxsize=1)
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns that ship with asyncguard, in their order."""
    path = rules_directory() / ADVICE
    try:
        data = prepared.toml(path)
        if data.pop("schema", None) != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return tuple(made(Pattern, each) for each in entries(str(path), "pattern", data))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CatalogueError(f"{path}: cannot be read ({error}); reinstall asyncguard") from error
