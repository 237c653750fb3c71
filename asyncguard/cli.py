"""The command line: parse, call, render. No logic of its own.

Exit status: 0 clean, 1 findings or a regression, 2 a wrong call, configuration or file;
`asyncguard run` exits as the script does.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncguard
from asyncguard.model import AsyncguardError, Device, Finding, TraceRecord

if TYPE_CHECKING:
    from asyncguard.lint.settings import Settings
    from asyncguard.render import Screen, TraceReport

DEFAULT_TRACE = "asyncguard-trace.json"
TIMELINE_EVENTS = 100_000
EPILOG = """exit status: 0 clean, 1 findings or a regression, 2 a wrong call, configuration or file;
'run' exits as the script does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = build_parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except AsyncguardError as error:
        print(f"asyncguard: {error}", file=sys.stderr)
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


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="asyncguard",
        description="Find, time, batch and gate the places where Python waits for the device.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"asyncguard {asyncguard.__version__}"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (_add_check, _add_run, _add_report, _add_gate, _add_explain, _add_rules, _add_demo):
        add(commands)
    return parser


def _add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check", help="find sync points in source", description="Find sync points in source."
    )
    parser.set_defaults(command=_check)
    _add_paths(parser)
    parser.add_argument(
        "--output-format",
        "--format",
        metavar="F",
        default="text",
        help="text (default), json or markdown",
    )
    _add_selection(parser)
    parser.add_argument("--fix", action="store_true", help="apply the safe fixes")
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: all fixes"
    )
    parser.add_argument(
        "--diff", action="store_true", help="show the fixes as a diff, change nothing"
    )
    parser.add_argument("--statistics", action="store_true", help="show counts by rule")
    parser.add_argument(
        "--baseline", metavar="F", type=Path, help="report only what F does not hold"
    )
    parser.add_argument(
        "--write-baseline", metavar="F", type=Path, help="accept what is found into F"
    )
    parser.add_argument(
        "--jobs", "-j", metavar="N", type=int, help="processes (default: the cores)"
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    parser.add_argument(
        "--stdin-filename", metavar="NAME", default="<stdin>", help="the name of what '-' reads"
    )


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="trace a script or module",
        description="Run a script or module as python does, and trace its sync points.",
        usage="asyncguard run [-o TRACE] [--sim cuda[:PROFILE]] [--depth DEPTH] [--timeline] "
        "[--device-times SOURCE] [--cross-check] [-q] (SCRIPT | -m MODULE) [ARGS...]",
    )
    parser.set_defaults(command=_run)
    parser.add_argument(
        "-o", "--output", metavar="TRACE", type=Path, default=Path(DEFAULT_TRACE),
        help=f"where the trace goes (default: {DEFAULT_TRACE})",
    )  # fmt: skip
    parser.add_argument(
        "--depth", choices=("light", "full"), default="light",
        help="light (default): what Python calls; full: on torch also what waits below Python",
    )  # fmt: skip
    parser.add_argument(
        "--timeline", action="store_true", help="keep the newest events one by one (for perfetto)"
    )
    parser.add_argument(
        "--device-times", metavar="SOURCE", choices=("auto", "cupti", "profiler"),
        help="measure the GPU's idle time with cupti-python or torch's profiler: auto, cupti, "
        "profiler",
    )  # fmt: skip
    parser.add_argument(
        "--cross-check", action="store_true",
        help="ask torch itself where it waits for CUDA; what no entry names is 'unattributed'",
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
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report at the end")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the script and its arguments")


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report", help="show a saved trace", description="Show saved traces."
    )
    parser.set_defaults(command=_report)
    parser.add_argument("traces", metavar="TRACE", nargs="+", type=Path)
    parser.add_argument(
        "--format",
        metavar="F",
        default="text",
        help="text (default), json, markdown, html or perfetto",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write there, not to stdout"
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
    parser.add_argument("--update", action="store_true", help="accept what is there now")
    _add_selection(parser)


def _add_explain(commands: Any) -> None:
    parser = commands.add_parser("explain", help="explain a rule", description="Explain a rule.")
    parser.set_defaults(command=_explain)
    parser.add_argument("code", metavar="CODE", help="such as ASG102")


def _add_rules(commands: Any) -> None:
    parser = commands.add_parser("rules", help="list the rules", description="List the rules.")
    parser.set_defaults(command=_rules)


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="show the whole job on real input",
        description="Lint a real library, trace real frameworks, gate a new sync point.",
    )
    parser.set_defaults(command=_demo)


def _add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or directories; '-' for standard input"
    )


def _add_selection(parser: argparse.ArgumentParser) -> None:
    for option, text in (
        ("--select", "only these rules (codes or prefixes, comma-separated; ALL for an audit)"),
        ("--ignore", "not these rules"),
        ("--extend-select", "these rules as well"),
    ):
        parser.add_argument(option, metavar="CODES", help=text)
    parser.add_argument(
        "--assume-device",
        choices=[device.value for device in Device],
        help="where values are: as-written (default; models on an accelerator, tensors where "
        "their factories say), accelerator (tensors made without a device too) or cpu (where "
        "PyTorch, Chainer and CuPy wait for nothing)",
    )


def _check(arguments: argparse.Namespace) -> int:
    from asyncguard.lint import pool, registry

    pool.tune_collector()
    atexit.register(gc.freeze)  # nothing is searched for cycles on the way out
    render = _renderer(arguments.output_format, "findings")
    settings = _settings(arguments)
    found, files_checked = _find(arguments, settings)
    if arguments.fix or arguments.diff:
        found = _fix(arguments, found)
    if arguments.write_baseline:
        from asyncguard.gate import baseline

        baseline.update(arguments.write_baseline, baseline.of_findings(found), None)
        print(
            f"asyncguard: {len(found)} findings accepted into {arguments.write_baseline}",
            file=sys.stderr,
        )
        return 0
    if arguments.baseline:
        from asyncguard.gate import baseline, compare

        accepted = baseline.load(arguments.baseline).findings or {}
        found = list(compare.new_findings(found, accepted))
    from asyncguard.render import FindingsReport

    names = {label.code: label.name for label in registry.labels()}
    report = FindingsReport(tuple(found), files_checked, arguments.statistics, names)
    sys.stdout.write(render(report, _screen(sys.stdout)))
    return 1 if found and not arguments.exit_zero else 0


def _find(arguments: argparse.Namespace, settings: Settings) -> tuple[list[Finding], int]:
    """Check the paths of the command line, or standard input for '-'."""
    from asyncguard.lint.check import check_paths, check_source

    paths = [str(path) for path in arguments.paths] or ["."]
    if "-" in paths:
        if len(paths) > 1:
            raise AsyncguardError("'-' (standard input) cannot be mixed with paths")
        return check_source(sys.stdin.buffer.read(), arguments.stdin_filename, settings), 1
    with _progress("checking") as progress:
        result = check_paths([Path(path) for path in paths], settings, progress)
    return list(result.findings), result.files_checked


def _fix(arguments: argparse.Namespace, found: list[Finding]) -> list[Finding]:
    """Apply or show the fixes; return the findings that remain."""
    from asyncguard.lint.fixes import fix_files

    outcome = fix_files(found, unsafe=arguments.unsafe_fixes, write=not arguments.diff)
    if arguments.diff:
        sys.stdout.write(outcome.diff)
        return found
    print(f"asyncguard: {outcome.fixed} fixed", file=sys.stderr)
    return list(outcome.remaining)


def _run(arguments: argparse.Namespace) -> int:
    from asyncguard.runtime import launch
    from asyncguard.runtime.session import Session
    from asyncguard.sim.entry import profile_of, simulate_cuda

    module = arguments.module
    if not module and not arguments.script:
        raise AsyncguardError("run: name a script, or a module with -m")
    _check_writable(arguments.output)
    target = launch.Target.module(module) if module else launch.Target.script(arguments.script)
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
    )
    after = None if arguments.quiet else _show_saved
    return launch.run(target, arguments.output, after, session, saved=simulated.close)


def _check_writable(path: Path) -> None:
    """Fail before a long run rather than after it."""
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise AsyncguardError(f"{path}: the trace cannot be written there; name another with -o")


def _show_saved(path: Path) -> None:
    """Report a trace that `run` has just written, on stderr: stdout belongs to the script."""
    text = _report_text([path], "text", _screen(sys.stderr))
    sys.stderr.write(f"\n{text}asyncguard: trace saved to {path}\n")


def _report(arguments: argparse.Namespace) -> int:
    screen = _plain_screen() if arguments.output else _screen(sys.stdout)
    text = _report_text(arguments.traces, arguments.format, screen)
    if not arguments.output:
        sys.stdout.write(text)
        return 0
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AsyncguardError(
            f"{arguments.output}: cannot write the report: {error.strerror}; name another with -o"
        ) from error
    return 0


def _report_text(paths: Sequence[Path], name: str, screen: Screen) -> str:
    """One report a trace, or one for all where they are the ranks of one run."""
    from asyncguard.advise import ranks
    from asyncguard.runtime import store

    records = [store.load(path) for path in paths]
    if ranks.is_ranked(records):
        return _renderer(name, "ranks")(ranks.merge(records), screen)
    render = _renderer(name, "traces")
    return "\n".join(
        _rendered(render, record, path, screen, titled=len(paths) > 1)
        for record, path in zip(records, paths, strict=True)
    )


def _rendered(render: Any, record: TraceRecord, path: Path, screen: Screen, titled: bool) -> str:
    try:
        text: str = render(_trace_report(record, str(path) if titled else ""), screen)
    except AsyncguardError as error:
        raise AsyncguardError(f"{path}: {error}") from error
    return text


def _gate(arguments: argparse.Namespace) -> int:
    from asyncguard.gate import baseline, compare
    from asyncguard.render import gate as render
    from asyncguard.runtime import store

    path = arguments.baseline or baseline.DEFAULT_PATH
    trace_paths = [p for p in arguments.paths if p.suffix == ".json"]
    source_paths = [p for p in arguments.paths if p.suffix != ".json"]
    records = [store.load(p) for p in trace_paths]
    found: list[Finding] = []
    if source_paths:
        arguments.paths = source_paths
        found, _ = _find(arguments, _settings(arguments))
    if arguments.update:
        baseline.update(
            path,
            baseline.of_findings(found) if source_paths else None,
            baseline.of_traces(records) if records else None,
        )
        sys.stdout.write(render.updated(path, found if source_paths else None, records))
        return 0
    accepted = baseline.load(path)
    if source_paths and accepted.findings is None:
        raise AsyncguardError(f"{path} holds no findings: accept today's with --update")
    if records and accepted.sites is None:
        raise AsyncguardError(f"{path} holds no trace: accept today's with --update")
    new = compare.new_findings(found, accepted.findings or {})
    grown = compare.grown_sites(records, accepted.sites or {})
    sys.stdout.write(render.verdict(path, new, grown, _advice(), _screen(sys.stdout)))
    return 1 if new or grown else 0


def _explain(arguments: argparse.Namespace) -> int:
    from asyncguard.lint import registry
    from asyncguard.render.rules import explanation

    sys.stdout.write(explanation(registry.find(arguments.code), _screen(sys.stdout)))
    return 0


def _rules(arguments: argparse.Namespace) -> int:
    from asyncguard.lint import registry
    from asyncguard.render.rules import table

    sys.stdout.write(table(registry.rules(), _screen(sys.stdout)))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from asyncguard.demo import main as demo

    return demo()


def _settings(arguments: argparse.Namespace) -> Settings:
    from asyncguard.lint.settings import load_settings, override

    return override(
        load_settings(Path.cwd()),
        select=_codes(arguments.select),
        ignore=_codes(arguments.ignore),
        extend_select=_codes(arguments.extend_select),
        assume_device=arguments.assume_device and Device(arguments.assume_device),
        jobs=getattr(arguments, "jobs", None),
        cache=False if getattr(arguments, "no_cache", False) else None,
    )


def _codes(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def _trace_report(record: TraceRecord, title: str = "") -> TraceReport:
    from asyncguard.advise import suggest
    from asyncguard.render import TraceReport

    return TraceReport(record, suggest(record), _advice(), _urls(), title)


def _advice() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.advice for point in catalogue.load()}


def _urls() -> dict[str, str]:
    from asyncguard import catalogue

    return {point.id: point.url for point in catalogue.load()}


def _renderer(name: str, what: str) -> Callable[[Any, Screen], str]:
    from asyncguard import render

    found: Callable[[Any, Screen], str] = render.find(name, what)
    return found


def _screen(stream: Any) -> Screen:
    """What `stream` shows: the terminal's width and colours, or 80 plain columns."""
    from asyncguard.render import Screen

    if not stream.isatty():
        return _plain_screen()
    import shutil

    color = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return Screen(shutil.get_terminal_size().columns, color)


def _plain_screen() -> Screen:
    from asyncguard.render import Screen

    return Screen()


def _progress(verb: str) -> Any:
    """A progress bar on a terminal's stderr; elsewhere a context that gives None."""
    from contextlib import nullcontext

    if not sys.stderr.isatty():
        return nullcontext()
    from asyncguard.render.progress import progress_bar

    return progress_bar(verb)
