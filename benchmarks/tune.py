"""`asyncguard tune` on programs that it was not made for: outputs, waits and step time.

    python benchmarks/tune.py [NAME ...] [-o RESULT.md]

The programs are those of tests/sim/programs.py, each as a script of its own on a simulated device.
All repairs are asked for, unsafe ones too.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from asyncguard.tune.loop import Request, Tuned, tune

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "tests" / "sim" / "programs.py"
NAMES = (
    "gpt_accumulation_amp", "image_classifier", "variational_autoencoder", "adversarial_network",
    "policy_gradient", "q_learning", "recurrent_language_model", "detector",
)  # fmt: skip
HEADER = """\
import copy
import torch
import torch.nn.functional as F
from torch import nn
"""


def main() -> int:
    """Tune each program and print a table of what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    lines = [*_head()]
    for name in arguments.names or NAMES:
        lines.append(row(name))
        print(lines[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _head() -> Iterator[str]:
    yield "# `asyncguard tune` on programs of tests/sim"
    yield ""
    yield f"{datetime.date.today():%B %Y}, `python benchmarks/tune.py`: simulated device"
    yield "(h200, fixed host times), all repairs. Waits and times: of a step."
    yield ""
    yield "| program | repairs | outputs | waits a step | after | time of a step | after |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"


def row(name: str) -> str:
    """Tune one program; return its line of the table."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("program.py").write_text(script(name), encoding="utf-8")
            found = tune(Request(("program.py",), ("--sim", "cuda"), unsafe=True, seconds=300))
        finally:
            os.chdir(here)
    return f"| {name} | {len(found.steps)} | {' | '.join(_figures(found))} |"


def _figures(found: Tuned) -> Iterator[str]:
    before = found.before.record
    if found.after is None or found.outputs is None or found.difference is None:
        rate = before.syncs_per_step
        yield from (
            "",
            f"{rate:.2f}" if rate is not None else f"{before.total_syncs} in all",
            "",
            "",
            "",
        )
        return
    yield "equal" if found.outputs.equal else "differ"
    yield f"{found.difference.before.total.waits:.2f}"
    yield f"{found.difference.after.total.waits:.2f}"
    for side in (found.difference.before, found.difference.after):
        yield f"{side.step_ns / 1e6:.3f} ms"


def script(name: str) -> str:
    """Return one program as a script, with the classes and functions that all of them share."""
    text = PROGRAMS.read_text(encoding="utf-8")
    parts = [HEADER]
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef)
            and (node.name == name or (not node.decorator_list and node.name != "program"))
        ):
            node.decorator_list = []
            parts.append(ast.unparse(_without_hints(node)))
    return "\n\n\n".join([*parts, f'print({name}("cuda"))\n'])


def _without_hints(node: ast.stmt) -> ast.stmt:
    """Leave out annotations, whose names the script does not import."""
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            part.annotation = None
        elif isinstance(part, ast.FunctionDef):
            part.returns = None
    return node


if __name__ == "__main__":
    sys.exit(main())
