"""What a fresh installation must do, with nothing but the wheel: `python tests/smoke.py`."""

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
ALONE = (["check", "."], ["run", "-o", "trace.json", "plain.py"])  # as a user starts them
FILES = {
    "train.py": TRAIN,
    "plain.py": "print('hello')\n",
    "engine.py": "from asyncguard.engine import np\n",
    "otel.py": "import asyncguard\nfrom asyncguard.integrations.opentelemetry import export\n"
    "with asyncguard.trace() as trace, export(trace):\n    pass\n",
}


def alone(arguments, folder):
    """Run a command in a process of its own; return its exit status and all that it says."""
    command = [sys.executable, "-m", "asyncguard", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def here(arguments, folder):
    """Run a command in this process, which has read the catalogue; say the same of it."""
    from asyncguard.cli import main

    kept = os.dup(1), os.dup(2)
    os.chdir(folder)
    with tempfile.TemporaryFile() as said:
        for number in (1, 2):
            os.dup2(said.fileno(), number)
        try:
            status = main(arguments)
        except SystemExit as error:
            status = error.code
        finally:
            sys.stdout.flush()
            for number, stream in zip((1, 2), kept, strict=True):
                os.dup2(stream, number)
                os.close(stream)
        said.seek(0)
        return status, said.read().decode()


def main() -> int:
    """Run each command; returns how many did not do what they should."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            Path(folder, name).write_text(text)
        for arguments, status, said in COMMANDS:
            run = alone if arguments in ALONE else here
            ended, output = run(arguments, folder)
            if ended != status or said not in output:
                wrong += 1
                print(f"{' '.join(arguments)}: exit status {ended}, not {status}, saying")
                print(output)
    print(f"{len(COMMANDS) - wrong} of {len(COMMANDS)} as they should be")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
