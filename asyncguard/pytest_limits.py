"""How often tests may wait: what markers say, what is stored, and what was too much.

Stored limits are one JSON file, a line for each test, for people to review.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import catalogue, files
from asyncguard.model import AsyncguardError, SiteStats, TraceRecord
from asyncguard.places import place_of
from asyncguard.render.summary import has_times

if TYPE_CHECKING:
    from asyncguard.runtime.limits import limit_syncs

FORMAT = "asyncguard-tests"
PLACES = 10  # named in one failure


@dataclass(frozen=True)
class Limit:
    """At most `n` waits in a test, or in each step or unit, on the simulated device `profile`.

    A profile "" is the one that the run has, else the default one; None: nothing is simulated.
    A `budget` is for what the trace of a test does not tell: it raises at the line that waits.
    """

    n: int
    per: str | None = None
    profile: str | None = None
    source: str = ""  # where the limit comes from, if it is no marker
    budget: limit_syncs | None = None


@dataclass(frozen=True)
class Cost:
    """The waits of one phase of a test: how many, and their nanoseconds (None: not known)."""

    name: str
    phase: str  # pytest's: "setup" and "teardown" are the fixtures', "call" is the test's own body
    waits: int
    stall_ns: int | None
    is_modelled: bool = False


def of_marker(
    n: Any = None,
    per: Any = None,
    device: Any = None,
    after: Any = 0,
    first_only: Any = False,
) -> Limit:
    """What `max_syncs(n, per, device, ...)` says; raises ValueError where it says otherwise."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"n is a whole number from 0 up, not {n!r}")
    budget = None
    if per not in (None, "step") or after != 0 or first_only is not False:
        limits = import_module("asyncguard.runtime.limits")  # of the runtime, which loads much
        budget = limits.limit_syncs(n, per, after=after, first_only=first_only, on="raise")
    kind, _, profile = str(device or "").partition(":")
    if device is not None and kind != "sim":
        raise ValueError(f'device is None, "sim" or "sim:PROFILE", not {device!r}')
    return Limit(n, per, None if device is None else profile, budget=budget)


def counted(record: TraceRecord) -> list[SiteStats]:
    """The sites that limits speak of: not those under `allow_syncs`."""
    return [site for site in record.sites if site.allowed is None]


def cost(name: str, phase: str, record: TraceRecord) -> Cost:
    """Return the cost of a phase of a test, by its trace."""
    sites = counted(record)
    stall = sum(site.cpu_stall_ns for site in sites) if has_times(record) else None
    waits = sum(site.count for site in sites)
    return Cost(name, phase, waits, stall, record.basis == "modelled")


def excess(record: TraceRecord, limit: Limit) -> str:
    """Say what was too much, naming each site and what to do; "" if nothing was."""
    if limit.budget is not None:
        return ""
    sites = counted(record)
    if limit.per is None:
        most, where = sum(site.count for site in sites), ""
    elif not record.step_count:
        return (
            'max_syncs(per="step"): no step was marked; use a torch optimizer, a gluon Trainer or '
            "asyncguard.step() in the test"
        )
    else:
        most, where = _worst_step(record)
    if most <= limit.n:
        return ""
    waits = "1 wait" if most == 1 else f"{most} waits"
    source = f" ({limit.source})" if limit.source else ""
    lines = [f"{waits}{where}, limit {limit.n}{source}"]
    lines += [
        f"  {place_of(s.path, s.line)} {s.api} x{s.count}  {s.source}" for s in sites[:PLACES]
    ]
    if sites[PLACES:]:
        lines.append(f"  ... and {len(sites) - PLACES} more sites")
    lines += [f"  help: {text}" for text in _advice(sites[:PLACES])]
    return "\n".join(lines)


def _worst_step(record: TraceRecord) -> tuple[int, str]:
    """The most waits in a step, and which one it was; the first of several is warm-up."""
    pairs = zip(record.step_syncs, record.step_allowed, strict=True)
    steps = [waits - allowed for waits, allowed in pairs]
    first = record.step_count - len(steps)  # of many, the newest are kept
    skipped = 1 if not first and len(steps) > 1 else 0
    most = max(steps[skipped:])
    return most, f" in step {first + steps.index(most, skipped)}"


def _advice(sites: Iterable[SiteStats]) -> Iterable[str]:
    """What to do, once for each API."""
    for api in dict.fromkeys(site.api for site in sites):
        try:
            yield catalogue.load()[api].advice
        except KeyError:  # noqa: PERF203  an API of a third party's adapter
            continue


def load(path: Path) -> dict[str, int]:
    """The stored limits, by test; none where there is no file. Raises AsyncguardError."""
    try:
        data = files.parse_json(files.read(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise AsyncguardError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise AsyncguardError(f"{path}: {error}; write it anew with --asyncguard-update") from error
    tests = data.get("tests") if isinstance(data, dict) and data.get("format") == FORMAT else None
    if not isinstance(tests, dict) or not all(map(_is_limit, tests.values())):
        raise AsyncguardError(
            f"{path}: not the limits of tests; write them anew with --asyncguard-update"
        )
    return tests


def save(path: Path, limits: Mapping[str, int]) -> None:
    """Store limits; raises AsyncguardError where the file cannot be written."""
    data = {"format": FORMAT, "version": 1, "tests": dict(sorted(limits.items()))}
    try:
        files.replace(path, [json.dumps(data, indent=1).encode(), b"\n"])
    except OSError as error:
        raise AsyncguardError(
            f"{path}: cannot be written: {error.strerror or error}; name another file with the "
            "ini option asyncguard_limits"
        ) from error


def _is_limit(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
