"""`asyncguard tune` on programs that it was not made for: outputs, waits and step time.

    python benchmarks/tune.py [NAME ...] [-o RESULT.md]
    python benchmarks/tune.py --examples FOLDER [NAME ...] [-o RESULT.md]

The programs are those of tests/sim/programs.py, each as a script of its own on a simulated device.
With --examples they are those of a checkout of github.com/pytorch/examples, unmodified; torchvision
has to be installed for most. They get small data: pixels and labels by chance in MNIST's format,
and lines of the text that the language model brings along. All repairs are asked for, unsafe ones
too.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import os
import random
import shutil
import struct
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
EXAMPLES = {
    "mnist": ("--epochs", "1"),
    "mnist_rnn": ("--epochs", "1", "--accel"),
    "vae": ("--epochs", "1"),
    "siamese_network": ("--epochs", "1", "--batch-size", "256"),
    "word_language_model": (
        "--epochs", "1", "--emsize", "16", "--nhid", "16", "--nlayers", "1", "--use-optimizer",
        "--accel",
    ),
}  # fmt: skip
LINES = {"train": 1500, "valid": 30, "test": 30}  # of the language model's text
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
    parser.add_argument("--examples", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    own = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([own] if own else [])])
    foreign: Path | None = arguments.examples
    told = [*_head("pytorch/examples" if foreign else "tests/sim")]
    for name in arguments.names or (EXAMPLES if foreign else NAMES):
        told.append(row(name) if foreign is None else example(foreign.resolve(), name))
        print(told[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join(told) + "\n", encoding="utf-8")
    return 0


def _head(where: str) -> Iterator[str]:
    yield f"# `asyncguard tune` on programs of {where}"
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


def example(folder: Path, name: str) -> str:
    """Tune one program of others, beside data that it can read; return its line of the table."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, name)
        shutil.copytree(folder / name, place)
        (place / "results").mkdir(exist_ok=True)
        digits(Path(scratch, "data", "MNIST", "raw"))
        lines(place / "data" / "wikitext-2")
        os.chdir(place)
        try:
            program = ("main.py", *EXAMPLES[name])
            found = tune(Request(program, ("--sim", "cuda"), unsafe=True, seconds=600))
        finally:
            os.chdir(here)
    return f"| {name} | {len(found.steps)} | {' | '.join(_figures(found))} |"


def digits(folder: Path) -> None:
    """Write images and labels by chance, as MNIST's files have them."""
    folder.mkdir(parents=True)
    chance = random.Random(0)
    for kind, number in (("train", 1500), ("t10k", 400)):
        images = struct.pack(">IIII", 2051, number, 28, 28) + chance.randbytes(number * 28 * 28)
        labels = struct.pack(">II", 2049, number) + bytes(chance.choices(range(10), k=number))
        (folder / f"{kind}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{kind}-labels-idx1-ubyte").write_bytes(labels)


def lines(folder: Path) -> None:
    """Leave some lines of a text, for each part of it."""
    if not folder.is_dir():
        return
    text = (folder / "test.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    start = 0
    for part, number in LINES.items():
        (folder / f"{part}.txt").write_text("".join(text[start : start + number]), encoding="utf-8")
        start += number


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
    told = "equal" if found.outputs.equal else "differ"
    few = found.outputs.unstable
    yield f"{told}, but for {few} lines that differ from run to run" if few else told
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
