"""Every finding of one file with its repair, if one is understood."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from asyncguard.lint.fixes import families, kept
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.compiled import is_scripted
from asyncguard.lint.fixes.holding import is_shadowed
from asyncguard.lint.fixes.spots import Repair, Spot, spot_of
from asyncguard.lint.fixes.wanted import wants_repair
from asyncguard.lint.source.decode import SourceError, check_syntax
from asyncguard.lint.source.fixes import apply, lines_of
from asyncguard.lint.syntax.unit import TooDeepError, parse
from asyncguard.model import Applicability, Finding, Fix

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_BUILTINS = frozenset(vars(builtins))
Family = Callable[[Sequence[Spot]], Iterator[Repair]]
Mend = Callable[[Code, Sequence[Finding]], tuple[Finding, ...]]


def repaired(text: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a file with their repairs, in their order."""
    if not any(map(wants_repair, findings)):
        return tuple(findings)
    return in_code(text, findings, repaired_in)


def in_code(text: str, findings: Sequence[Finding], mend: Mend) -> tuple[Finding, ...]:
    """Parse a file and mend its findings; what was learned of the code is forgotten after it.

    Where the file cannot be read as Python they stay as they are.
    """
    try:
        return mend(Code(text), findings)
    except (SourceError, TooDeepError, RecursionError):
        return tuple(findings)
    finally:
        kept.forget()


def repaired_in(code: Code, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a file that was parsed; its scopes are to be forgotten after it."""
    fixes = _fixes(code, [finding for finding in findings if wants_repair(finding)])
    return tuple(replace(f, fix=fixes[f]) if f in fixes else f for f in findings)


def _fixes(code: Code, findings: Iterable[Finding]) -> dict[Finding, Fix]:
    """Ask each family; what one repairs is not offered to the next unless it was only shown."""
    ordered = sorted(findings, key=lambda f: (f.line, f.column, f.end_line, f.end_column, f.code))
    left = [spot for finding in ordered if (spot := spot_of(code, finding)) is not None]
    fixes: dict[Finding, Fix] = {}
    for kind in _families():
        for repair in _sound(code, [repair for repair in kind(left) if _is_clear(repair)]):
            for spot in repair.spots:
                if _is_better(repair.fix, fixes.get(spot.finding)):
                    fixes[spot.finding] = repair.fix
        left = [spot for spot in left if _may_be_bettered(fixes.get(spot.finding))]
    return fixes


def _is_clear(repair: Repair) -> bool:
    """Whether it is Python that runs there, and the names in the edits mean what they seem to."""
    spot = repair.spots[0]
    if is_scripted(spot.code, spot.node):
        return False
    named = {name for edit in repair.fix.edits for name in _NAME.findall(edit.text)}
    known = named & (spot.code.imports.keys() | _BUILTINS)
    return not any(is_shadowed(spot.code, spot.node, name) for name in known)


def _sound(code: Code, repairs: Sequence[Repair]) -> Iterator[Repair]:
    """Leave out repairs after which the file would not be Python.

    The text that edits replace may hold parentheses that the tree does not show.
    """
    by_statement: dict[tuple[int, int], list[Repair]] = {}
    for repair in repairs:
        lines = [line for edit in repair.fix.edits for line in (edit.line, edit.end_line)]
        place = code.outermost(min(lines) - 1, max(lines)) if lines else (0, 0)
        by_statement.setdefault(place, []).append(repair)
    for here in by_statement.values():
        yield from _sound_in(code, here)


def _sound_in(code: Code, repairs: Sequence[Repair]) -> Sequence[Repair]:
    """Do so in neighbouring statements of the module."""
    if not repairs or _is_python(code, apply(code.text, [repair.fix for repair in repairs])):
        return repairs
    half = len(repairs) // 2
    return [*_sound_in(code, repairs[:half]), *_sound_in(code, repairs[half:])] if half else []


def _is_python(code: Code, text: str) -> bool:
    """Whether changed code is Python: those of its outermost statements that differ are parsed."""
    lines = lines_of(text)
    first, last = code.outermost(*_difference(code.lines, lines))
    end = "" if last == len(code.lines) else "\n"
    changed = "\n".join(lines[first : len(lines) - (len(code.lines) - last)]) + end
    try:
        check_syntax(changed)
    except SourceError as error:
        return error.may_be_newer and _is_newer(changed)
    return True


def _is_newer(text: str) -> bool:
    """Whether code that this Python does not read is that of a newer one."""
    try:
        parse(text)
    except (SourceError, TooDeepError):
        return False
    return True


def _difference(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return the stretch of lines that others took the place of, as indices."""
    fewer = min(len(before), len(after))
    first = next((n for n in range(fewer) if before[n] != after[n]), fewer)
    most = fewer - first
    same = next((n for n in range(most) if before[-1 - n] != after[-1 - n]), most)
    return first, len(before) - same


def _is_better(new: Fix, old: Fix | None) -> bool:
    return old is None or (
        old.applicability == Applicability.SHOWN and new.applicability != Applicability.SHOWN
    )


def _may_be_bettered(fix: Fix | None) -> bool:
    return fix is None or fix.applicability == Applicability.SHOWN


@cache
def _families() -> tuple[Family, ...]:
    """Return the rewrites, those that keep most of the program first."""
    names = [f"{families.__name__}.{module.name}" for module in iter_modules(families.__path__)]
    modules = sorted(map(import_module, names), key=lambda module: module.ORDER)
    return tuple(module.rewrite for module in modules)
