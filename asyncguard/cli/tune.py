"""`asyncguard tune`: the options, and what came of it as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import screens
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError

if TYPE_CHECKING:
    from asyncguard.tune.loop import Tuned
    from asyncguard.tune.outputs import Comparison
    from asyncguard.tune.plan import Step


def add(commands: Any) -> None:
    """Add the command to a parser's."""
    parser = add_command(
        commands,
        "tune",
        run,
        "[OPTIONS] SCRIPT [ARGS ...]",
        help="repair a copy of a script and show what that gains",
        description="Trace a script, repair its waits in a copy of its folder, trace the copy, and "
        "compare outputs, waits and step time. Exit status 1 if the outputs differ.",
        examples=("train.py --epochs 1", "--unsafe-fixes --sim cuda --branch fewer-waits train.py"),
        page="guides/repairs.md",
    )
    parser.add_argument(
        "--unsafe-fixes", action="store_true",
        help="include repairs that may change the program, as their messages say",
    )  # fmt: skip
    parser.add_argument(
        "--sim", metavar="cuda[:PROFILE]", help="simulate CUDA, as `asyncguard run --sim` does"
    )
    parser.add_argument("--branch", metavar="NAME", help="commit the repairs on a new git branch")
    parser.add_argument(
        "--in-place", action="store_true",
        help="write the repairs into the script's folder, if the outputs are equal",
    )  # fmt: skip
    parser.add_argument(
        "--keep", metavar="FOLDER", type=Path,
        help="keep before.json, after.json and repairs.patch in FOLDER",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, help="stop a run that takes longer"
    )
    parser.add_argument(
        "--exclude", metavar="PATTERN", action="append", default=[],
        help="leave files and folders of such names out of the copy; may be repeated (files of "
        "more than 16 MiB, and of 1 MiB that git ignores, are linked, not copied)",
    )  # fmt: skip
    parser.add_argument("script", nargs=argparse.REMAINDER, help="script to run, and its arguments")


def run(arguments: argparse.Namespace) -> int:
    """Tune, and show what came of it; returns the exit status."""
    from asyncguard.tune.loop import Request, tune

    program = [word for at, word in enumerate(arguments.script) if at or word != "--"]
    if not program:
        raise AsyncguardError("tune: name a script")
    if arguments.branch and arguments.in_place:
        raise AsyncguardError("--branch and --in-place: choose one")
    if arguments.timeout is not None and not arguments.timeout > 0:
        raise AsyncguardError(f"--timeout {arguments.timeout:g}: name more than 0 seconds")
    options = ("--sim", arguments.sim, "--sim-races", "warn") if arguments.sim else ()
    request = Request(
        tuple(program), options, arguments.unsafe_fixes, arguments.branch, arguments.in_place,
        arguments.keep, arguments.timeout, tuple(arguments.exclude),
    )  # fmt: skip
    found = tune(request)
    screens.write(sys.stdout, "".join(f"{line}\n" for line in _lines(found, request.unsafe)))
    return 0 if found.is_sound else 1


def _lines(found: Tuned, unsafe: bool) -> Iterator[str]:
    if not found.steps:
        yield "No repair for what waited in this run" + ("." if unsafe else "; try --unsafe-fixes.")
        yield from _left(found)
        return
    yield "Repairs, the largest predicted saving first:"
    for number, step in enumerate(found.steps, 1):
        yield from _step(number, step, found)
    yield from _left(found)
    yield from _comparison(found)
    yield ""
    yield found.patch.rstrip("\n")


def _step(number: int, step: Step, found: Tuned) -> Iterator[str]:
    from asyncguard.render.words import duration

    finding, fix = step.finding, step.finding.fix
    place = Path(finding.path).relative_to(found.folder)
    saving = ""
    if step.saving_ns is not None:
        saving = f" (predicted: {duration(step.saving_ns)} a step)"
    waits = sum(site.count for site in step.sites)
    yield f"{number:>3}. {place}:{finding.line}: {fix.message if fix else ''}{saving}"
    yield f"     {finding.source.strip()}    {waits:,} x"


def _left(found: Tuned) -> Iterator[str]:
    """Name what waited and was not repaired."""
    lines = sorted({(Path(f.path).relative_to(found.folder), f.line) for f in found.left})
    if lines:
        yield f"Left as they are: {', '.join(f'{path}:{line}' for path, line in lines)}"


def _comparison(found: Tuned) -> Iterator[str]:
    """Show the outputs and the figures of both runs."""
    from asyncguard.render.difference import expectation, total_rows
    from asyncguard.render.races import races

    if found.after is None or found.difference is None or found.outputs is None:
        return
    yield ""
    if found.before.status != found.after.status:
        yield f"exit status {found.before.status} -> {found.after.status}"
    yield from _outputs(found.outputs, found.prints_the_same)
    if found.new_races:
        yield "Refused: with the repairs, host memory is used while a copy may still use it"
        yield from (f"  {told}" for told in races(found.after.record))
    for name, before, after, change in total_rows(found.difference):
        yield f"{name}: {before} -> {after} ({change})"
    if told := expectation(found.difference):
        yield told


def _outputs(outputs: Comparison, same: bool) -> Iterator[str]:
    """Say whether both runs printed the same."""
    but = []
    if outputs.equal and outputs.difference:
        but.append(f"numbers within {outputs.difference:.0e}")
    if outputs.fewer:
        but.append(f"but for {outputs.fewer:,} lines that are no longer printed")
    if outputs.unstable:
        lines = "line" if outputs.unstable == 1 else "lines"
        but.append(f"but for {outputs.unstable:,} {lines} in which runs of the old program differ")
    if same:
        yield ", ".join(["outputs: equal", *but])
    else:
        old, new = outputs.first or ("", "")
        yield f"outputs: they differ\n  before: {old}\n  after:  {new}"
