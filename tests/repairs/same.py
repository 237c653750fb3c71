"""Whether a program does the same after its repairs: run in this process, before and after.

What a program does is its output, what it returns and yields, with types, dtypes and the state of
each tensor, and the exception or exit status that it ends with.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import GeneratorType
from typing import Any, NamedTuple

import asyncguard
from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.fixes import apply, choose
from asyncguard.model import Finding, Fix

SETTINGS = Settings(cache=False)
PASSES = 2
# What the text of an unsafe repair says that may be otherwise.
RARER = re.compile(r"report|only in the steps|later|late|behind the loop|once before|every|print|"
                   r"message|kept|keep", re.I)  # fmt: skip
# After a write that failed before, or with a value that is no view any more, all may be otherwise.
ELSEWHERE = ("even if that is beyond the end", "a new array", "shares memory", "new tensor")
FAILS_OTHERWISE = re.compile(r"fails|raise|assert|stop|ask|unnoticed|beyond|before the loop|where")
OTHER_TYPE = re.compile(r"becomes|as float|tensor|shares|wider|on the device|device|if ", re.I)


class Did(NamedTuple):
    """What a program did: its output, what it gave, and how it ended."""

    output: str
    values: Any
    end: str


class Difference(NamedTuple):
    """A program that does something else after its repairs."""

    before: Did
    after: Did
    source: str
    repaired: str
    messages: tuple[str, ...]

    def __str__(self) -> str:
        told = "\n".join(f"  {message}" for message in self.messages)
        pairs = zip(Did._fields, self.before, self.after, strict=True)
        parts = [line for name, one, two in pairs for line in _differences(name, one, two)]
        return "\n".join([*parts, told, self.source, "=" * 30, self.repaired])


def _differences(name: str, one: Any, two: Any) -> Iterator[str]:
    """Yield a line for each part of two values that differs."""
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for at, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from _differences(f"{name}[{at}]", left, right)
    elif one != two:
        yield f"{name}: {one!r}\n     -> {two!r}"


class Repaired(NamedTuple):
    """A program after its repairs, the repairs, and how it ended before."""

    source: str
    fixes: tuple[Fix, ...]
    end: str = ""


@lru_cache(1024)  # modes and tests that repair the same ask again
def found_in(source: str) -> tuple[Finding, ...]:
    """Return the findings of a program."""
    return tuple(check_source(source, "program.py", SETTINGS))


def repaired(source: str, findings: Sequence[Finding], *, unsafe: bool) -> Repaired:
    """Repair a program, and what its first repairs let see."""
    fixes: list[Fix] = []
    for left in range(PASSES - 1, -1, -1):
        chosen = choose(findings, unsafe=unsafe)
        if not chosen:
            break
        fixes += dict.fromkeys(chosen.values())
        source = apply(source, chosen.values())
        findings = found_in(source) if left else ()
    return Repaired(source, tuple(fixes))


def compare(
    source: str, modes: Sequence[bool] = (False, True)
) -> Iterator[tuple[Repaired, bool, Difference | None]]:
    """Yield the repairs of a program, whether all are safe, and what comes out otherwise.

    `modes` says of each run whether repairs that are unsafe are made too.
    """
    findings, before, done_by = found_in(source), None, dict[str, Did]()
    for unsafe in modes:
        after = repaired(source, findings, unsafe=unsafe)
        if not after.fixes:
            continue
        before = before or do(source)
        done = done_by.get(after.source) or done_by.setdefault(after.source, do(after.source))
        messages = tuple(fix.message for fix in after.fixes)
        same = _as_told(before, done, messages) if unsafe else before == done
        difference = None if same else Difference(before, done, source, after.source, messages)
        yield after._replace(end=before.end), not unsafe, difference


@contextlib.contextmanager
def device_of(framework: str) -> Iterator[None]:
    """Give programs of a framework what they need: for torch a simulated device."""
    with asyncguard.simulate_cuda() if framework == "torch" else contextlib.nullcontext():
        importlib.import_module(framework)
        yield


def do(source: str) -> Did:
    """Run a program, in what `device_of` gives."""
    output, values = io.StringIO(), None
    with contextlib.redirect_stdout(output):
        try:
            names: dict[str, Any] = {"__name__": "program"}
            exec(compile(source, "program.py", "exec"), names)
            values = _driven(names["run"]("cuda"))
            end = "returned"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - how it ends is compared
            end = f"{type(error).__name__}: {_without_places(str(error))}"
    return Did(output.getvalue(), values, end)


def _driven(result: Any) -> Any:
    """Return what a program gives; what a generator yields is changed before it goes on."""
    if not isinstance(result, GeneratorType):
        return described(result)
    given: list[Any] = []
    while True:
        try:
            value = next(result)
        except StopIteration as end:
            return [given, described(end.value)]
        given.append(described(value))
        if hasattr(value, "mul_"):
            value.detach().mul_(0.5)


def described(value: Any) -> Any:
    """Return a value as texts and numbers, by which equal ones are equal."""
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(described, value)]
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value).__name__, repr(value)
    if hasattr(value, "requires_grad"):
        state = (str(value.dtype), value.device.type, value.requires_grad, value.is_leaf)
        return "tensor", *state, tuple(value.shape), repr(value.detach().cpu().tolist())
    if hasattr(value, "dtype"):
        return type(value).__name__, str(value.dtype), tuple(value.shape), repr(value.tolist())
    return type(value).__name__, repr(vars(value)) if hasattr(value, "__dict__") else repr(value)


def _without_places(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|line \d+", "", text)


# ---- what an unsafe repair may do


def _as_told(before: Did, after: Did, messages: Sequence[str]) -> bool:
    """Whether a program does the same but for what the texts of its repairs say."""
    text = "\n".join(messages)
    if any(told in text for told in ELSEWHERE):
        return True
    if before.end != after.end:
        return bool(FAILS_OTHERWISE.search(text))
    lines = [_rounded(did.output).splitlines() for did in (before, after)]
    if lines[0] != lines[1] and not (RARER.search(text) and _is_part(lines[1], lines[0])):
        return False
    return _is_close(before.values, after.values, typed=OTHER_TYPE.search(text) is None)


def _is_part(some: Sequence[str], every: Sequence[str]) -> bool:
    """Whether lines are some of others, in whatever order."""
    left = [*every]
    for line in some:
        if line not in left:
            return False
        left.remove(line)
    return True


def _is_close(one: Any, other: Any, *, typed: bool) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _is_close(a, b, typed=typed) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, tuple) and isinstance(other, tuple):
        return (not typed or one[:-1] == other[:-1]) and _rounded(one[-1]) == _rounded(other[-1])
    return bool(_rounded(one) == _rounded(other))


def _rounded(text: Any) -> Any:
    """Return a text with its numbers to three places, for sums may be of another order."""
    if not isinstance(text, str):
        return text
    return re.sub(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", lambda n: f"{float(n[0]):.3g}", text)
