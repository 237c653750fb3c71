"""Test traces, the simulation and integrations on several releases of torch: `make test-versions`.

usage: torch_versions.py VERSION... [--tests PATH...] [--keep FILE] [arguments of pytest]

Each release has an environment of its own, .venvs/torch-VERSION: a build for CUDA, about 6 GB. What
came of it is printed, and kept as JSON with --keep: the date, the interpreter, and how many tests
passed, failed and were skipped. Exit status 1 where one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
TESTS = ("tests/runtime", "tests/sim", "tests/integrations")
REQUIRED = "torch,lightning,transformers,opentelemetry.sdk"
GROUPS = ("test", "frontends", "integrations")


def environment(version: str) -> Path:
    """Set up the environment of a release where it is not yet; return its interpreter."""
    folder = ROOT / ".venvs" / f"torch-{version}"
    ready = folder / ".ready"
    if not ready.exists():
        groups = [word for group in GROUPS for word in ("--group", group)]
        command = ["sh", "tools/setup_venv.sh", str(folder), f"torch=={version}", "numpy", *groups]
        environ = {"PYTHON": sys.executable, **os.environ}
        subprocess.run(command, cwd=ROOT, env=environ, check=True)
        ready.touch()
    return folder / "bin" / "python"


def run(python: Path, tests: list[str], extra: list[str]) -> dict[str, object]:
    """Run the tests with this interpreter; return what came of them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [str(python), "-m", "pytest", "-q", *tests, f"--junit-xml={report}", *extra]
        environ = {**os.environ, "ASYNCGUARD_REQUIRE": REQUIRED}
        subprocess.run(command, cwd=ROOT, env=environ, check=False)
        suite = ElementTree.parse(report).getroot()[0]
    total, bad, skipped = (
        sum(int(suite.attrib[name]) for name in names)
        for names in (("tests",), ("failures", "errors"), ("skipped",))
    )
    failed = [
        f"{case.attrib['classname']}::{case.attrib['name']}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    said = subprocess.run(
        [python, "-c", "import torch; print(torch.__version__)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    result: dict[str, object] = {
        "torch": said.stdout.strip(),
        "passed": total - bad - skipped,
        "failed": bad,
        "skipped": skipped,
        "seconds": round(float(suite.attrib["time"])),
    }
    return {**result, "failures": failed} if failed else result


def main() -> int:
    """Test each release that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    parser.add_argument("--keep", type=Path)
    options, extra = parser.parse_known_args()
    results = {
        version: run(environment(version), options.tests, extra) for version in options.versions
    }
    found = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "python": platform.python_version(),
        "tests": options.tests,
        "versions": results,
    }
    print(json.dumps(found, indent=2))
    if options.keep:
        options.keep.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if any(result["failed"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
