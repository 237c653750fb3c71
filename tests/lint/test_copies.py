"""Copies in programs as the linter reads them, against what CUDA's documentation says and a search.

The tables are those that the simulated device is held to; the search knows nothing of the linter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.lint.check import check_source
from asyncguard.lint.domain.copies import (
    ANY,
    CURRENT,
    NOTHING,
    PREFIX,
    WHOLE,
    Copy,
    InFlight,
    Layout,
    Made,
    Memory,
    Size,
)
from asyncguard.lint.run.settings import Settings
from tests.effort import examples
from tests.lint.programs import Programs

TABLE = tomli.loads((Path(__file__).parents[1] / "sim" / "copies.toml").read_text(encoding="utf-8"))
SELECTED = Settings(select=("ALL",), cache=False, jobs=1)
Row = dict[str, Any]
SIDE = 1 << 10
HELD = {
    "pageable memory": "pageable",
    "has gaps": "gapped",
    "not pinned": "unpinned destination",
}


def laid_out(layout: str, count: int, options: str) -> str:
    """The text that makes a tensor of so many numbers as tests/sim/test_copies.py does."""
    rows, width = (max(count // SIDE, 1) if count else 0), min(count, SIDE)

    def make(*shape: int) -> str:
        return f"torch.ones({', '.join(map(str, shape))}{options})"

    match layout:
        case "gapped":
            return f"{make(rows, 2 * width)}[:, ::2]"
        case "transposed":
            return f"{make(width, rows)}.t()"
        case "expanded":
            return f"{make(1, width)}.expand({rows}, {width})"
        case "part":
            return f"{make(rows + 2, width)}[1 : {rows + 1}]"
    return make(rows, width)


def options(place: str, memory: str, dtype: str = "") -> str:
    told = f", dtype=torch.{dtype}" if dtype else ""
    if place != "host":
        return f'{told}, device="{place}"'
    return f"{told}, pin_memory=True" if memory == "pinned" else told


def copy_of(row: Row) -> str:
    """A program that makes the copy of a row."""
    by, flag, count = row["by"], row["flag"], row["kib"] << 8
    source = laid_out(row["layout"], count, options(row["from"], row["memory"]))
    place = "cpu" if row["to"] == "host" else row["to"]
    into = row.get("into", "dense")
    match by:
        case "to":
            dtype = f"torch.{row['dtype']}, " if "dtype" in row else ""
            call = f'source.to("{place}", {dtype}non_blocking={flag})'
        case "cuda":
            call = f"source.cuda(non_blocking={flag})"
        case "cpu":
            call = "source.cpu()"
        case _:
            kind = "float16" if into == "float16" else ""
            call = f"target.copy_(source, non_blocking={flag})"
            target = laid_out(into, count, options(row["to"], row["memory"], kind))
            source = f"{source}\n    target = {target}"
    return f"import torch\ndef main():\n    source = {source}\n    {call}\n"


def is_seen(row: Row) -> bool:
    """Whether it does not hang on the layout of a tensor on the device, which is not followed."""
    on_device = row["layout"] if row["from"] == "cuda" else row.get("into", "dense")
    return row["to"] != row["from"] and on_device != "transposed"


def test_the_linter_finds_the_copies_that_block_although_they_are_told_not_to(
    programs: Programs,
) -> None:
    wrong = {}
    for row in filter(is_seen, TABLE["copies"]):
        source = copy_of(row)
        found = [f for f in programs.in_source(source, SELECTED) if f.code == "ASG108"]
        held = [why for f in found for words, why in HELD.items() if words in f.message]
        wanted = [row["why"]] if row["flag"] and row["holds"] != "no" else []
        if held != wanted:
            wrong[source] = (wanted, held)
    assert not wrong
    assert sum(map(is_seen, TABLE["copies"])) >= 55


def races_in(source: str) -> list[tuple[int, str]]:
    found = check_source(source, "a.py", SELECTED)
    return sorted((f.line, f.code) for f in found if f.code in ("ASG404", "ASG405"))


def test_the_linter_finds_the_races_of_the_table_and_no_others() -> None:
    """Where `numpy()` counts as a read, as the simulation cannot see the array, this reads it."""
    wrong = {}
    for row in TABLE["races"]:
        head = "import torch\nN = 1 << 15\ndef main():\n    side = torch.cuda.Stream()\n"
        program = row["program"].strip().replace(".numpy()", ".numpy().sum()")
        body = "".join(f"    {line}\n" for line in program.splitlines())
        codes = [code for _, code in races_in(head + body)]
        if codes != [row["code"]] * bool(row["code"]):
            wrong[row["name"]] = codes
    assert not wrong


# ---- straight programs, against the search


STREAMS, EVENTS, BUFFERS, PARTS = 3, 2, 2, 2


def steps(*bounds: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, bound - 1) for bound in bounds))


DOES: dict[str, tuple[int, ...]] = {
    "download": (STREAMS, BUFFERS, PARTS + 1),
    "upload": (STREAMS, BUFFERS, PARTS + 1),
    "record": (STREAMS, EVENTS),
    "event waits": (EVENTS,),
    "stream waits for event": (STREAMS, EVENTS),
    "stream waits for stream": (STREAMS, STREAMS),
    "stream waits": (STREAMS,),
    "device waits": (),
    "item": (STREAMS,),
    "read": (BUFFERS, PARTS + 1),
    "write": (BUFFERS, PARTS + 1),
}
Program = list[tuple[str, tuple[int, ...]]]
PROGRAMS = st.lists(
    st.sampled_from(sorted(DOES)).flatmap(
        lambda what: st.tuples(st.just(what), steps(*DOES[what]))
    ),
    max_size=12,
)


def part(buffer: int, which: int) -> str:
    return f"b{buffer}" if which == PARTS else f"b{buffer}[{which}]"


def line_of(what: str, at: tuple[int, ...]) -> str:
    match what, at:
        case "download", (stream, buffer, which):
            call = f"{part(buffer, which)}.copy_(x, non_blocking=True)"
            return f"with torch.cuda.stream(s{stream}): {call}"
        case "upload", (stream, buffer, which):
            call = f'{part(buffer, which)}.to("cuda", non_blocking=True)'
            return f"with torch.cuda.stream(s{stream}): {call}"
        case "record", (stream, event):
            return f"e{event}.record(s{stream})"
        case "event waits", (event,):
            return f"e{event}.synchronize()"
        case "stream waits for event", (stream, event):
            return f"s{stream}.wait_event(e{event})"
        case "stream waits for stream", (stream, other):
            return f"s{stream}.wait_stream(s{other})"
        case "stream waits", (stream,):
            return f"s{stream}.synchronize()"
        case "item", (stream,):
            return f"with torch.cuda.stream(s{stream}): x.sum().item()"
        case "read", (buffer, which):
            return f"{part(buffer, which)}.max()"
        case "write", (buffer, which):
            return f"{part(buffer, which)}.fill_(1.0)"
    return "torch.cuda.synchronize()"


def text_of(program: Program) -> str:
    """The program, each step on a line of its own; the first step is on line 9."""
    lines = [
        "import torch",
        "def main():",
        '    x = torch.ones(4, device="cuda")',
        "    s0, s1, s2 = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()",
        "    e0, e1 = torch.cuda.Event(), torch.cuda.Event()",
        "    e0.record(), e1.record()",
        "    b0 = torch.empty(4, pin_memory=True)",
        "    b1 = torch.empty(4, pin_memory=True)",
    ]
    return "\n".join([*lines, *(f"    {line_of(*step)}" for step in program)]) + "\n"


class Search:
    """What comes before what, as edges between numbers; no state of the linter's kind."""

    def __init__(self) -> None:
        self.before: dict[int, set[int]] = {0: set()}
        self.host = 0
        self.tails: dict[int, int] = {}
        self.events: dict[int, int] = {0: 0, 1: 0}
        self.copies: list[tuple[int, int, int, bool]] = []

    def node(self, *after: int | None) -> int:
        self.before[len(self.before)] = {node for node in after if node is not None}
        return len(self.before) - 1

    def precedes(self, node: int, other: int) -> bool:
        return node == other or any(self.precedes(node, at) for at in self.before[other])

    def acts(self, *after: int | None) -> None:
        self.host = self.node(self.host, *after)

    def enqueues(self, stream: int, *after: int | None) -> int:
        self.tails[stream] = self.node(self.host, self.tails.get(stream), *after)
        return self.tails[stream]

    def race(self, buffer: int, which: int, *, writes: bool) -> str:
        """The code of the first race of a use; "" if there is none."""
        codes = set()
        for node, its_buffer, its_part, fills in self.copies:
            apart = PARTS not in (which, its_part) and which != its_part
            used = its_buffer == buffer and not apart and (writes or fills)
            if used and not self.precedes(node, self.host):
                codes.add("ASG404" if fills else "ASG405")
        return min(codes, default="")

    def step(self, what: str, at: tuple[int, ...]) -> str:
        match what, at:
            case (("download" | "upload"), (stream, buffer, which)):
                self.copies.append((self.enqueues(stream), buffer, which, what == "download"))
            case "record", (stream, event):
                self.events[event] = self.enqueues(stream)
            case "event waits", (event,):
                self.acts(self.events[event])
            case "stream waits for event", (stream, event):
                self.enqueues(stream, self.events[event])
            case "stream waits for stream", (stream, other):
                self.enqueues(stream, self.tails.get(other))
            case (("stream waits" | "item"), (stream,)):
                self.acts(self.tails.get(stream))
            case "device waits", ():
                self.acts(*self.tails.values())
            case (("read" | "write"), (buffer, which)):
                return self.race(buffer, which, writes=what == "write")
        return ""


@settings(max_examples=examples(150), deadline=None)
@given(PROGRAMS)
def test_the_first_race_of_a_straight_program_is_the_one_that_a_search_finds(
    program: Program,
) -> None:
    search = Search()
    told = [(line, search.step(*step)) for line, step in enumerate(program, 9)]
    first = next(((line, code) for line, code in told if code), None)
    found = races_in(text_of(program))
    assert (found[0] if found else None) == first


# ---- the law of what paths know


MADE = [Made("a.py", (line, 0, line, 9)) for line in range(3)]
COPIES = st.builds(
    Copy, st.sampled_from(MADE), st.sampled_from((WHOLE, PREFIX, None)), st.booleans(),
    st.sampled_from(MADE),
)  # fmt: skip
STARTED = st.tuples(COPIES, st.sampled_from((CURRENT, *MADE)), st.integers(0, 2))


@st.composite
def in_flight(draw: st.DrawFn) -> InFlight:
    """What is in flight after a few copies, waits and events."""
    known = NOTHING
    for copy, stream, guards in draw(st.lists(STARTED, max_size=3)):
        known = known.started(copy, stream, guards)
        match draw(st.integers(0, 4)):
            case 0:
                known = known.after(stream, guards)
            case 1:
                known = known.recorded(copy.made, stream)
            case 2:
                known = known.ordered(CURRENT, after=stream, event=None)
            case 3:
                known = known.after_event(copy.block, guards)
    return known


@given(in_flight(), in_flight(), in_flight())
def test_what_is_in_flight_joins_in_any_order(
    one: InFlight, other: InFlight, third: InFlight
) -> None:
    assert one.joined(one) == one
    assert one.joined(other) == other.joined(one)
    assert one.joined(other).joined(third) == one.joined(other.joined(third))
    assert one.joined(NOTHING) == one


@given(in_flight(), in_flight())
def test_a_device_that_was_waited_for_leaves_nothing_in_flight(
    one: InFlight, other: InFlight
) -> None:
    assert not one.after(ANY, 0).flights
    assert not one.after(ANY, 0).joined(other.after(ANY, 0)).flights


MEMORY = st.builds(
    Memory, st.sampled_from((None, True, False)), st.sampled_from(Layout), st.sampled_from(Size),
    st.sampled_from((None, *MADE)), st.sampled_from((WHOLE, None)),
)  # fmt: skip


@given(MEMORY, MEMORY)
def test_memory_of_two_paths_blocks_only_where_both_do(one: Memory, other: Memory) -> None:
    both = one.joined(other) or Memory()
    assert both == (other.joined(one) or Memory())
    for held in (
        both.upload_held(keeps_order=False),
        both.upload_held(keeps_order=True),
        both.download_held(),
    ):
        assert not held or (one.pinned == other.pinned and one.pinned is not None)
