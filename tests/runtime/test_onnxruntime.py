"""onnxruntime on the CPU, which stands in for a device: each run and each copy counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

np = require("numpy")
ort = require("onnxruntime")

# The model `y = x + x` of two numbers, as the `onnx` package writes it.
MODEL = bytes.fromhex(
    "080812003a350a0e0a01780a017812017922034164641201675a0f0a0178120a0a08080112040a02080262"
    "0f0a0179120a0a08080112040a02080242040a001011"
)
X = np.ones(2, dtype=np.float32)


@pytest.fixture(scope="module")
def session() -> Any:
    return ort.InferenceSession(MODEL, providers=["CPUExecutionProvider"])


@pytest.fixture
def binding(session: Any) -> Any:
    made = session.io_binding()
    made.bind_cpu_input("x", X)
    made.bind_output("y")
    session.run_with_iobinding(made)
    return made


def trace(function: Callable[[], Any]) -> TraceRecord:
    with Session(frameworks=["onnxruntime"]) as traced:
        function()
    return traced.record()


SESSION = "onnxruntime.InferenceSession."
ONE_WAIT: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "run": (lambda s, b: s.run(None, {"x": X}), SESSION + "run"),
    "run_with_iobinding": (lambda s, b: s.run_with_iobinding(b), SESSION + "run_with_iobinding"),
    "run_with_ort_values": (
        lambda s, b: s.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(X)}),
        SESSION + "run_with_ort_values",
    ),
    "copy_outputs_to_cpu": (
        lambda s, b: b.copy_outputs_to_cpu(),
        "onnxruntime.IOBinding.copy_outputs_to_cpu",
    ),
    "synchronize_inputs": (
        lambda s, b: b.synchronize_inputs(),
        "onnxruntime.IOBinding.synchronize_outputs",
    ),
    "synchronize_outputs": (
        lambda s, b: b.synchronize_outputs(),
        "onnxruntime.IOBinding.synchronize_outputs",
    ),
    "numpy": (lambda s, b: b.get_outputs()[0].numpy(), "onnxruntime.OrtValue.numpy"),
}


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str, session: Any, binding: Any) -> None:
    function, api = ONE_WAIT[name]
    record = trace(lambda: function(session, binding))
    assert counts(record) == {api: 1}
    assert record.sites[0].path == "tests/runtime/test_onnxruntime.py"
    assert record.sites[0].device == "cpu (stand-in)"


def test_a_run_that_is_told_not_to_wait_does_not_count(session: Any, binding: Any) -> None:
    options = ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    assert counts(trace(lambda: session.run_with_iobinding(binding, options))) == {}


def test_run_options_that_say_nothing_of_it_do_not_matter(session: Any, binding: Any) -> None:
    record = trace(lambda: session.run_with_iobinding(binding, ort.RunOptions()))
    assert counts(record) == {SESSION + "run_with_iobinding": 1}


def test_a_value_in_host_memory_is_no_upload() -> None:
    assert counts(trace(lambda: ort.OrtValue.ortvalue_from_numpy(X))) == {}
    assert counts(trace(lambda: ort.OrtValue.ortvalue_from_numpy(X, "cpu", 0))) == {}


def test_results_are_the_same_under_a_trace(session: Any) -> None:
    results: list[Any] = []
    trace(lambda: results.extend(session.run(None, {"x": X})))
    assert results[0].tolist() == [2.0, 2.0]
