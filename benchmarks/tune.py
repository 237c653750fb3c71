"""`asyncguard tune` on programs that it was not made for: outputs, waits and step time.

    python -m benchmarks.tune [NAME ...] [-o RESULT.md]
    python -m benchmarks.tune --public FOLDER [NAME ...] [-o RESULT.md]

The programs are those of tests/sim/programs.py, each as a script of its own on a simulated device.
With --public they are scripts of other people, unmodified, from checkouts in FOLDER as
`sim_public.py` wants them; torchvision has to be installed for most. They get small made-up data
(`sim_data.py`). All repairs are asked for, unsafe ones too.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asyncguard.tune.loop import Request, Tuned, tune
from benchmarks.sim_data import mnist
from benchmarks.sim_public import prepare

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "tests" / "sim" / "programs.py"
NAMES = (
    "gpt_accumulation_amp", "image_classifier", "variational_autoencoder", "adversarial_network",
    "policy_gradient", "q_learning", "recurrent_language_model", "detector",
)  # fmt: skip
EXAMPLES = "pytorch/examples"
# Name: repository, script, arguments. How each gets its data is in sim_public.toml, if not here.
PUBLIC = {
    "mnist": (EXAMPLES, "mnist/main.py", "--epochs 1"),
    "mnist_rnn": (EXAMPLES, "mnist_rnn/main.py", "--epochs 1 --accel"),
    "vae": (EXAMPLES, "vae/main.py", "--epochs 1"),
    "word_language_model": (
        EXAMPLES,
        "word_language_model/main.py",
        "--epochs 1 --emsize 16 --nhid 16 --batch_size 4 --use-optimizer --accel",
    ),
    "fabric/train_torch": (
        "Lightning-AI/pytorch-lightning",
        "examples/fabric/image_classifier/train_torch.py",
        "--epochs 1",
    ),
    "DDPM-Pytorch": (
        "explainingai-code/DDPM-Pytorch",
        "tools/train_ddpm.py",
        "--config small.yaml",
    ),
}
DATA: dict[str, Any] = {"mnist": {"mnist": "data"}}
DIGITS = {"train": 1500, "test": 400}  # in the place of fewer
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
    parser.add_argument("--public", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    own = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([own] if own else [])])
    foreign: Path | None = arguments.public
    told = [*_head("other people" if foreign else "tests/sim")]
    for name in arguments.names or (PUBLIC if foreign else NAMES):
        told.append(row(name) if foreign is None else public(foreign.resolve(), name))
        print(told[-1], flush=True)
    if arguments.output:
        arguments.output.write_text("\n".join(told) + "\n", encoding="utf-8")
    return 0


def _head(where: str) -> Iterator[str]:
    yield f"# `asyncguard tune` on programs of {where}"
    yield ""
    yield f"{datetime.date.today():%B %Y}, `python -m benchmarks.tune`: simulated device"
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


def public(checkouts: Path, name: str) -> str:
    """Tune one program of others, beside data that it can read; return its line of the table."""
    repository, path, arguments = PUBLIC[name]
    known = tomllib.loads((ROOT / "benchmarks" / "sim_public.toml").read_text())["script"]
    same = (s for s in known if (s["repository"], s["path"]) == (repository, path))
    script = next(same, {"repository": repository, "path": path, "data": DATA.get(name, {})})
    here, paths = Path.cwd(), os.environ["PYTHONPATH"]
    with tempfile.TemporaryDirectory() as scratch:
        code = prepare(script, checkouts, Path(scratch))
        for maker, place in script["data"].items():
            if maker == "mnist":
                mnist(code / place, **DIGITS)
        whole = "files" in script or len(Path(path).parts) > 2  # run from the checkout's top
        os.chdir(code if whole else (code / path).parent)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(code), paths])
        try:
            program = (path if whole else Path(path).name, *shlex.split(arguments))
            found = tune(Request(program, ("--sim", "cuda"), unsafe=True, seconds=900))
        finally:
            os.chdir(here)
            os.environ["PYTHONPATH"] = paths
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
    told = "equal" if found.outputs.equal else "differ"
    few = found.outputs.unstable
    yield f"{told}, but for lines that differ from run to run: {few}" if few else told
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
