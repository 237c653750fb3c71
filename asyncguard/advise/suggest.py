"""Suggestions from a trace: which sync points to batch, defer, narrow or add.

Where the trace has a timeline, replay predicts what each saves a step (`ranking`). Else each
carries an upper bound. A wait that is removed lets the host run ahead while the device works, so
what comes back is at most the smaller of the two: the host's own time in a step and the time that
the removed waits took. (The same bound as in Daydream, ATC'20; a wait may only move elsewhere, so
it is never a promise.)
A trace without steps is read as one step. Where the CPU stood in for a device, what a wait takes
says nothing of what it would take there: then there is no bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from asyncguard import catalogue
from asyncguard.advise import libraries
from asyncguard.advise.changes import Changes
from asyncguard.advise.ranking import NOTHING, Candidate, ranked
from asyncguard.advise.replay import READS, Replay, is_replayable
from asyncguard.model import STAND_IN, SiteStats, Suggestion, SyncKind, TraceRecord
from asyncguard.places import place_of

# What waits and hands over no value that could be read otherwise: the title, and what happens.
OTHERS = {
    SyncKind.UPLOAD: (
        "Upload without waiting in {function}",
        "Python waits at {lines} until the copy to the device is done.",
    ),
    SyncKind.SHAPE: (
        "Keep shapes fixed in {function}",
        "The size of the result at {lines} depends on device data, so Python waits for it.",
    ),
}
INSIDE_CALL = (
    "Avoid the wait inside {api} in {function}",
    "The call at {lines} reads a device value for itself.",
)
# A backend that is never waited for is worth a word only if its queue can grow long.
MANY_STEPS = 100
LINES = 12  # named in one advice


def suggest(record: TraceRecord) -> tuple[Suggestion, ...]:
    """Return what to do, the largest saving first: predicted where there is a timeline."""
    sites = [site for site in record.sites if site.allowed is None]
    own = [site for site in sites if not site.library]
    found = [
        *_batch_reads(record, own),
        *_defer_reads(record, own),
        *_narrow_barriers(record, own),
        *_wait_less_often(record, own),
        *_take_the_catalogues_advice(record, own),
        *_look_into_libraries(record, sites),
        *_synchronise_at_all(record),
    ]
    if is_replayable(record):
        return ranked(Replay(record), found)
    alone = (candidate.suggestion for candidate in found)
    return tuple(sorted(alone, key=lambda item: (not item.worth, -(item.saving_ns_per_step or 0))))


def _batch_reads(record: TraceRecord, sites: Sequence[SiteStats]) -> Iterable[Candidate]:
    """Several reads in one step of one function: one transfer can serve them."""
    for function, group in _hot_groups(record, sites).items():
        rate = _rate(record, group)
        if len(group) > 1:
            yield _suggestion(
                record,
                f"Read {len(group)} values of {function} in one transfer",
                f"{_each(group)} wait. Stack the values on the device and read the "
                "stack once; better still, only every N steps or after the loop.",
                group,
                saved=rate - 1,
                share=(len(group) - 1) / len(group),
                batched=True,
            )


def _defer_reads(record: TraceRecord, sites: Sequence[SiteStats]) -> Iterable[Candidate]:
    """A read in every step: after the loop, every N steps, or one step late."""
    for function, group in _hot_groups(record, sites).items():
        if len(group) > 1 and not is_replayable(record):
            continue  # one transfer serves them; replay tells alternatives apart
        yield _suggestion(
            record,
            f"Read less often in {function}",
            f"{_reads(group)} a device value in every step. Keep a "
            "running value on the device and read it after the loop, read every N steps, or read "
            "the previous step's value while this one runs (`asyncguard.later`).",
            group,
            saved=_rate(record, group),
        )


def _narrow_barriers(record: TraceRecord, sites: Sequence[SiteStats]) -> Iterable[Candidate]:
    """A barrier for the whole device or engine in every step: wait for one value, or not at all."""
    for site in sites:
        if site.kind is SyncKind.BARRIER and _waits_for_all(site) and _is_hot(record, site):
            yield _suggestion(
                record,
                f"Narrow {site.api} at {place_of(site.path, site.line)}",
                "It waits for everything that is enqueued. Wait for the one value that is needed "
                "next, or drop it where the next read waits anyway.",
                (site,),
                saved=_rate(record, (site,)),
            )


def _wait_less_often(record: TraceRecord, sites: Sequence[SiteStats]) -> Iterable[Candidate]:
    """A wait for one value many times a step: once a step bounds the queue as well."""
    for site in sites:
        rate = _rate(record, (site,))
        if site.kind is SyncKind.BARRIER and not _waits_for_all(site) and rate > 1:
            yield _suggestion(
                record,
                f"Wait once instead of {rate:,.0f} times at {place_of(site.path, site.line)}",
                "Each wait lets the queue run dry. One wait after the inner loop, once a "
                "mini-batch, keeps the queue bounded and the backend busy.",
                (site,),
                saved=rate - 1,
                batched=True,
            )


def _take_the_catalogues_advice(
    record: TraceRecord, sites: Sequence[SiteStats]
) -> Iterable[Candidate]:
    """Uploads, data-dependent shapes and waits inside a call: each has its own way out."""
    groups: dict[tuple[str, str, str, tuple[str, str]], list[SiteStats]] = defaultdict(list)
    for site in sites:
        inside = site.kind is SyncKind.COMPOSITE or _waits_for_itself(site)
        words = INSIDE_CALL if inside else OTHERS.get(site.kind)
        if words is not None and _is_hot(record, site):
            api = site.api if words is INSIDE_CALL else ""
            groups[site.path, site.function, api, words].append(site)
    for (_, _, api, (title, advice)), group in groups.items():
        lines = f"line{'s' if len({site.line for site in group}) > 1 else ''} {_lines(group)}"
        candidate = _suggestion(
            record,
            title.format(function=_function(group[0]), api=api),
            f"{advice.format(lines=lines)} {_help(group)}".rstrip(),
            group,
            saved=_rate(record, group),
        )
        yield candidate._replace(suggestion=replace(candidate.suggestion, help=""))


def _waits_for_itself(site: SiteStats) -> bool:
    """Whether a call reads what its caller never sees: a check of arguments, a scaler's flag."""
    point = _point(site)
    return point is not None and point.runtime is not None and point.runtime.value == "call"


def _look_into_libraries(record: TraceRecord, sites: Sequence[SiteStats]) -> Iterable[Candidate]:
    """Waits inside a library in every step: the user cannot change its lines, but its settings."""
    groups: dict[str, list[SiteStats]] = defaultdict(list)
    for site in sites:
        if site.library and _is_hot(record, site):
            groups[site.library[0]].append(site)
    for group in groups.values():
        yield _suggestion(
            record,
            f"Avoid waits in {_inside(group[0])}, called from {_places(group)}",
            " ".join(dict.fromkeys(libraries.of_site(site) for site in group)),
            group,
            saved=_rate(record, group),
        )


def _inside(site: SiteStats) -> str:
    return libraries.short(site.library[0].rpartition(" ")[0])


def _places(sites: Iterable[SiteStats]) -> str:
    places = sorted({place_of(site.path, site.line) for site in sites})
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return places[0] + more


def _synchronise_at_all(record: TraceRecord) -> Iterable[Candidate]:
    """No step waited where nothing else bounds the queue: it and its memory grow."""
    frameworks = catalogue.load().frameworks
    unbounded = [
        name
        for name in record.frameworks
        if name in frameworks and frameworks[name].unbounded_queue
    ]
    waits = any(site.steady_count for site in record.sites)
    if waits or record.step_count < MANY_STEPS or not unbounded:
        return
    once = Suggestion(
        f"Synchronise once a mini-batch ({', '.join(unbounded)})",
        f"{record.step_count:,} steps ran without a single wait, so nothing keeps the frontend "
        f"from enqueuing far ahead: pending work and its memory grow.{_peak(record)}",
        (),
        syncs_saved_per_step=-1.0,
        saving_ns_per_step=None,
    )
    yield Candidate(once, None)


def _peak(record: TraceRecord) -> str:
    """What a wait a step would have bounded in this run, as far as it is known."""
    pending = record.extra.get("peak_pending_bytes")
    if pending:
        bounded = _bounded_peak(record)
        text = f" A wait a step bounds the pending results, {pending / 2**20:,.1f} MiB at most here"
        return f"{text}, to about {bounded / 2**20:,.1f} MiB." if bounded else f"{text}."
    grown = record.extra.get("peak_memory_growth_bytes")
    if grown:
        return f" A wait a step bounds what the process grew by here, {grown / 2**20:,.0f} MiB."
    return ""


def _bounded_peak(record: TraceRecord) -> int | None:
    """The peak of pending bytes with a wait that ends each step, where replay can tell."""
    if not is_replayable(record):
        return None
    return Replay(record).predict(Changes(wait_each_step=True)).peak_pending_bytes


def _hot_groups(
    record: TraceRecord, sites: Iterable[SiteStats]
) -> dict[str, tuple[SiteStats, ...]]:
    """Reads that happen in every step, by function."""
    groups: dict[str, list[SiteStats]] = defaultdict(list)
    for site in sites:
        if site.kind in READS and not _waits_for_itself(site) and _is_hot(record, site):
            groups[_function(site)].append(site)
    return {name: tuple(group) for name, group in groups.items()}


def _function(site: SiteStats) -> str:
    return f"{site.function or 'module'} ({site.path})"


def _is_hot(record: TraceRecord, site: SiteStats) -> bool:
    return _rate(record, (site,)) >= (1 if record.step_count else 2)


def _rate(record: TraceRecord, sites: Iterable[SiteStats]) -> float:
    """Waits a step of these sites together; of the whole run where no step was marked."""
    group = tuple(sites)
    total = sum(site.count for site in group)
    rate = record.per_step(total, sum(site.steady_count for site in group))
    return float(total) if rate is None else rate


def _waits_for_all(site: SiteStats) -> bool:
    point = _point(site)
    return point is not None and point.waits_for in {"device", "everything"}


def _point(site: SiteStats) -> catalogue.SyncPoint | None:
    """The catalogue's entry; None for an API of a third party's adapter that brings none."""
    try:
        return catalogue.load()[site.api]
    except KeyError:
        return None


def _suggestion(
    record: TraceRecord,
    title: str,
    advice: str,
    sites: Sequence[SiteStats],
    *,
    saved: float,
    share: float = 1.0,
    batched: bool = False,
) -> Candidate:
    """Make a suggestion with its bound; `share` of the sites' waits would go away.

    With `batched` one wait a step is left of them all.
    """
    among = set(map(id, sites))
    numbers = frozenset(at for at, site in enumerate(record.sites) if id(site) in among)
    changes = Changes(batch=(numbers,)) if batched else Changes(remove=numbers)
    if any(site.device == STAND_IN for site in sites):
        plain = Suggestion(title, advice, tuple(sites), saved, None, _help(sites))
        return Candidate(plain, changes)
    step, stall, waited = _step_times(record, sites)
    bound = int(min(step - stall, share * waited))
    worth = is_replayable(record) or bound >= NOTHING * step
    if not worth:
        advice += " In this run the waits took next to no time."
    plain = Suggestion(title, advice, tuple(sites), saved, bound, _help(sites), worth)
    return Candidate(plain, changes)


def _help(sites: Sequence[SiteStats]) -> str:
    if sites[0].library:
        return ""
    point = _point(max(sites, key=lambda site: site.cpu_stall_ns))
    return "" if point is None else point.advice


def _step_times(record: TraceRecord, sites: Iterable[SiteStats]) -> tuple[float, float, float]:
    """Nanoseconds a step: in all, waiting anywhere, and waiting at these sites."""
    if record.steady_steps:
        steps = record.steady_steps
        stall = sum(site.steady_stall_ns for site in record.sites)
        waited = sum(site.steady_stall_ns for site in sites)
        return record.steady_duration_ns / steps, stall / steps, waited / steps
    steps = max(record.step_count, 1)
    waited = sum(site.cpu_stall_ns for site in sites)
    return record.duration_ns / steps, record.cpu_stall_ns / steps, waited / steps


def _reads(sites: Sequence[SiteStats]) -> str:
    if len(sites) > 1:
        return f"{_each(sites)} read"
    return f"Line {_lines(sites)} reads" if sites[0].line else "It reads"


def _each(sites: Sequence[SiteStats]) -> str:
    """The lines, where all are known: an imported trace may know functions alone."""
    return f"Lines {_lines(sites)} each" if all(site.line for site in sites) else "They each"


def _lines(sites: Iterable[SiteStats]) -> str:
    lines = sorted({site.line for site in sites})
    more = f" and {len(lines) - LINES:,} more" if len(lines) > LINES else ""
    return ", ".join(str(line) for line in lines[:LINES]) + more
