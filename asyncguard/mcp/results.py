"""What the tools return: typed, so that their output schemas say what each field means.

Times are milliseconds, `_ms` in the name; `left` is how many more there are beyond the limit.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Result(BaseModel):
    """A record of fields that all have a meaning; docstrings below fields become descriptions."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class TextEdit(Result):
    """Replace the text from (line, column) up to (end_line, end_column)."""

    line: int
    """Counted from 1; of a notebook within the cell."""
    column: int
    """Counted from 0, in characters."""
    end_line: int
    end_column: int
    text: str


class Repair(Result):
    """Code that removes or thins out a wait."""

    message: str
    applicability: Literal["safe", "unsafe", "shown"]
    """safe: the program computes the same; unsafe: it may not, as `message` says; shown: a sketch
    that you have to complete."""
    edits: list[TextEdit]
    """All of one file; apply them together, the last place first. Those of two repairs may
    overlap: take the `patch` of `check` instead, or check again between them."""
    diff: list[str]
    """The lines that the repair takes away (-) and adds (+)."""


class Finding(Result):
    """One expression at which Python waits for the device."""

    code: str
    rule: str
    path: str
    line: int
    column: int
    """Counted from 1, as editors show it."""
    end_line: int
    end_column: int
    cell: int | None
    """Of a notebook, from 1; lines then count within the cell."""
    function: str
    source: str
    message: str
    loop: Literal["step", "epoch", "none"]
    """How often it runs, as far as is seen."""
    guarded: bool
    """Behind a condition that makes it rare."""
    probability: float
    """That it waits, 0 to 1."""
    why: list[str]
    """The evidence: why the value is on the device, what speaks against it, what makes the place
    hot."""
    remedy: str
    repair: Repair | None


class Checked(Result):
    """What `check` found, what waits most first."""

    verdict: str
    total: int
    findings: list[Finding]
    left: int
    next_offset: int | None
    """Pass it as `offset` for the next ones; null where there are none."""
    hidden: int
    """Found too, but rare or doubtful: `everything` shows them."""
    accepted: int
    """Left out because a baseline accepts them."""
    files_checked: int
    patch: str | None
    """All repairs that were asked for as one unified diff, for `git apply` or `patch -p1` at the
    root; those that another makes room for are in it."""
    patch_repairs: int
    patch_left: list[str]
    """Files whose part of the patch is left out, for its size: check them one by one."""
    notes: list[str]


class Explained(Result):
    """A finding of the line, and why a check does not report it."""

    finding: Finding
    hidden: str
    """Why `check` leaves it out; empty if it reports it."""


class Explanation(Result):
    """A rule, or why a line has the findings that it has, or none."""

    verdict: str
    code: str | None
    rule: str | None
    text: str
    """Of a rule: its explanation, with examples."""
    findings: list[Explained]


class Site(Result):
    """One place of the program that waited in a run."""

    place: str
    """path:line, from the root; `predict` takes it."""
    function: str
    api: str
    kind: str
    source: str
    waits: int
    waits_per_step: float | None
    stall_ms: float
    """How long Python was blocked there, per step where there are steps."""
    called_from: list[str]
    """Innermost first."""
    remedy: str


class Suggestion(Result):
    """A change that several sites may share, and what it is predicted to save."""

    title: str
    advice: str
    places: list[str]
    waits_saved_per_step: float
    saving_ms_per_step: float | None
    low_ms: float | None
    high_ms: float | None


class Report(Result):
    """The figures of one run. Those of a step leave out the first, which warms up."""

    verdict: str
    trace: str
    basis: str
    """measured: on a device; modelled: by the simulated one; stand-in: the CPU was taken for a
    device, so that counts are true and times are not."""
    device: str
    steps: int
    waits: int
    waits_per_step: float | None
    step_ms: float | None
    stall_ms_per_step: float | None
    sites: list[Site]
    """What cost most first."""
    sites_left: int
    suggestions: list[Suggestion]
    suggestions_left: int
    troubles: list[str]
    """Why the figures may be too low: the program failed, was stopped, or a hook did."""


class Output(Result):
    """What a program wrote, kept apart from the protocol; cut in the middle if it is long."""

    text: str
    characters: int
    """How many it wrote in all."""
    cut: int
    """How many of these are left out of `text`."""


class Comparison(Result):
    """A run held against one before it."""

    before: str
    unit: Literal["step", "run"]
    waits_before: float
    waits_after: float
    ms_before: float
    ms_after: float
    outputs: Literal["equal", "fewer lines", "different", "unknown"]
    """What both runs printed; numbers with a point may differ by a relative 1e-5. fewer lines:
    equal but for lines that are no longer printed."""
    largest_difference: float | None
    """Relative, of numbers in lines that are else the same; null where a line is not."""
    lines_missing: int
    lines_unstable: int
    """In which repeated runs of the program before differ; they are not compared."""
    first_difference: list[str] | None
    """The line before and the line after."""
    exit_statuses: list[int | None]
    better: bool
    """Fewer waits, the same output, both runs ended well, and no wait can be missing."""


class Run(Result):
    """How a program ran under a trace."""

    verdict: str
    name: str
    ended: Literal["finished", "failed", "timed out", "wrote too much"]
    exit_status: int | None
    seconds: float
    """Wall time of the run here, which says nothing of the device."""
    stdout: Output
    stderr: Output
    report: Report | None
    """Null where no trace was left."""
    comparison: Comparison | None


class Predicted(Result):
    """A step after changes that nobody has made yet."""

    verdict: str
    before_ms: float
    step_ms: float
    low_ms: float
    high_ms: float
    saving_ms: float
    basis: str
    bottleneck: str


class Side(Result):
    """One trace, a step or a run of it."""

    waits: float
    stall_ms: float
    ms: float
    steps: int


class Change(Result):
    """One site in both traces."""

    place: str
    api: str
    source: str
    state: str
    """new, gone, more, fewer or same, by the number of waits."""
    waits_before: float
    waits_after: float
    stall_ms_before: float
    stall_ms_after: float
    unit: str


class Diff(Result):
    """Two traces side by side."""

    verdict: str
    unit: str
    before: Side
    after: Side
    predicted_ms: float | None
    """The step that replay of the trace before predicts of this change."""
    sites: list[Change]
    left: int


class Grown(Result):
    """A site of a trace that is new or waits more often than the baseline allows."""

    place: str
    api: str
    source: str
    before: float | None
    """Waits a step, of the run if there are no steps; null: new."""
    now: float
    remedy: str


class Gated(Result):
    """Source and traces against the baseline."""

    verdict: str
    passed: bool
    baseline: str
    findings: list[Finding]
    """Those that are new."""
    findings_left: int
    grown: list[Grown]
    grown_left: int
    stale: int
    """Entries of the baseline that no longer occur."""
    notes: list[str]


class Pair(BaseModel):
    """A site that is to wait in one step of `every` only."""

    model_config = ConfigDict(extra="forbid")

    place: str = Field(description="path:line, as `run` and `report` name it")
    every: int = Field(ge=1, le=1_000_000, description="steps")
