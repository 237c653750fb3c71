"""What a fresh installation must do, with nothing but the wheel: `python tests/smoke.py`."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
"""
# Commands, their exit status, and what they say.
COMMANDS = (
    (["check", "."], 1, "train.py:7:15: ASG102"),
    (["check", "--output-format", "sarif", "."], 1, '"ruleId"'),
    (["gate", "--update", "."], 0, "accepted 1 finding"),
    (["gate", "."], 0, ""),
    (["explain", "ASG102"], 0, "scalar-conversion"),
    (["rules"], 0, "ASG901"),
    (["run", "-o", "trace.json", "plain.py"], 0, "hello"),
    (["report", "trace.json"], 0, "0 waits"),
    (["report", "trace.json", "-o", "trace.html"], 2, "pip install 'asyncguard[html]'"),
    (["lsp"], 2, "pip install 'asyncguard[lsp]'"),
    (["demo"], 2, "pip install 'asyncguard[engine]'"),
    (["run", "engine.py"], 1, "pip install 'asyncguard[engine]'"),
    (["run", "otel.py"], 1, "pip install 'asyncguard[otel]'"),
)
ALONE = (["check", "."], ["rules"], ["lsp"])
FILES = {
    "train.py": TRAIN,
    "plain.py": "print('hello')\n",
    "engine.py": "from asyncguard.engine import np\n",
    "otel.py": "import asyncguard\nfrom asyncguard.integrations.opentelemetry import export\n"
    "with asyncguard.trace() as trace, export(trace):\n    pass\n",
}


def in_process(arguments, folder):
    """Run a command as a user does; return its exit status and all that it says."""
    command = [sys.executable, "-m", "asyncguard", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def here(arguments, folder):
    """Run a command in this process."""
    from asyncguard.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        os.chdir(folder)
        status = main(arguments)
        os.chdir(os.path.dirname(folder))
    return status, said.getvalue()


def main() -> int:
    """Run each command; returns how many did not do what they should."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text)
        for arguments, status, said in COMMANDS:
            # One of each is a process of its own; others would only start Python again.
            alone = arguments in ALONE or arguments[0] == "run"
            ended, output = (in_process if alone else here)(arguments, folder)
            if ended != status or said not in output:
                wrong += 1
                print(f"{' '.join(arguments)}: exit status {ended}, not {status}, saying")
                print(output)
    print(f"{len(COMMANDS) - wrong} of {len(COMMANDS)} as they should be")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
