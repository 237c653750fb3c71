"""`asyncguard report`, `import` and `diff`: saved traces, shown, made and compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncguard import files, screens
from asyncguard.cli.parsing import add_command
from asyncguard.model import AsyncguardError

if TYPE_CHECKING:
    from asyncguard.render import Screen

DEFAULT_TRACE = "asyncguard-trace.json"
SUFFIXES = {
    "": "text", ".txt": "text", ".log": "text", ".html": "html", ".htm": "html", ".json": "json",
    ".md": "markdown", ".folded": "folded",
}  # fmt: skip


def add(commands: Any) -> None:
    """Add the commands that read saved traces."""
    _add_report(commands)
    _add_import(commands)
    _add_diff(commands)


def _add_report(commands: Any) -> None:
    parser = add_command(
        commands,
        "report",
        _report,
        "[OPTIONS] TRACE|DIR [TRACE|DIR ...]",
        help="show saved traces",
        description="Show saved traces. The ranks of one run, the traces in a folder, and more "
        "than eight traces are compared in one table; as HTML, any that are more than one. A page "
        "shows repairs as patches where the project is below the working directory.",
        examples=("asyncguard-trace.json", "-o page.html asyncguard-trace.json", "runs/"),
        page="guides/trace.md",
    )
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
        help="write to FILE instead of standard output, replacing a regular file",
    )
    parser.add_argument("--limit", metavar="N", type=int, help="show only the first N sites")
    parser.add_argument(
        "--with-kineto", metavar="FILE", type=Path,
        help="merge the trace with a Kineto trace (torch.profiler) into one file for Perfetto",
    )  # fmt: skip


def _add_import(commands: Any) -> None:
    parser = add_command(
        commands,
        "import",
        _import,
        "[OPTIONS] kineto|nsys FILE",
        help="convert a profiler's file into a trace",
        description="Convert a Kineto trace (torch.profiler's export_chrome_trace) or an exported "
        "report of Nsight Systems (nsys export --type sqlite) with CUDA events into a trace of "
        "where the host waited for the device.",
        examples=("kineto profile.json -o trace.json", "nsys report.sqlite --steps 'step *'"),
        page="guides/profilers.md",
    )
    parser.add_argument("kind", choices=("kineto", "nsys"), help="format of FILE")
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument(
        "-o", "--output", metavar="TRACE", type=Path, default=Path(DEFAULT_TRACE),
        help=f"file to write the trace to (default: {DEFAULT_TRACE})",
    )  # fmt: skip
    parser.add_argument(
        "--steps", metavar="NAME",
        help="nsys: the NVTX ranges that begin a step, * for anything (default: those named like "
        "a step, iteration or batch that repeat)",
    )  # fmt: skip
    parser.add_argument(
        "--process", metavar="PID", type=int,
        help="nsys: the process to import (default: the one that waited longest)",
    )  # fmt: skip


def _add_diff(commands: Any) -> None:
    parser = add_command(
        commands,
        "diff",
        _diff,
        "[OPTIONS] BEFORE AFTER",
        help="compare two traces",
        description="Show what a change did: waits, stall and step time before and after, and what "
        "was predicted from the trace before.",
        examples=("before.json after.json",),
        page="guides/trace.md",
    )
    parser.add_argument("before", metavar="BEFORE", type=Path)
    parser.add_argument("after", metavar="AFTER", type=Path)
    parser.add_argument(
        "--format", metavar="F", default="text", help="text (default), json or markdown"
    )


def _report(arguments: argparse.Namespace) -> int:
    output: Path | None = arguments.output
    if arguments.limit is not None and arguments.limit < 1:
        raise AsyncguardError(f"--limit {arguments.limit}: name how many sites to show, 1 or more")
    name = arguments.format or _format_of(output)
    other: Path | None = arguments.with_kineto
    if output is None:
        text = text_of(arguments.traces, name, screens.screen(sys.stdout), other, arguments.limit)
        screens.write(sys.stdout, text)
        return 0
    try:
        files.require_replaceable(output, [*arguments.traces, *([other] if other else [])])
        text = text_of(arguments.traces, name, screens.plain(), other, arguments.limit)
        files.replace(output, [text.encode()])
    except OSError as error:
        raise AsyncguardError(
            f"{output}: cannot write the report: {error.strerror or error}; name another with -o"
        ) from error
    return 0


def _format_of(output: Path | None) -> str:
    """The format that a file's suffix stands for; raises AsyncguardError for an unknown one."""
    suffix = output.suffix.lower() if output else ""
    if suffix not in SUFFIXES:
        known = ", ".join(filter(None, SUFFIXES))
        raise AsyncguardError(
            f"{output}: no format is written to {suffix!r}; end the name with one of {known}, or "
            "name the format with --format"
        )
    return SUFFIXES[suffix]


def text_of(
    paths: Sequence[Path],
    name: str,
    screen: Screen,
    other: Path | None = None,
    limit: int | None = None,
) -> str:
    """One report a trace, or one for all where they are the ranks of one run."""
    from asyncguard import reports

    if other is not None:
        return reports.with_kineto(paths, other)
    return reports.of_files(paths, name, screen, limit)


def _import(arguments: argparse.Namespace) -> int:
    from asyncguard import reports

    file, output = arguments.file, arguments.output
    if arguments.kind == "nsys":
        record = reports.import_nsys(file, output, arguments.process, arguments.steps)
    elif arguments.steps is not None or arguments.process is not None:
        raise AsyncguardError(
            "--steps and --process are for nsys: a Kineto trace is of one process, and "
            "prof.step() marks its steps"
        )
    else:
        record = reports.import_kineto(file, output)
    text = (
        f"{record.total_syncs:,} waits at {len(record.sites):,} sites saved to {arguments.output}"
    )
    screens.write(sys.stdout, f"asyncguard: {text}\n")
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from asyncguard.reports import diff
    from asyncguard.runtime import store

    render = screens.renderer(arguments.format, "differences")
    names = str(arguments.before), str(arguments.after)
    found = diff(store.load(arguments.before), store.load(arguments.after), names)
    screens.write(sys.stdout, render(found, screens.screen(sys.stdout)))
    return 0
