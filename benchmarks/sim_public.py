"""Public scripts on the simulated device: `python -m benchmarks.sim_public FOLDER [--keep]`.

FOLDER holds checkouts, one folder `owner+name` each, at the commits that `sim_public.toml` names;
none of their code is kept here. Each script runs in a copy, unmodified, with small made-up data
(`sim_data.py`): on the CPU as it is, and under `asyncguard run --sim cuda`. What both print must be
the same but for times and device names, digit for digit, and the waits as many as were counted by
reading. Findings and waits are joined by `asyncguard check --trace`. With --keep, the outcome goes
to `results/sim_public.json`. Exit status 1: a script fails, differs or waits otherwise.

Scripts for images need torchvision (a build for the CPU, or its data sets and models alone).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sim_data import MAKERS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
LIMIT = 900  # seconds for one run
DEVICES = r"cuda(:\d+)?|cpu"


def run(script: dict[str, Any], code: Path, arguments: str, *around: str) -> tuple[int, str, str]:
    """The exit status, the output that must not differ, and the last line of a failure."""
    path = code / script["path"]
    top = Path(__file__).resolve().parents[1]
    if "ranks" in script:
        launch = ("-m", "torch.distributed.run", "--nproc_per_node", str(script["ranks"]))
        around = (*launch, "--master-addr", "127.0.0.1", *around)
    done = subprocess.run(
        [sys.executable, *around, str(path), *shlex.split(arguments)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=path.parent if not script.get("files") else code,
        env={
            **os.environ,
            **script.get("environment", {}),
            "PYTHONPATH": f"{code}{os.pathsep}{top}",
            "PYTHONHASHSEED": "0",
        },
    )
    ignored = "|".join(filter(None, (script.get("ignore"), DEVICES)))
    lines = (re.sub(ignored, "", line).rstrip() for line in re.split(r"[\n\r]", done.stdout))
    error = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    written = (path.parent / name for name in script.get("writes", ()))
    texts = [file.read_text() for file in written if file.exists()]
    shown = [*filter(None, lines), *logged(path.parent), *texts]
    return done.returncode, "\n".join(shown), "".join(error)


def logged(folder: Path) -> Iterator[str]:
    """The numbers that a script has written for TensorBoard, but for its speed."""
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        events: Any = importlib.import_module("tensorboard.compat.proto.event_pb2")
        data, at = file.read_bytes(), 0
        while at < len(data):  # a length, its checksum, an event, its checksum
            (length,) = struct.unpack("<Q", data[at : at + 8])
            event = events.Event.FromString(data[at + 12 : at + 12 + length])
            at += length + 16
            for value in event.summary.value:
                numbers = list(value.tensor.float_val) or value.simple_value
                if numbers and "time" not in value.tag.lower():
                    yield f"{value.tag} {event.step} {numbers}"


def prepare(script: dict[str, Any], checkouts: Path, folder: Path) -> Path:
    """A copy of the checkout with the data that the script reads, and what `before` makes."""
    source = checkouts / script["repository"].replace("/", "+")
    code = Path(shutil.copytree(source, folder / "code"))
    for maker, place in script["data"].items():
        MAKERS[maker](code / place)
    for name, text in script.get("files", {}).items():
        (code / name).write_text(text)
    if before := script.get("before"):
        status, _, error = run({**script, "path": before["path"]}, code, before["arguments"])
        if status:
            raise RuntimeError(f"{before['path']} fails before {script['path']}: {error}")
    return code


def compare(script: dict[str, Any], checkouts: Path) -> dict[str, Any]:
    """One script on both devices, and what the source analysis says of it."""
    found: dict[str, Any] = {key: script[key] for key in ("repository", "commit", "path", "covers")}
    found["arguments"] = script["cuda"]
    with tempfile.TemporaryDirectory() as name:
        code = prepare(script, checkouts, Path(name) / "host")
        found["sha256"] = hashlib.sha256((code / script["path"]).read_bytes()).hexdigest()
        host = run(script, code, script["cpu"]) if "cpu" in script else None
        code = prepare(script, checkouts, Path(name) / "device")
        trace = Path(name) / "trace.json"
        around = (
            "-m",
            "asyncguard",
            "run",
            "--quiet",
            "--sim",
            "cuda",
            "--lines",
            "-o",
            str(trace),
        )
        if "ranks" in script:
            around = (*around, "--sim-devices", str(script["ranks"]))
            trace = trace.with_name("trace.rank0.json")
        device = run(script, code, script["cuda"], *around)
        found["exit_status"] = device[0]
        found["error"] = device[2]
        found["same_output"] = host[1] == device[1] and not host[0] if host is not None else None
        found["lines_compared"] = len(device[1].splitlines()) if host is not None else 0
        sites = json.loads(trace.read_text())["sites"] if trace.exists() else []
        found["waits"] = sum(site["count"] for site in sites)
        found["sites"] = [
            f"{Path(site['path']).name}:{site['line']} {site['api']} x{site['count']}"
            for site in sites
        ]
        found["counted_by_reading"] = script.get("waits")
        found["reading"] = script.get("reading", "")
        checked = script.get("check", Path(script["path"]).parts[0])
        found["joined"] = joined(code / checked, trace)
    return found


def joined(path: Path, trace: Path) -> dict[str, Any]:
    """How findings and waits agree, and the lines where they do not."""
    command = ("-m", "asyncguard", "check", "--no-cache", "--exit-zero", "--output-format", "json")
    top = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, *command, "--trace", str(trace), str(path)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=top,
    )
    if done.returncode:
        return {"error": done.stderr.strip()[-300:]}
    places = json.loads(done.stdout)["places"]
    odd = [
        f"{Path(place['path']).name}:{place['line']} {place['api']}: {place['verdict']}"
        + (f" ({place['why']})" if place["why"] else "")
        for place in places
        if place["verdict"] in ("executed, not counted", "counted, not found")
    ]
    return {**Counter(place["verdict"] for place in places), "odd": odd}


def is_right(found: dict[str, Any]) -> bool:
    """Whether the script ran, printed what it prints on the CPU, and waited as often as counted."""
    counted = found["counted_by_reading"] in (None, found["waits"])
    return found["exit_status"] == 0 and found["same_output"] is not False and counted


def keep(outcomes: list[dict[str, Any]], target: Path) -> None:
    """Write the outcomes, in the place of earlier ones of the same scripts and arguments."""
    kept = json.loads(target.read_text())["scripts"] if target.exists() else []
    known = {(each["path"], each["arguments"], each["repository"]): each for each in kept}
    for each in outcomes:
        known[each["path"], each["arguments"], each["repository"]] = each
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    target.write_text(json.dumps({"date": today, "scripts": [*known.values()]}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the outcome in results/")
    parser.add_argument("--only", default="", help="scripts whose path holds this text")
    options = parser.parse_args()
    scripts = tomllib.loads((HERE / "sim_public.toml").read_text())["script"]
    outcomes = []
    for script in scripts:
        if options.only in f"{script['repository']}/{script['path']}":
            outcomes.append(compare(script, options.checkouts))
            print(json.dumps(outcomes[-1], indent=1), flush=True)
    if options.keep:
        keep(outcomes, HERE / "results" / "sim_public.json")
    return int(not all(map(is_right, outcomes)))


if __name__ == "__main__":
    sys.exit(main())
