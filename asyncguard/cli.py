"""The command line: parse, call, render. No logic of its own.

Exit status: 0 clean, 1 findings or a regression, 2 a wrong call, configuration or file;
`asyncguard run` exits as the script does.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import cli_check, cli_explain, cli_findings, cli_tune, extras, files, screens
from asyncguard.model import AsyncguardError
from asyncguard.version import __version__

if TYPE_CHECKING:
    from asyncguard.render import Screen

DEFAULT_TRACE = "asyncguard-trace.json"
TIMELINE_EVENTS = 100_000
SUFFIXES = {
    ".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".folded": "folded",
}  # fmt: skip
EPILOG = """exit status: 0 clean, 1 findings or a regression, 2 usage, configuration or file error;
'run' exits as the script does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    checks = words[:1] == ["check"]
    arguments = build_parser().parse_args(cli_check.prepared(words) if checks else words)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        if command not in _ANYWHERE:
            _require_directory()
        return command(arguments)
    except AsyncguardError as error:
        screens.write(sys.stderr, f"asyncguard: {screens.one_line(str(error))}\n")
        return 2
    except KeyboardInterrupt:
        if command is _run:  # the script's: the interpreter ends us as it would have ended python
            raise
        print("asyncguard: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away: say nothing, as other filters do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _require_directory() -> None:
    try:
        Path.cwd()
    except OSError as error:
        raise AsyncguardError(
            "the working directory has been deleted; change to another"
        ) from error


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="asyncguard",
        description="Find, time, batch and gate the places where Python waits for the device.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"asyncguard {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (
        cli_check.add,
        _add_run,
        _add_report,
        _add_import,
        _add_diff,
        _add_gate,
        cli_tune.add,
        cli_explain.add,
        _add_rules,
        _add_demo,
        _add_lsp,
    ):
        add(commands)
    return parser


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="trace a script or module",
        description="Run a script or module as python does, and trace its sync points.",
        usage="asyncguard run [-o TRACE] [--sim cuda[:PROFILE]] [--depth DEPTH] [--timeline] "
        "[--device-times SOURCE] [--cross-check] [--ranges KIND] [--save-every SECONDS] [-q] "
        "(SCRIPT | -m MODULE) [ARGS...]",
    )
    parser.set_defaults(command=_run)
    parser.add_argument(
        "-o", "--output", metavar="TRACE", type=Path, default=Path(DEFAULT_TRACE),
        help=f"where the trace goes (default: {DEFAULT_TRACE})",
    )  # fmt: skip
    parser.add_argument(
        "--depth", choices=("light", "full"), default="light",
        help="full: also waits inside PyTorch's C++ operators (slower; main thread only)",
    )  # fmt: skip
    parser.add_argument(
        "--timeline",
        action="store_true",
        help="record a timeline of the last 100,000 waits (needed for --format perfetto)",
    )
    parser.add_argument(
        "--device-times", metavar="SOURCE", choices=("auto", "cupti", "profiler"),
        help="measure the GPU's idle time with cupti-python or torch's profiler: auto, cupti, "
        "profiler",
    )  # fmt: skip
    parser.add_argument(
        "--cross-check", action="store_true",
        help="also use torch's own sync warnings; waits that asyncguard does not recognise are "
        "listed as 'unattributed'",
    )  # fmt: skip
    parser.add_argument(
        "--lines", action="store_true",
        help="record which lines of your own files ran, for check --trace (slower before "
        "Python 3.12)",
    )  # fmt: skip
    parser.add_argument(
        "--sim", metavar="cuda[:PROFILE]",
        help="simulate CUDA devices on a machine without: h200 (default), h100, a100, rtx4090, t4, "
        "or a TOML file; times are modelled",
    )  # fmt: skip
    parser.add_argument(
        "--sim-devices", metavar="N", type=int, default=1, help="how many of them (default: 1)"
    )
    parser.add_argument(
        "--sim-host", choices=("fixed", "measured"), default="fixed",
        help="what operators cost the host: as the profile says (default), or as measured here",
    )  # fmt: skip
    parser.add_argument(
        "--ranges", choices=("record_function", "nvtx"),
        help="put a range of torch's profiler, or of NVTX, round each wait",
    )  # fmt: skip
    parser.add_argument(
        "--save-every", metavar="SECONDS", type=_seconds, default=60.0,
        help="save the trace while the program runs, too (default: 60; 0: only at its end)",
    )  # fmt: skip
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report at the end")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the script and its arguments")


def _seconds(text: str) -> float:
    """A number of seconds from 0 up."""
    seconds = float(text)
    if not 0 <= seconds < 1e9:
        raise ValueError(text)
    return seconds


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="show saved traces",
        description="Show saved traces. The ranks of one run, the traces in a folder, and more "
        "than eight traces are shown beside each other.",
    )
    parser.set_defaults(command=_report)
    parser.add_argument("traces", metavar="TRACE|DIR", nargs="+", type=Path)
    parser.add_argument(
        "--format",
        metavar="F",
        help="text, json, markdown, html, perfetto, speedscope or folded (default: as FILE's "
        "suffix says, else text)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write to FILE instead of standard output: a new file, or a regular one to replace",
    )
    parser.add_argument(
        "--with-kineto", metavar="FILE", type=Path,
        help="lay the trace over a Kineto trace of torch.profiler's: one file for Perfetto",
    )  # fmt: skip


def _add_import(commands: Any) -> None:
    parser = commands.add_parser(
        "import",
        help="make a trace from a profiler's file",
        description="Make a trace from a Kineto trace (torch.profiler's export_chrome_trace) that "
        "holds CUDA events: where Python waited for the device.",
    )
    parser.set_defaults(command=_import)
    parser.add_argument("kind", choices=("kineto",), help="the kind of FILE")
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument(
        "-o", "--output", metavar="TRACE", type=Path, default=Path(DEFAULT_TRACE),
        help=f"where the trace goes (default: {DEFAULT_TRACE})",
    )  # fmt: skip


def _add_diff(commands: Any) -> None:
    parser = commands.add_parser(
        "diff",
        help="compare two traces",
        description="Show what a change did: waits, stall and step time before and after, and what "
        "was predicted from the trace before.",
    )
    parser.set_defaults(command=_diff)
    parser.add_argument("before", metavar="BEFORE", type=Path)
    parser.add_argument("after", metavar="AFTER", type=Path)
    parser.add_argument(
        "--format", metavar="F", default="text", help="text (default), json or markdown"
    )


def _add_gate(commands: Any) -> None:
    parser = commands.add_parser(
        "gate",
        help="fail when sync points appear or grow",
        description=(
            "Compare traces (.json) or source (files, directories) with a baseline, and fail "
            "naming each sync point that is new or waits more often a step."
        ),
    )
    parser.set_defaults(command=_gate)
    parser.add_argument("paths", metavar="TRACE|PATH", nargs="+", type=Path)
    parser.add_argument(
        "--baseline", metavar="F", type=Path, help="default: asyncguard-baseline.json"
    )
    parser.add_argument(
        "--update", action="store_true", help="rewrite the baseline with the current state"
    )
    cli_findings.add_format(parser)
    cli_check.add_selection(parser)


def _add_rules(commands: Any) -> None:
    parser = commands.add_parser(
        "rules",
        help="list the rules, or test your own catalogue",
        description="List the rules; with --test, run the examples of your own catalogue instead.",
    )
    parser.set_defaults(command=_rules)
    parser.add_argument(
        "--test", action="store_true",
        help="run the hit and miss examples of the files under 'catalogue' in the configuration",
    )  # fmt: skip
    parser.add_argument(
        "--config", metavar="FILE", type=Path,
        help="with --test: read the settings from FILE (default: the nearest configuration file)",
    )  # fmt: skip


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="show the whole job on real input",
        description="Lint a real library, trace real frameworks, gate a new sync point.",
    )
    parser.set_defaults(command=_demo)


def _add_lsp(commands: Any) -> None:
    parser = commands.add_parser(
        "lsp",
        help="serve an editor",
        description="Serve an editor by the Language Server Protocol over standard input and "
        "output: findings while you type, explanations, repairs. Needs the extra 'lsp'.",
    )
    parser.set_defaults(command=_lsp)


def _run(arguments: argparse.Namespace) -> int:
    from asyncguard.runtime import launch
    from asyncguard.runtime.session import Session
    from asyncguard.sim.entry import profile_of, simulate_cuda

    module, script = arguments.module, arguments.script
    if script[:1] == ["--"]:
        script = script[1:]
    if not module and not script:
        raise AsyncguardError("run: name a script, or a module with -m")
    target = launch.Target.module(module) if module else launch.Target.script(script)
    timeline = TIMELINE_EVENTS if arguments.timeline else None
    simulated = contextlib.ExitStack()
    if arguments.sim is not None:
        profile, devices = profile_of(arguments.sim), arguments.sim_devices
        simulated.enter_context(simulate_cuda(profile, devices, host=arguments.sim_host))
    session = Session(
        command=target.command,
        timeline=timeline,
        depth=arguments.depth,
        device_times=arguments.device_times,
        cross_check=arguments.cross_check,
        ranges=arguments.ranges,
        lines=arguments.lines,
    )
    after = None if arguments.quiet else _show_saved
    return launch.run(
        target,
        arguments.output,
        after,
        session,
        saved=simulated.close,
        every=arguments.save_every,
    )


def _show_saved(path: Path) -> None:
    """Report a trace that `run` has just written, on stderr: stdout belongs to the script."""
    text = _report_text([path], "text", screens.screen(sys.stderr))
    screens.write(sys.stderr, f"\n{text}asyncguard: trace saved to {path}\n")


def _report(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    name = arguments.format or SUFFIXES.get(output.suffix.lower() if output else "", "text")
    other: Path | None = arguments.with_kineto
    if output is None:
        text = _report_text(arguments.traces, name, screens.screen(sys.stdout), other)
        screens.write(sys.stdout, text)
        return 0
    try:
        files.require_replaceable(output, [*arguments.traces, *([other] if other else [])])
        text = _report_text(arguments.traces, name, screens.plain(), other)
        files.replace(output, [text.encode()])
    except OSError as error:
        raise AsyncguardError(
            f"{output}: cannot write the report: {error.strerror or error}; name another with -o"
        ) from error
    return 0


def _report_text(
    paths: Sequence[Path], name: str, screen: Screen, other: Path | None = None
) -> str:
    """One report a trace, or one for all where they are the ranks of one run."""
    from asyncguard import reports

    if other is not None:
        return reports.with_kineto(paths, other)
    return reports.of_files(paths, name, screen)


def _import(arguments: argparse.Namespace) -> int:
    from asyncguard import reports

    record = reports.import_kineto(arguments.file, arguments.output)
    text = (
        f"{record.total_syncs:,} waits at {len(record.sites):,} sites saved to {arguments.output}"
    )
    screens.write(sys.stdout, f"asyncguard: {text}\n")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from asyncguard.api import diff
    from asyncguard.runtime import store

    render = screens.renderer(arguments.format, "differences")
    found = diff(store.load(arguments.before), store.load(arguments.after))
    screens.write(sys.stdout, render(found, screens.screen(sys.stdout)))
    return 0


def _gate(arguments: argparse.Namespace) -> int:
    from asyncguard.gate import baseline, compare
    from asyncguard.lint.check import LintResult
    from asyncguard.render import gate as render
    from asyncguard.runtime import store

    path = arguments.baseline or baseline.DEFAULT_PATH
    trace_paths = [p for p in arguments.paths if p.suffix == ".json"]
    source_paths = [p for p in arguments.paths if p.suffix != ".json"]
    records = [store.load(p) for p in trace_paths]
    result = LintResult((), 0)
    if source_paths:
        result = cli_check.find(source_paths, cli_check.configuration(arguments))
    found = result.findings
    if arguments.update:
        baseline.update(
            path,
            baseline.of_findings(found) if source_paths else None,
            baseline.of_traces(records) if records else None,
        )
        screens.write(sys.stdout, render.updated(path, found if source_paths else None, records))
        return 0
    accepted = baseline.load(path)
    if source_paths and accepted.findings is None:
        raise AsyncguardError(f"{path} has no lint findings yet; add them with --update")
    if records and accepted.sites is None:
        raise AsyncguardError(f"{path} has no trace yet; add one with --update")
    new = compare.new_findings(found, accepted.findings or {})
    grown = compare.grown_sites(records, accepted.sites or {})
    stale = [
        *compare.stale_findings(found, accepted.findings or {}, result.files),
        *(compare.stale_sites(records, accepted.sites or {}) if records else ()),
    ]
    notes = cli_findings.stale(stale, path, f"{baseline.UPDATE} PATHS")
    if arguments.output_format in (None, "text"):
        text = render.verdict(path, new, grown, _advice(), screens.screen(sys.stdout), notes)
        screens.write(sys.stdout, text)
    else:
        everything = (*new, *render.as_findings(grown, _codes(), _advice()))
        how = cli_findings.How(arguments.output_format)
        cli_findings.show(how, everything, result.files_checked, notes=notes)
    return 1 if new or grown else 0


def _rules(arguments: argparse.Namespace) -> int:
    from asyncguard.lint.report import registry
    from asyncguard.render.rules import table

    if arguments.test:
        return _test_rules(arguments)
    if arguments.config:
        raise AsyncguardError("--config does nothing by itself: add --test")
    screens.write(sys.stdout, table(registry.rules(), screens.screen(sys.stdout)))
    return 0


def _test_rules(arguments: argparse.Namespace) -> int:
    from asyncguard.lint.run.settings import load_settings, read_settings
    from asyncguard.lint.trial import trial
    from asyncguard.render.rules import verdict

    _require_directory()
    here = Path.cwd()
    config: Path | None = arguments.config
    settings = read_settings(config, here) if config else load_settings(here)
    if not settings.catalogue:
        raise AsyncguardError(
            f"{settings.source or 'no configuration file'}: names no catalogue of your own to "
            'test; add catalogue = ["syncs.toml"] to [tool.asyncguard] in pyproject.toml'
        )
    outcomes = tuple(trial(settings.catalogue))
    screens.write(sys.stdout, verdict(outcomes))
    return 1 if any(outcome.problem for outcome in outcomes) else 0


def _demo(arguments: argparse.Namespace) -> int:
    from asyncguard.demo import main as demo

    return demo()


def _lsp(arguments: argparse.Namespace) -> int:
    try:
        with extras.needs("lsp", "pygls", "lsprotocol"):
            from asyncguard import lsp
    except ModuleNotFoundError as error:
        raise AsyncguardError(f"lsp: {error}") from error
    return lsp.main()


def _advice() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.advice for point in catalogue.load()}


def _codes() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.rule for point in catalogue.load()}


_ANYWHERE = (cli_explain.run, _rules)  # commands that need no working directory
