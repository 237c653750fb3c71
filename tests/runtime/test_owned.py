"""Installed packages that are taken for the user's own code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.cli import main
from asyncguard.model import AsyncguardError, TraceRecord
from tests import warm
from tests.frameworks import require

torch = require("torch")
READ = "def read(x):\n    return x.item()\n"
NAMES = ("__init__.py", "sub.py", "owned_one.py")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages: `owned_lib` with `owned_lib.sub`, and `owned_one`."""
    folder = tmp_path / "site-packages"
    (folder / "owned_lib").mkdir(parents=True)
    for name in ("owned_lib/__init__.py", "owned_lib/sub.py", "owned_one.py"):
        (folder / name).write_text(READ)
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("owned_"):
            del sys.modules[name]


def read_all(times: int = 100) -> None:
    """Read through each module at one line; more often than a line is taken for granted."""
    modules = [import_module(name) for name in ("owned_lib", "owned_lib.sub", "owned_one")]
    x = torch.ones(1)
    for _ in range(times):
        for module in modules:
            module.read(x)


def charged(record: TraceRecord) -> dict[str, int]:
    """How many waits each file of an installed package is charged."""
    counts = Counter[str]()
    for site in record.sites:
        counts[Path(site.path).name] += site.count
    return {name: counts[name] for name in NAMES if counts[name]}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("owned_lib", NAMES[:2]),
        (["owned_lib.sub"], NAMES[1:2]),
        (("owned_one", "owned_lib", "owned_one"), NAMES),
    ],
)
def test_its_lines_are_the_users_in_its_trace_alone(
    installed: Path, own: Any, expected: tuple[str, ...]
) -> None:
    for given, names in (((), ()), (own, expected), ((), ())):
        with asyncguard.trace(own=given) as trace:
            read_all()
        assert charged(trace.record) == dict.fromkeys(names, 100)
        assert trace.total_syncs == 300


def test_traces_around_it_see_it_as_long_as_it_runs(installed: Path) -> None:
    with asyncguard.trace() as around:
        read_all()
        with asyncguard.trace(own="owned_lib") as first:
            with asyncguard.trace(own=["owned_lib", "owned_one"]) as second:
                read_all()
            read_all()
        read_all()
    assert charged(second.record) == dict.fromkeys(NAMES, 100)
    assert charged(first.record) == {"__init__.py": 200, "sub.py": 200, "owned_one.py": 100}
    assert charged(around.record) == charged(first.record)
    assert around.total_syncs == 1200


@pytest.mark.parametrize(
    "name", ["owned_none", "owned_lib.none", "owned_one.none", "owned-lib", "", "a..b"]
)
def test_a_package_that_is_not_there_is_named(installed: Path, name: str) -> None:
    with pytest.raises(AsyncguardError, match="name it as `import` does") as caught:
        asyncguard.trace(own=name)
    assert repr(name) in str(caught.value)
    assert "owned_one.none" not in sys.modules


def test_run_records_its_lines_and_a_check_joins_them(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nfrom owned_lib import sub\nfor _ in range(3):\n    sub.read(torch.ones(1))\n"
    )
    (installed / "owned_lib" / "sub.py").write_text(
        "import torch\n\ndef read(x):\n    return x.item()\n\ndef never(x: torch.Tensor):\n"
        "    for _ in range(9):\n        x.item()\n"
    )
    command = [*warm.python("torch"), "-m", "asyncguard"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True}
    environment = {"env": {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}}
    subprocess.run(
        [*command, "run", "-q", "--lines", "--own", "owned_lib", "-o", "t.json", "train.py"],
        check=True, **options, **environment,
    )  # fmt: skip
    record = json.loads((tmp_path / "t.json").read_text())
    inside = str(Path("site-packages", "owned_lib", "sub.py"))
    assert {inside: [1, 3, 4, 6], "train.py": [1, 2, 3, 4]}.items() <= record["extra"][
        "lines"
    ].items()
    assert [(site["path"], site["line"], site["count"]) for site in record["sites"]] == [
        (inside, 4, 3)
    ]
    done = subprocess.run(
        [*command, "check", "--select", "ALL", "--trace", "t.json", inside],
        **options, **environment,
    )  # fmt: skip
    assert f"{inside}:4: confirmed 3 x" in done.stdout
    assert f"{inside}:8: never executed" in done.stdout


def test_run_names_a_package_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--own", "owned_none", __file__]) == 2
    assert "there is no package 'owned_none'" in capsys.readouterr().err
