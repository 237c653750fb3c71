"""The loop: run, rank, repair a copy, run again, compare."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from asyncguard import files
from asyncguard.gate.difference import Difference
from asyncguard.lint.source.fixes import fix_files
from asyncguard.model import AsyncguardError, Finding
from asyncguard.reports import diff
from asyncguard.tune import copies, outputs
from asyncguard.tune.outputs import Comparison
from asyncguard.tune.plan import Step, plan
from asyncguard.tune.runs import Run, run


@dataclass(frozen=True)
class Request:
    """What to tune, and how: `options` are those of `asyncguard run`."""

    program: tuple[str, ...]  # the script and its arguments
    options: tuple[str, ...] = ()
    unsafe: bool = False
    branch: str | None = None  # to commit the repairs on
    in_place: bool = False  # whether to write them into the folder, if the outputs are equal
    keep: Path | None = None  # a folder for the traces and the patch
    seconds: float | None = None  # the longest that a run may take
    exclude: tuple[str, ...] = ()  # patterns of files that copies share with the folder


@dataclass(frozen=True)
class Tuned:
    """What came of it. Without repairs there is no second run."""

    before: Run
    steps: tuple[Step, ...]
    left: tuple[Finding, ...]  # what waited, and has no repair that was asked for
    patch: str
    folder: Path  # the copy that was repaired, which the paths of the findings lie in
    after: Run | None = None
    difference: Difference | None = None
    outputs: Comparison | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the repaired program ends and prints as it did, waits no more and races no more.

        Races of copies are seen where both run on the simulated device.
        """
        if self.after is None or self.outputs is None:
            return True
        alike = self.prints_the_same and self.before.status == self.after.status
        waits = self.before.record.total_syncs, self.after.record.total_syncs
        return alike and waits[1] <= waits[0] and not self.new_races

    @property
    def new_races(self) -> int:
        """How many races of copies the repaired program has that it had not before."""
        if self.after is None:
            return 0
        before, after = (len(r.record.extra.get("races", ())) for r in (self.before, self.after))
        return max(after - before, 0)

    @property
    def prints_the_same(self) -> bool:
        """Whether both runs printed the same, but for reports that a repair has made rarer."""
        if self.outputs is None:
            return True
        return self.outputs.equal or (self.outputs.fewer > 0 and self.reports_less)

    @property
    def reports_less(self) -> bool:
        """Whether a repair was to print less often."""
        fixes = (step.finding.fix for step in self.steps)
        return any(fix is not None and fix.reports_less for fix in fixes)


def tune(request: Request) -> Tuned:
    """Run the program, repair a copy of it, run that, and compare; raises AsyncguardError."""
    script = Path(request.program[0])
    if not script.is_file():
        raise AsyncguardError(f"{script}: there is no such script")
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="asyncguard-tune-")))
        return _tuned(request, script, scratch, stack)


def _tuned(request: Request, script: Path, scratch: Path, stack: ExitStack) -> Tuned:
    folder = copies.folder_of(script)
    program = (str(script.resolve().relative_to(folder.resolve())), *request.program[1:])
    traces = (request.keep or scratch).resolve()
    traces.mkdir(parents=True, exist_ok=True)
    old, new = scratch / "old", scratch / "new"  # each run finds the folder as it was
    shared = copies.copied(folder, old, request.exclude)
    committed: list[str] = []
    if request.branch is None:
        copies.copied(folder, new, request.exclude)
    else:
        new = stack.enter_context(copies.branch(folder, request.branch, scratch, committed))
    copies.linked(folder, scratch)
    before = run(old, program, request.options, traces / "before.json", request.seconds)
    copies.require_same(shared)
    steps, left = plan(new, before.record, unsafe=request.unsafe)
    outcome = fix_files([step.finding for step in steps], unsafe=request.unsafe, write=True)
    patch = outcome.diff.replace(f"{new.as_posix().lstrip('/')}/", "")
    if request.keep is not None:
        (traces / "repairs.patch").write_text(patch, encoding="utf-8")
    found = Tuned(before, tuple(steps), tuple(left), patch, new)
    if not steps:
        return found
    after = run(new, program, request.options, traces / "after.json", request.seconds)
    if request.branch is not None:
        copies.commit(new, _message(steps, new))
        committed.append(request.branch)
    found = replace(
        found,
        after=after,
        difference=diff(before.record, after.record),
        outputs=outputs.compare(before.output, after.output),
    )
    if not found.prints_the_same:
        found = replace(found, outputs=_without_noise(request, program, found, folder, scratch))
    if request.in_place and found.is_sound:
        after_repairs = {path: change.data for path, change in outcome.changes.items()}
        _write_back(after_repairs, new, folder, old)
    return found


def _without_noise(
    request: Request, program: Sequence[str], found: Tuned, folder: Path, scratch: Path
) -> Comparison:
    """Compare the outputs once more, without what differs in another run of the old program."""
    same, trace = scratch / "again", scratch / "again.json"
    copies.copied(folder, same, request.exclude)
    again = run(same, program, request.options, trace, request.seconds)
    after = found.after.output if found.after is not None else ""
    return outputs.compare(found.before.output, after, again.output)


def _message(steps: Sequence[Step], folder: Path) -> str:
    """Return what a commit of the repairs says."""
    lines = [
        f"- {Path(s.finding.path).relative_to(folder)}:{s.finding.line}: {_what(s)}" for s in steps
    ]
    return "\n".join(["Wait less for the device", "", *lines])


def _what(step: Step) -> str:
    return step.finding.fix.message if step.finding.fix is not None else ""


def _write_back(after: Mapping[str, bytes], new: Path, folder: Path, old: Path) -> None:
    """Write the repaired files into the folder itself; raises AsyncguardError."""
    for path in after:
        name = Path(path).relative_to(new)
        if (folder / name).read_bytes() != (old / name).read_bytes():
            raise AsyncguardError(
                f"{folder / name}: it has changed since it was copied; nothing written"
            )
    for path, data in after.items():
        files.replace(folder / Path(path).relative_to(new), [data])
