"""`asyncguard check`: the options, and from them to findings on the screen."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import screens
from asyncguard.cli import findings, fixes, options, watch
from asyncguard.cli.output import Output, tell
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError, Finding
from asyncguard.render.words import count

if TYPE_CHECKING:
    from asyncguard.lint.check import LintResult
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import Settings

STDIN = "-"


def prepared(argv: Sequence[str]) -> list[str]:
    """Give `check --add-ignore` an empty reason where it has none: the next word is a path."""
    if argv[:1] != ["check"]:
        return [*argv]
    return [f"{options.ADD_IGNORE}=" if word == options.ADD_IGNORE else word for word in argv]


def add(commands: Any) -> None:
    """Add the command to a parser's."""
    parser = add_command(
        commands,
        "check",
        run,
        "[OPTIONS] [PATH ...]",
        help="find waits in source",
        description="Find the places where Python waits for the device, in files and notebooks, "
        "or in folders (default: this one).",
        examples=(
            "",
            "--diff src/                  # the repairs, as a patch",
            "--fix --unsafe-fixes train.py",
            "--limit 20 --show-reasons src/",
            "--write-baseline base.json src/",
            "--trace asyncguard-trace.json src/",
            "--watch src/                 # again after each change",
        ),
        page="guides/check.md",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or directories; '-' for standard input"
    )
    for add_group in (
        options.add_output, options.add_selection, options.add_files, options.add_changes,
        options.add_accepted, options.add_running,
    ):  # fmt: skip
        add_group(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, and show what was found; returns the exit status."""
    _require_sense(arguments)
    settings = options.configuration(arguments)
    if arguments.show_settings:
        return _show_settings(arguments, settings)
    if arguments.show_files:
        return _show_files(arguments, settings)
    return _check(arguments, settings)


def _watch(arguments: argparse.Namespace, how: findings.How) -> int:
    """Check, and check again after each change; the configuration may be what has changed.

    Where no terminal shows them, and no format is asked for, a result is one line.
    """
    formatted = arguments.output_format or arguments.output or arguments.statistics
    brief = not (formatted or arguments.quiet or sys.stdout.isatty())

    def look() -> fixes.Looked:
        return _look(arguments, options.configuration(arguments), {})

    def check(path: str, data: bytes) -> Sequence[Finding]:
        from asyncguard.lint.check import check_source

        return check_source(data, path, options.configuration(arguments).of(Path(path).parent))

    def show(seen: fixes.Looked, changed: str) -> None:
        if sys.stdout.isatty():
            screens.write(sys.stdout, f"{watch.clear()}{changed}{' changed' * bool(changed)}\n")
        elif brief:
            screens.write(sys.stdout, f"{changed} changed: " if changed else "")
        elif changed:
            tell(f"{changed} changed", quiet=arguments.quiet)
        _show(how._replace(brief=brief), seen, arguments)
        sys.stdout.flush()

    return watch.run(arguments, look, check, show)


def _require_sense(arguments: argparse.Namespace) -> None:
    """Raise AsyncguardError for options that would do nothing together."""
    from asyncguard.lint.run.settings import MOST_JOBS

    findings.require_sense(arguments)
    if arguments.watch:
        watch.require_sense(arguments)
    if arguments.unsafe_fixes and not (arguments.fix or arguments.diff):
        raise AsyncguardError("--unsafe-fixes changes nothing by itself: add --fix or --diff")
    if arguments.fix and arguments.diff:
        raise AsyncguardError("--fix and --diff: choose one; --diff changes nothing")
    if arguments.jobs is not None and not 1 <= arguments.jobs <= MOST_JOBS:
        raise AsyncguardError(f"--jobs {arguments.jobs}: name 1 to {MOST_JOBS} processes")
    writes = [
        name
        for name in ("add_ignore", "fix", "diff", "write_baseline")
        if getattr(arguments, name) not in (None, False)
    ]
    if len(writes) > 1 and "add_ignore" in writes:
        raise AsyncguardError("--add-ignore cannot be combined with --fix, --diff and the like")
    _require_sensible_input(arguments)


def _require_sensible_input(arguments: argparse.Namespace) -> None:
    """Raise AsyncguardError for options that do not go with what is to be read."""
    standard = STDIN in arguments.paths
    if arguments.trace and (standard or arguments.fix or arguments.diff):
        raise AsyncguardError("--trace compares files as they are: leave out '-', --fix and --diff")
    if arguments.stdin_filename and not standard:
        raise AsyncguardError("--stdin-filename needs '-', which reads standard input")
    if standard and len(arguments.paths) > 1:
        raise AsyncguardError("'-' (standard input) cannot be mixed with paths")
    if standard and arguments.add_ignore is not None:
        raise AsyncguardError("--add-ignore cannot write to standard input")


def _check(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.lint.run import pool

    pool.tune_collector()
    atexit.register(gc.freeze)  # nothing is searched for cycles on the way out
    output = Output.of(arguments, arguments.paths)
    how = findings.How.of(arguments, output)
    screens.renderer(how.format, "findings")  # an unknown one is refused before the work
    if arguments.watch:
        return _watch(arguments, how)
    given = _given(arguments)
    look = partial(_look, arguments, settings)
    seen = look(given)
    if arguments.show_allowed:
        findings.show(how, seen.result.allowed, seen.result.files_checked)
        return 0
    found = [*seen.found]
    if arguments.trace:
        return _compare(arguments, settings, found, output)
    if arguments.add_ignore is not None:
        return _add_ignores(arguments.add_ignore, found)
    if arguments.fix or arguments.diff:
        repaired = fixes.repaired(seen, given, look, unsafe=arguments.unsafe_fixes)
        if arguments.diff:
            return _show_patch(repaired, output, arguments)
        seen, found = repaired.seen, [*repaired.seen.found]
        repaired.write()
        tell(f"{repaired.fixed} fixed, {len(found)} remaining", quiet=arguments.quiet)
        if repaired.given:
            output.write_bytes(b"".join(repaired.given.values()))
            return 1 if found and not arguments.exit_zero else 0
    if arguments.write_baseline:
        return _write_baseline(arguments.write_baseline, found)
    return _show(how, seen, arguments, given)


def _show(
    how: findings.How,
    seen: fixes.Looked,
    arguments: argparse.Namespace,
    given: Mapping[str, bytes] = {},
) -> int:
    result = seen.result
    notes = [*_note_tests(result.in_tests), *_note_allowed(result.allowed), *seen.notes]
    findings.show(how, seen.found, result.files_checked, result.hidden, notes, given, seen.accepted)
    return seen.status(arguments)


def _note_tests(number: int) -> Iterator[str]:
    """Say how many findings stand in unit tests."""
    if number:
        yield f'Not shown: {count(number, "finding")} in unit tests (`tests = "check"`).'


def _note_allowed(allowed: Sequence[Finding]) -> Iterator[str]:
    """Say how many findings the program itself allows where they stand."""
    if allowed:
        yield f"Not shown: {count(len(allowed), 'finding')} allowed in the source (--show-allowed)."


def _show_patch(repaired: fixes.Repaired, output: Output, arguments: argparse.Namespace) -> int:
    """Write the patch alone, and on stderr how much it repairs; 1 if there is any."""
    output.write(repaired.patch())
    left = len(repaired.seen.found)
    tell(f"{repaired.fixed} would be fixed, {left} would remain", quiet=arguments.quiet)
    return 1 if repaired.fixed and not arguments.exit_zero else 0


def _compare(
    arguments: argparse.Namespace, settings: Configuration, found: list[Finding], output: Output
) -> int:
    """Join all that the linter knows with what a trace has counted."""
    from asyncguard import catalogue
    from asyncguard.advise import agreement
    from asyncguard.lint.check import check_configured
    from asyncguard.lint.run.discover import choose
    from asyncguard.runtime import store

    name = arguments.output_format or ("json" if output.format == "json" else "text")
    render = screens.renderer(name, "agreements")
    paths = [Path(path) for path in arguments.paths] or [Path()]
    everything = options.configuration(argparse.Namespace(**{**vars(arguments), "select": "ALL"}))
    known = check_configured(paths, everything).findings
    checked = map(str, choose(paths, settings).files)
    points = {point.id: point for point in catalogue.load()}
    record = store.load(arguments.trace)
    joined = agreement.join(known, found, record, points, checked, str(Path.cwd()))
    output.write(render(joined, output.screen))
    return 1 if found and not arguments.exit_zero else 0


def find(
    paths: Sequence[Path], settings: Configuration, *, verbose: bool = False, quiet: bool = False
) -> LintResult:
    """Check paths, or the working directory, and tell what was left out, unless `quiet`.

    `verbose`: also where a bound of the analysis was reached, so that it followed no further.
    """
    from asyncguard.lint.check import check_configured

    with screens.progress("checking", None if quiet else sys.stderr) as progress:
        result = check_configured(paths or [Path()], settings, progress)
    for note in (*result.notes, *(result.bounds if verbose else ())):
        tell(note, quiet=quiet)
    if not result.files_checked and not result.notes:
        where = ", ".join(map(str, paths)) or "this directory"
        tell(f"no Python files to check in {where}", quiet=quiet)
    return result


def _given(arguments: argparse.Namespace) -> fixes.Given:
    """Read standard input, if that is what is checked."""
    if STDIN not in arguments.paths:
        return {}
    if sys.stdin is None:
        raise AsyncguardError("'-': standard input is closed")
    return {arguments.stdin_filename or "<stdin>": sys.stdin.buffer.read()}


def _look(
    arguments: argparse.Namespace, settings: Configuration, given: fixes.Given
) -> fixes.Looked:
    """Check what is given, or else the files."""
    if given:
        result = _find_in_given(arguments, settings, given)
    else:
        paths = [Path(path) for path in arguments.paths]
        result = find(paths, settings, verbose=arguments.verbose, quiet=arguments.quiet)
    return _unrecorded(arguments, settings, result, given or result.files)


def _find_in_given(
    arguments: argparse.Namespace, settings: Configuration, given: fixes.Given
) -> LintResult:
    from asyncguard.lint.check import LintResult, check_source
    from asyncguard.lint.live import check_text
    from asyncguard.lint.run.discover import is_excluded

    ((name, data),) = given.items()
    here = settings.of(Path(arguments.stdin_filename or "x").parent)
    if here.force_exclude and is_excluded(Path(name), here):
        return LintResult((), 0)
    if arguments.stdin_filename:
        return LintResult(tuple(check_text(data, name, settings)), 1)
    return LintResult(tuple(check_source(data, name, here)), 1)


def _unrecorded(
    arguments: argparse.Namespace, settings: Configuration, result: LintResult, files: Iterable[str]
) -> fixes.Looked:
    """Leave out the findings that baselines hold, and say how many, and what in them is stale."""
    folders = {Path(file).parent for file in files}
    known = arguments.baseline or any(settings.of(folder).baseline for folder in folders)
    if not known or arguments.no_baseline or arguments.write_baseline:
        return fixes.Looked(result, result.findings)
    from asyncguard.gate import baseline
    from asyncguard.gate.accepted import Place, configured, without_accepted

    place, remedy = configured(settings), baseline.UPDATE
    if arguments.baseline:
        named = Place(arguments.baseline)
        place, remedy = lambda file: named, f"asyncguard check --write-baseline {named.path}"
        baseline.load(named.path, remedy)  # it must be there, also where there is no file to check
    accepted = without_accepted(result.findings, files, place, remedy)
    notes: list[str] = []
    if arguments.baseline or not arguments.paths or any(map(os.path.isdir, arguments.paths)):
        notes = [note for stale in accepted.stale for note in findings.stale_note(*stale)]
    counts = {place.shown: number for place, number in accepted.counts if number}
    return fixes.Looked(result, accepted.findings, notes, counts)


def _add_ignores(reason: str, found: list[Finding]) -> int:
    """Silence the findings with comments."""
    from asyncguard.lint.source.fixes import fix_files
    from asyncguard.lint.source.ignores import with_ignores
    from asyncguard.render.words import count

    silenced = with_ignores(found, " ".join(reason.split()))
    outcome = fix_files(silenced, unsafe=False, write=True)
    files = count(len({finding.path for finding in silenced}), "file")
    tell(f"{count(outcome.fixed, 'comment')} added in {files}")
    left = [finding for finding in found if finding.cell is not None]
    if left:
        tell(f"{count(len(left), 'finding')} in notebooks left as they are")
    return 0


def _write_baseline(path: Path, found: list[Finding]) -> int:
    from asyncguard.gate import baseline
    from asyncguard.render.words import count

    remedy = "asyncguard check --write-baseline"
    baseline.update(path, baseline.of_findings(found), None, remedy)
    tell(f"{count(len(found), 'finding')} recorded in {path}")
    return 0


def _show_files(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.lint.run.discover import choose

    chosen = choose([Path(path) for path in arguments.paths] or [Path()], settings)
    for note in chosen.notes:
        tell(note)
    screens.write(sys.stdout, "".join(f"{screens.one_line(file)}\n" for file in chosen.files))
    return 0


def _show_settings(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.render.settings import toml

    first = Path(arguments.stdin_filename or (arguments.paths or ["."])[0])
    here: Settings = settings.of(first if first.is_dir() else first.parent)
    screens.write(sys.stdout, toml(here))
    return 0
