"""`asyncguard check`: the options, and from them to findings on the screen."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import screens
from asyncguard.cli import findings, fixes
from asyncguard.model import AsyncguardError, Device, Finding
from asyncguard.prepared import kept_code

if TYPE_CHECKING:
    from asyncguard.lint.check import LintResult
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import Settings

STDIN = "-"
ADD_IGNORE = "--add-ignore"


def prepared(argv: Sequence[str]) -> list[str]:
    """Give `--add-ignore` an empty reason where it has none: the next word is a path."""
    return [f"{ADD_IGNORE}=" if word == ADD_IGNORE else word for word in argv]


def add(commands: Any) -> None:
    """Add the command to a parser's."""
    parser = commands.add_parser(
        "check", help="find waits in source", description="Find the places where Python waits."
    )
    parser.set_defaults(command=run)
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or directories; '-' for standard input"
    )
    _add_output(parser)
    add_selection(parser)
    _add_files(parser)
    parser.add_argument("--fix", action="store_true", help="apply the safe fixes")
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="include unsafe fixes (with --fix or --diff)"
    )
    parser.add_argument(
        "--diff", action="store_true", help="print the fixes as a patch and change no file"
    )
    parser.add_argument(
        ADD_IGNORE, metavar="=REASON", dest="add_ignore", default=None,
        help="silence each finding with a comment on its line, and give REASON there",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", metavar="FILE", type=Path, help="hide findings already recorded in FILE"
    )
    parser.add_argument(
        "--write-baseline", metavar="FILE", type=Path,
        help="record all current findings in FILE and exit",
    )  # fmt: skip
    parser.add_argument(
        "--trace", metavar="TRACE", type=Path,
        help="compare with a trace: show which findings it confirms, which lines never ran, and "
        "what only one of the two knows (text, json)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", "-j", metavar="N", type=int,
        help="number of worker processes (default: one per core)",
    )  # fmt: skip
    parser.add_argument("--no-cache", action="store_true", help="do not use the cache")
    parser.add_argument(
        "--verbose", "-v", action="store_true",
        help="report on stderr where the analysis reached a limit (depth, rounds, sizes)",
    )  # fmt: skip
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with status 0 even if there are findings"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    findings.add_format(parser)
    findings.add_order(parser)
    parser.add_argument(
        "--show-files", action="store_true", help="list the files that would be checked and exit"
    )
    parser.add_argument(
        "--show-settings", action="store_true",
        help="print the settings for the first PATH, with their file, and exit",
    )  # fmt: skip


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--extend-exclude", metavar="PATTERNS", type=_patterns,
        help="also skip these files and folders (comma-separated)",
    )  # fmt: skip
    parser.add_argument(
        "--force-exclude", action="store_true",
        help="skip excluded files even if you name them on the command line",
    )  # fmt: skip
    parser.add_argument(
        "--no-respect-gitignore", action="store_true", help="also check files that git ignores"
    )
    parser.add_argument(
        "--stdin-filename", metavar="NAME",
        help="file name to report for source read from standard input",
    )  # fmt: skip


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which rules run, and where settings come from."""
    for option, text in (
        ("--select", "run only these rules (codes, starts of codes or names, comma-separated); "
                     "ALL also shows low-confidence and guarded findings"),
        ("--ignore", "do not run these rules"),
        ("--extend-select", "run these rules as well"),
    ):  # fmt: skip
        parser.add_argument(option, metavar="RULES", help=text)
    parser.add_argument(
        "--config", metavar="FILE", type=Path,
        help="read the settings from FILE (default: the asyncguard.toml or pyproject.toml nearest "
        "to each checked file)",
    )  # fmt: skip
    parser.add_argument(
        "--assume-device",
        choices=[device.value for device in Device],
        help="device to assume for tensors created without one: as-written (default: the CPU, "
        "and models run on an accelerator), accelerator, or cpu for everything (where PyTorch, "
        "Chainer and CuPy never wait)",
    )


def _selectors(option: str, text: str | None) -> tuple[str, ...] | None:
    """Read the rules that an option names; raises AsyncguardError."""
    from asyncguard.lint import selectors

    if text is None:
        return None
    words = _patterns(text)
    if not words:
        raise AsyncguardError(f"{option}: name at least one rule; `asyncguard rules` lists them")
    try:
        return tuple(map(selectors.parse, words))
    except ValueError as error:
        raise AsyncguardError(f"{option}: {error}") from error


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(pattern.strip() for pattern in text.split(",") if pattern.strip())


def run(arguments: argparse.Namespace) -> int:
    """Check, and show what was found; returns the exit status."""
    with kept_code("check"):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    _require_sense(arguments)
    settings = configuration(arguments)
    if arguments.show_settings:
        return _show_settings(arguments, settings)
    if arguments.show_files:
        return _show_files(arguments, settings)
    return _check(arguments, settings)


def _require_sense(arguments: argparse.Namespace) -> None:
    """Raise AsyncguardError for options that would do nothing together."""
    from asyncguard.lint.run.settings import MOST_JOBS

    findings.require_sense(arguments)
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


def configuration(arguments: argparse.Namespace) -> Configuration:
    """Return what the configuration files say, changed by the command line."""
    from asyncguard.lint.run.configuration import Configuration
    from asyncguard.lint.run.settings import override

    given = vars(arguments)
    change = partial(
        override,
        select=_selectors("--select", arguments.select),
        ignore=_selectors("--ignore", arguments.ignore),
        extend_select=_selectors("--extend-select", arguments.extend_select),
        extend_exclude=given.get("extend_exclude"),
        force_exclude=True if given.get("force_exclude") else None,
        respect_gitignore=False if given.get("no_respect_gitignore") else None,
        assume_device=arguments.assume_device and Device(arguments.assume_device),
        jobs=given.get("jobs"),
        cache=False if given.get("no_cache") else None,
    )
    if arguments.config:
        return Configuration.from_file(arguments.config, change)
    return Configuration(change)


def _check(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.lint.run import pool

    pool.tune_collector()
    atexit.register(gc.freeze)  # nothing is searched for cycles on the way out
    name = findings.chosen_format(arguments.output_format)
    screens.renderer(name, "findings")  # an unknown one is refused before the work
    given = _given(arguments)
    look = partial(_look, arguments, settings)
    seen = look(given)
    found = [*seen.found]
    if arguments.trace:
        return _compare(arguments, settings, found)
    if arguments.add_ignore is not None:
        return _add_ignores(arguments.add_ignore, found)
    if arguments.diff:
        fixes.show_patch(found, given, unsafe=arguments.unsafe_fixes)
        return 1 if found and not arguments.exit_zero else 0
    if arguments.fix:
        seen, given = fixes.fix(seen, given, look, unsafe=arguments.unsafe_fixes)
        found = [*seen.found]
        if given:
            fixes.show_sources(given)
            return 1 if found and not arguments.exit_zero else 0
    if arguments.write_baseline:
        return _write_baseline(arguments.write_baseline, found)
    how = findings.How.of(arguments)
    result = seen.result
    findings.show(how, found, result.files_checked, result.hidden, [*seen.notes])
    return 1 if found and not arguments.exit_zero else 0


def _compare(arguments: argparse.Namespace, settings: Configuration, found: list[Finding]) -> int:
    """Join all that the linter knows with what a trace has counted."""
    from asyncguard import catalogue
    from asyncguard.advise import agreement
    from asyncguard.lint.check import check_configured
    from asyncguard.lint.run.discover import choose
    from asyncguard.runtime import store

    render = screens.renderer(arguments.output_format or "text", "agreements")
    paths = [Path(path) for path in arguments.paths] or [Path()]
    everything = configuration(argparse.Namespace(**{**vars(arguments), "select": "ALL"}))
    known = check_configured(paths, everything).findings
    checked = map(str, choose(paths, settings).files)
    points = {point.id: point for point in catalogue.load()}
    record = store.load(arguments.trace)
    joined = agreement.join(known, found, record, points, checked, str(Path.cwd()))
    screens.write(sys.stdout, render(joined, screens.screen(sys.stdout)))
    return 1 if found and not arguments.exit_zero else 0


def find(paths: Sequence[Path], settings: Configuration, *, verbose: bool = False) -> LintResult:
    """Check paths, or the working directory, and tell what was left out.

    `verbose`: also where a bound of the analysis was reached, so that it followed no further.
    """
    from asyncguard.lint.check import check_configured

    with screens.progress("checking", sys.stderr) as progress:
        result = check_configured(paths or [Path()], settings, progress)
    for note in (*result.notes, *(result.bounds if verbose else ())):
        _tell(note)
    if not result.files_checked and not result.notes:
        _tell(f"no Python files to check in {', '.join(map(str, paths)) or 'this directory'}")
    return result


def _given(arguments: argparse.Namespace) -> fixes.Given:
    """Read standard input, if that is what is checked."""
    if STDIN not in arguments.paths:
        return {}
    return {arguments.stdin_filename or "<stdin>": sys.stdin.buffer.read()}


def _look(
    arguments: argparse.Namespace, settings: Configuration, given: fixes.Given
) -> fixes.Looked:
    """Check what is given, or else the files."""
    if given:
        result = _find_in_given(arguments, settings, given)
    else:
        paths = [Path(path) for path in arguments.paths]
        result = find(paths, settings, verbose=arguments.verbose)
    return fixes.Looked(result, *_unrecorded(arguments, result))


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
    arguments: argparse.Namespace, result: LintResult
) -> tuple[list[Finding], list[str]]:
    """Leave out the findings that the baseline holds, and say what in it is stale."""
    found = list(result.findings)
    if not arguments.baseline:
        return found, []
    from asyncguard.gate import baseline, compare

    remedy = f"asyncguard check --write-baseline {arguments.baseline}"
    accepted = baseline.load(arguments.baseline, remedy).findings
    if accepted is None:
        raise AsyncguardError(f"{arguments.baseline} has no findings; add them with `{remedy}`")
    stale = compare.stale_findings(found, accepted, result.files)
    return list(compare.new_findings(found, accepted)), findings.stale(
        stale, arguments.baseline, f"{remedy} PATHS"
    )


def _add_ignores(reason: str, found: list[Finding]) -> int:
    """Silence the findings with comments."""
    from asyncguard.lint.source.fixes import fix_files
    from asyncguard.lint.source.ignores import with_ignores
    from asyncguard.render.words import count

    silenced = with_ignores(found, " ".join(reason.split()))
    outcome = fix_files(silenced, unsafe=False, write=True)
    files = count(len({finding.path for finding in silenced}), "file")
    _tell(f"{count(outcome.fixed, 'comment')} added in {files}")
    left = [finding for finding in found if finding.cell is not None]
    if left:
        _tell(f"{count(len(left), 'finding')} in notebooks left as they are")
    return 0


def _write_baseline(path: Path, found: list[Finding]) -> int:
    from asyncguard.gate import baseline
    from asyncguard.render.words import count

    baseline.update(path, baseline.of_findings(found), None, "asyncguard check --write-baseline")
    _tell(f"{count(len(found), 'finding')} recorded in {path}")
    return 0


def _show_files(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.lint.run.discover import choose

    chosen = choose([Path(path) for path in arguments.paths] or [Path()], settings)
    for note in chosen.notes:
        _tell(note)
    screens.write(sys.stdout, "".join(f"{screens.one_line(file)}\n" for file in chosen.files))
    return 0


def _show_settings(arguments: argparse.Namespace, settings: Configuration) -> int:
    from asyncguard.render.settings import toml

    first = Path(arguments.stdin_filename or (arguments.paths or ["."])[0])
    here: Settings = settings.of(first if first.is_dir() else first.parent)
    screens.write(sys.stdout, toml(here))
    return 0


def _tell(text: str) -> None:
    screens.write(sys.stderr, f"asyncguard: {screens.one_line(text)}\n")
