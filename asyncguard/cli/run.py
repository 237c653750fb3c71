"""`asyncguard run`: a script or module under a trace."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from asyncguard import screens
from asyncguard.cli import live
from asyncguard.cli.parsing import add_command
from asyncguard.cli.report import DEFAULT_TRACE, text_of
from asyncguard.model import AsyncguardError

RECORDED = (
    "timeline", "depth", "device_times", "cross_check", "driver", "ranges", "lines", "own", "races",
)  # fmt: skip  # of the options: fields of a session's


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "run",
        run,
        "[OPTIONS] (SCRIPT | -m MODULE) [ARGS ...]",
        help="trace a script or module",
        description="Run a script or module as python does, and count and time its waits.",
        examples=(
            "train.py --epochs 3",
            "-o runs/today.json -m package.train",
            "--sim cuda:h200 train.py      # without a GPU",
        ),
        page="guides/trace.md",
    )
    parser.add_argument(
        "-o", "--output", metavar="TRACE", type=Path, default=Path(DEFAULT_TRACE),
        help=f"file to write the trace to (default: {DEFAULT_TRACE})",
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
        "--driver", action="store_true",
        help="also count what CUDA's driver sees, in all threads and in C++ extensions (needs "
        "cupti-python; not beside --device-times and --cross-check)",
    )  # fmt: skip
    parser.add_argument(
        "--lines", action="store_true",
        help="record which lines of your own files ran, for check --trace (slower before "
        "Python 3.12)",
    )  # fmt: skip
    parser.add_argument(
        "--own", metavar="PACKAGE", action="append", default=[],
        help="an installed package to take for your own code: waits inside are charged to its "
        "lines, and --lines records them (may be repeated)",
    )  # fmt: skip
    parser.add_argument(
        "--sim", metavar="cuda[:PROFILE]",
        help="simulate CUDA on a machine without a GPU: h200 (default), gb200, b200, h100, a100, "
        "mi300x, rtx5090, rtx4090, l4, t4, or a TOML file; times are modelled",
    )  # fmt: skip
    parser.add_argument(
        "--sim-devices",
        metavar="N",
        type=int,
        default=1,
        help="number of simulated devices (default: 1)",
    )
    parser.add_argument(
        "--sim-host", choices=("fixed", "measured"), default="fixed",
        help="host time of each operator: as the profile says (default), or as measured here",
    )  # fmt: skip
    parser.add_argument(
        "--sim-races", choices=("raise", "warn", "ignore"), default="raise",
        help="with --sim, where host memory is used while an asynchronous copy may still use it: "
        "raise an error (default), warn, or only list it in the trace",
    )  # fmt: skip
    parser.add_argument(
        "--races", action="store_true",
        help="on a GPU: warn where host memory is used before an asynchronous copy is done with it "
        "(looks at every operator)",
    )  # fmt: skip
    parser.add_argument(
        "--live", action="store_true",
        help="show waits, stall, steps a second and the steadiest sites at the foot of the "
        "terminal while the program runs (nothing where stderr is no terminal)",
    )  # fmt: skip
    parser.add_argument(
        "--children", action="store_true",
        help="follow processes that the program forks, or starts with the same Python: each that "
        "waits has a trace of its own beside TRACE, and reports join them",
    )  # fmt: skip
    parser.add_argument(
        "--ranges", choices=("record_function", "nvtx"),
        help="mark each wait as a range for torch's profiler or NVTX",
    )  # fmt: skip
    parser.add_argument(
        "--save-every", metavar="SECONDS", type=_seconds, default=60.0,
        help="also save the trace while the program runs (default: 60; 0: only at its end)",
    )  # fmt: skip
    parser.add_argument(
        "--save-on-signal", action="store_true",
        help="also save it at SIGTERM, SIGHUP and SIGUSR1; libraries that ask whether these are "
        "handled already then find that they are",
    )  # fmt: skip
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report at the end")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="script to run, and its arguments")


def _seconds(text: str) -> float:
    """A number of seconds from 0 up."""
    seconds = float(text)
    if not 0 <= seconds < 1e9:
        raise ValueError(text)
    return seconds


def run(arguments: argparse.Namespace) -> int:
    """Trace a script or module."""
    from asyncguard.runtime import launch
    from asyncguard.runtime.session import Session
    from asyncguard.sim.entry import profile_of, simulate_cuda

    module, script = arguments.module, arguments.script
    if script[:1] == ["--"]:
        script = script[1:]
    if not module and not script:
        raise AsyncguardError("run: name a script, or a module with -m")
    target = launch.Target.module(module) if module else launch.Target.script(script)
    simulated = contextlib.ExitStack()
    device = None
    if arguments.sim is not None:
        profile, devices = profile_of(arguments.sim), arguments.sim_devices
        ways = {"host": arguments.sim_host, "races": arguments.sim_races}
        simulated.enter_context(simulate_cuda(profile, devices, **ways))
        anywhere = os.path.abspath(profile) if os.path.isfile(profile) else profile
        device = anywhere, devices, *ways.values()
    options = {name: getattr(arguments, name) for name in RECORDED}
    session = Session(command=target.command, **options)
    after = None if arguments.quiet else _show_saved
    return launch.run(
        target,
        arguments.output,
        after,
        session,
        saved=simulated.close,
        every=arguments.save_every,
        on_signal=arguments.save_on_signal,
        live=live.on(sys.stderr) if arguments.live else None,
        children=launch.Follow(options, device) if arguments.children else None,
    )


def _show_saved(path: Path) -> None:
    """Report a trace that `run` has just written, on stderr: stdout belongs to the script.

    What the script printed comes first, where both lead to one file.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):  # Python tells as it ends
        sys.stdout.flush()
    text = text_of([path], "text", screens.screen(sys.stderr))
    shown = shlex.quote(str(path))
    screens.write(
        sys.stderr,
        f"\n{text}asyncguard: trace saved to {path}\n"
        f"Next: `asyncguard report -o report.html {shown}`, `asyncguard check --trace {shown} .`\n",
    )
