"""Finding adapters: ours by walking, others' by entry point; early, late and never."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from asyncguard import catalogue
from asyncguard.model import AsyncguardError
from asyncguard.runtime import adapters
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import homes, registry
from asyncguard.runtime.session import Session

PLUGIN = Path(__file__).parent / "plugin"


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{PLUGIN}:{Path(__file__).parents[2]}", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_framework_with_hooks_has_an_adapter_and_the_other_way_round() -> None:
    files = {info.name for info in pkgutil.iter_modules(adapters.__path__)}
    described = {point.framework for point in catalogue.load() if point.runtime}
    assert files == described
    assert files <= set(homes())


def test_another_package_brings_an_adapter_with_its_own_rules() -> None:
    code = """
from asyncguard.runtime.session import Session
with Session() as session:
    import acme_tensors          # imported later, hooked all the same
    trainer = acme_tensors.Trainer()
    for _ in range(3):
        float(acme_tensors.Array())
        trainer.update()
record = session.record()
print([(s.api, s.count, s.device) for s in record.sites], record.step_count, record.frameworks)
print("fetch" in vars(acme_tensors.Array)["fetch"].__qualname__, acme_tensors.__spec__.loader)
"""
    first, second = run_python(code).splitlines()
    assert first == "[('acme.Array.fetch', 3, 'acme:0')] 3 {'acme_tensors': '3.1'}"
    assert "SourceFileLoader" in second


def test_a_session_imports_no_framework_and_leaves_no_import_hook() -> None:
    code = """
import sys
before = list(sys.meta_path)
from asyncguard.runtime.session import Session
with Session():
    assert sys.meta_path != before
assert sys.meta_path == before, sys.meta_path
print({"torch", "mxnet", "jax", "tensorflow", "cupy", "numpy"} & set(sys.modules))
"""
    assert run_python(code).strip() == "set()"


def test_an_adapter_that_fails_costs_its_framework_and_nothing_else() -> None:
    code = """
import acme_asyncguard
acme_asyncguard.Adapter.install = lambda self, clock: 1 / 0
import acme_tensors
from asyncguard.runtime.session import Session
from asyncguard.engine import np
with Session() as session:
    float(acme_tensors.Array())
    np.ones(1).wait_to_read()
print(session.record().total_syncs)
"""
    assert run_python(code).strip() == "1"


def test_an_unknown_framework_is_a_wrong_call() -> None:
    with pytest.raises(AsyncguardError, match="unknown framework 'pytorch'; one of cupy"):
        Session(frameworks=["pytorch"])
    with pytest.raises(AsyncguardError, match="unknown depth"):
        Session(depth="abyssal")


@pytest.mark.parametrize(
    ("option", "value"),
    [("warmup", -1), ("warmup", None), ("timeline", -1), ("timeline", "many"), ("clock", 5)],
)
def test_an_option_that_cannot_be_is_a_wrong_call(option: str, value: object) -> None:
    with pytest.raises(AsyncguardError, match=f"{option} must be"):
        Session(**{option: value})  # type: ignore[arg-type]


def raising() -> int:
    raise RuntimeError("no time")


@pytest.mark.parametrize("clock", [raising, lambda: "noon", lambda: 1.5, lambda: None])
def test_a_wrong_clock_is_told_of_before_anything_is_hooked(clock: Any) -> None:
    with pytest.raises(AsyncguardError, match="clock must return nanoseconds"):
        Session(clock=clock)
    assert not registry.adapters()


@pytest.mark.parametrize("frameworks", [5, ["torch", 5]])
def test_frameworks_are_names(frameworks: Any) -> None:
    with pytest.raises(AsyncguardError, match=r"frameworks must be names|unknown framework 5"):
        Session(frameworks=frameworks)


@pytest.mark.parametrize("good", [1, 2], ids=["when it starts", "when it stops"])
def test_a_clock_that_fails_leaves_no_hook_behind(good: int) -> None:
    looks = iter([0] * good)

    def clock() -> int:
        return next(looks)

    before = hub.generation, hub.marked
    with pytest.raises(StopIteration), Session(clock=clock):
        pass
    assert (hub.generation, hub.marked) == before
    assert not registry.adapters()
