"""Calls of CUDA in an exported report, and which of them held the host until the device was done.

A call that synchronises waits. A copy waits if it is a blocking one, or if it is asynchronous by
name but from or to pageable memory, and the profile shows it: a download that returned only when
the device had copied, an upload of more than 64 KiB that was still in the call when the device
began to. A wait for the stream right after a copy, as torch makes it, is the copy's own: one wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from asyncguard.advise.nsys.export import (
    API,
    PID,
    SYNCHRONIZATION,
    Export,
    Process,
    is_number,
    is_time,
)
from asyncguard.model import AsyncguardError, SyncKind

COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
GAP = 100_000  # ns, at most, between a copy and the wait for the stream that belongs to it
STAGED = 64 << 10  # bytes; smaller uploads go into the queue whole, and nobody waits
_VERSION = re.compile(r"(?:_v\d+)?(?:_pt[sd][sz])?(?:_v\d+)?$")
_SYNCHRONISES = re.compile(r"(?:cuda|cu)\w*Synchronize$")
_STREAM = re.compile(r"(?:cuda|cu)StreamSynchronize$")
_COPY = re.compile(r"(?:cuda|cu)Memcpy\w*$")
UPLOAD, DOWNLOAD = SyncKind.UPLOAD, SyncKind.ARRAY
# Numbers as CUPTI has them; the enumerations' tables say it in doubt.
OPERATIONS = {
    "CUDA_MEMCPY_KIND_HTOD": 1, "CUDA_MEMCPY_KIND_DTOH": 2, "CUDA_MEMCPY_KIND_HTOA": 3,
    "CUDA_MEMCPY_KIND_ATOH": 4,
}  # fmt: skip
MEMORY = {"CUDA_MEMOPR_MEMORY_KIND_PAGEABLE": 0}
SYNC_TYPES = {
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE": 1,
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE": 3,
    "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE": 4,
}
SYNC_APIS = ("cudaEventSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize")
# By words of a blocking copy's name, where no record of the copy says it.
_DIRECTIONS = (
    (("DtoD", "AtoA", "DtoA", "AtoD", "Peer", "ArrayToArray"), None),
    (("HtoD", "HtoA", "ToSymbol", "ToArray"), UPLOAD),
)


class Copy(NamedTuple):
    """The device copied from or to host memory; `pageable` is None where that is not known."""

    begin: int
    end: int
    kind: SyncKind
    pageable: bool | None
    device: int | None
    nbytes: int


class Sync(NamedTuple):
    """The host waited in a call: CUPTI's own record of it."""

    begin: int
    end: int
    api: str
    device: int | None


class Call(NamedTuple):
    """A call of the host; `chain` is its call stack's number, `thread` None where unknown."""

    begin: int
    end: int
    thread: int | None
    api: str
    number: int | None
    chain: int | None


@dataclass(frozen=True)
class Blocked:
    """A call that waited, from when to when, and for which device."""

    call: Call
    kind: SyncKind
    device: int | None = None


@dataclass
class Records:
    """Of one process, by the number of the call that they belong to."""

    copies: dict[int, Copy] = field(default_factory=dict)
    syncs: dict[int, Sync] = field(default_factory=dict)
    has_copies: bool = False


def names_of(export: Export) -> dict[int, str]:
    """The names of the calls in the export, without what tells their versions apart."""
    if not export.has("StringIds", ("id", "value")):
        raise AsyncguardError("it lacks the table StringIds, and so the names of CUDA's calls")
    sql = f'SELECT id, value FROM StringIds WHERE id IN (SELECT DISTINCT "nameId" FROM {API})'
    return {
        number: _VERSION.sub("", name)
        for number, name in export.kept("StringIds", sql)
        if is_number(number) and isinstance(name, str)
    }


def waiting(names: Mapping[int, str]) -> list[int]:
    """The numbers of the names that may wait."""
    return [at for at, name in names.items() if _SYNCHRONISES.match(name) or _COPY.match(name)]


def records(export: Export, process: Process) -> Records:
    """Read what the device says of copies and synchronisations."""
    found = Records()
    if export.has(COPIES, ("start", "end", "copyKind", "correlationId")):
        found.has_copies = True
        found.copies = dict(_copies(export, process))
    if export.has(SYNCHRONIZATION, ("start", "end", "syncType", "correlationId")):
        found.syncs = dict(_syncs(export, process))
    return found


def _copies(export: Export, process: Process) -> Iterator[tuple[int, Copy]]:
    where = export.of_process(COPIES, process, "k")
    if where is None:
        return
    operations = export.named("ENUM_CUDA_MEMCPY_OPER", OPERATIONS)
    pageable = export.named("ENUM_CUDA_MEM_KIND", MEMORY)["CUDA_MEMOPR_MEMORY_KIND_PAGEABLE"]
    up, down, up_array, down_array = (operations[name] for name in OPERATIONS)
    optional = ", ".join(
        export.column(COPIES, name, "k") for name in ("srcKind", "dstKind", "deviceId", "bytes")
    )
    sql = (
        f'SELECT k."start", k."end", k."copyKind", k."correlationId", {optional} '
        f'FROM {COPIES} AS k WHERE {where} AND k."copyKind" IN (?, ?, ?, ?)'
    )
    rows = export.kept(COPIES, sql, (up, down, up_array, down_array))
    for begin, end, operation, call, source, target, device, nbytes in rows:
        if not (is_time(begin) and is_time(end) and begin <= end):
            continue  # it counts as skipped where the device's work is read
        uploads = operation in (up, up_array)
        memory = source if uploads else target
        yield call, Copy(
            begin, end, UPLOAD if uploads else DOWNLOAD,
            memory == pageable if is_number(memory) else None,
            device if is_number(device) else None, nbytes if is_number(nbytes) else STAGED + 1,
        )  # fmt: skip


def _syncs(export: Export, process: Process) -> Iterator[tuple[int, Sync]]:
    where = export.of_process(SYNCHRONIZATION, process, "k")
    if where is None:
        return
    types = export.named("ENUM_CUPTI_SYNC_TYPE", SYNC_TYPES)
    apis = {types[name]: api for name, api in zip(SYNC_TYPES, SYNC_APIS, strict=True)}
    sql = (
        f'SELECT k."start", k."end", k."syncType", k."correlationId", '
        f"{export.column(SYNCHRONIZATION, 'deviceId', 'k')} FROM {SYNCHRONIZATION} AS k "
        f'WHERE {where} AND k."syncType" IN (?, ?, ?)'
    )
    rows = export.kept(SYNCHRONIZATION, sql, tuple(apis))
    for begin, end, kind, call, device in export.spans(rows):
        if is_number(call) and begin:  # CUPTI gives zeros for times that it could not collect
            yield call, Sync(begin, end, apis[kind], device if is_number(device) else None)


def calls(export: Export, process: Process, names: Mapping[int, str]) -> Iterator[Call]:
    """All calls of a process, thread by thread, each thread's in the order of their begins."""
    optional = export.column(API, "correlationId"), export.column(API, "callchainId")
    sql = (
        f'SELECT "start", "end", "globalTid", "nameId", {", ".join(optional)} FROM {API} '
        f'WHERE ("globalTid" >> 24) & {PID} = {process.number} '
        'ORDER BY "globalTid", "start", "end" DESC'
    )
    for begin, end, thread, name, number, chain in export.spans(export.rows(sql)):
        if is_number(thread):
            yield Call(
                begin, end, thread, names.get(name, "") if is_number(name) else "",
                number if is_number(number) else None, chain if is_number(chain) else None,
            )  # fmt: skip
        else:
            export.skipped += 1


def waits(every: Iterable[Call], known: Records) -> Iterator[Blocked]:
    """The calls that waited; a call within one that waits is part of it.

    What only the device recorded, without a call, comes last.
    """
    pending: Blocked | None = None  # it may turn out to be one with the call that follows it
    last: Call | None = None
    orphans = dict(known.syncs)
    for call in every:
        if call.number is not None:
            orphans.pop(call.number, None)
        if pending is not None and _is_within(call, pending.call):
            continue
        found = _judged(call, known)
        joined = _joined(pending, last, found, known)
        if joined is not None:
            pending = joined
        else:
            if pending is not None:
                yield pending
            pending = found
        last = call
    if pending is not None:
        yield pending
    for number, (begin, end, api, device) in sorted(orphans.items(), key=lambda item: item[1][:2]):
        yield Blocked(Call(begin, end, None, api, number, None), SyncKind.BARRIER, device)


def _is_within(call: Call, other: Call) -> bool:
    return call.thread == other.thread and other.begin <= call.begin and call.end <= other.end


def _judged(call: Call, known: Records) -> Blocked | None:
    """What a call by itself has waited for; None where it has not."""
    number = -1 if call.number is None else call.number
    copy, sync = known.copies.get(number), known.syncs.get(number)
    device = copy.device if copy is not None else sync.device if sync is not None else None
    if _SYNCHRONISES.match(call.api):
        return Blocked(call, SyncKind.BARRIER, device)
    if _COPY.match(call.api):
        kind = _copied(call, copy, known)
        return None if kind is None else Blocked(call, kind, device)
    if sync is None:
        return None
    # A call that is no wait by its name, `cudaFree` for one: the device says how long it waited.
    return Blocked(call._replace(begin=sync.begin, end=sync.end, api=call.api or sync.api),
                   SyncKind.BARRIER, device)  # fmt: skip


def _copied(call: Call, copy: Copy | None, known: Records) -> SyncKind | None:
    """Which way a copy went that held the host; None where it did not."""
    if "Async" in call.api:
        return copy.kind if copy is not None and _held(call, copy) else None
    if copy is not None:
        return copy.kind
    if known.has_copies and call.number is not None:
        return None  # from device to device, or of nothing
    for words, kind in _DIRECTIONS:
        if any(word in call.api for word in words):
            return kind
    return DOWNLOAD


def _held(call: Call, copy: Copy) -> bool:
    """Whether an asynchronous copy held the host; see this module."""
    if copy.kind is DOWNLOAD:
        return copy.pageable is not False and call.end >= copy.end
    return bool(copy.pageable) and copy.nbytes > STAGED and call.end > copy.begin


def _joined(
    pending: Blocked | None, last: Call | None, found: Blocked | None, known: Records
) -> Blocked | None:
    """A wait for the stream and the copy right before it as one; None where they are not."""
    if found is None or last is None or last.thread != found.call.thread:
        return None
    follows = _STREAM.match(found.call.api) and found.call.begin - last.end <= GAP
    if not (follows and _COPY.match(last.api) and "Async" in last.api):
        return None
    copy = known.copies.get(-1 if last.number is None else last.number)
    if copy is None:
        return None
    if pending is None:  # the copy itself did not wait
        return replace(found, kind=copy.kind)
    longest = max(found.call, last, key=lambda call: call.end - call.begin)
    chain = found.call.chain if last.chain is None else last.chain
    whole = longest._replace(begin=last.begin, end=found.call.end, chain=chain)
    return Blocked(whole, copy.kind, pending.device)
