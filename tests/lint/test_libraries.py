"""What rules files say of a library as a whole, on programs that use it."""

from __future__ import annotations

import pytest

from asyncguard.lint.run.settings import Settings
from tests.lint.programs import Programs

AUDIT = Settings(select=("ALL",))


def found(programs: Programs, source: str) -> list[tuple[int, str]]:
    return [(f.line, f.code) for f in programs.in_source(source, AUDIT)]


def test_what_a_kernel_writes_to_is_not_the_same_in_each_round(programs: Programs) -> None:
    source = """
import warp as wp
def run(kernel, x, steps):
    loss = wp.zeros(1)
    for step in range(steps):
        wp.launch(kernel, dim=64, inputs=[x], outputs=[loss])
        print(loss.numpy())
"""
    advice = [f.advice for f in programs.in_source(source, AUDIT) if f.api == "warp.array.numpy"]
    assert advice
    assert not any("read it before the loop" in text for text in advice)


def test_what_no_kernel_writes_to_is(programs: Programs) -> None:
    source = """
import warp as wp
def run(kernel, x, steps):
    loss, other = wp.zeros(1), wp.zeros(1)
    for step in range(steps):
        wp.launch(kernel, dim=64, inputs=[x], outputs=[loss])
        print(other.numpy())
"""
    advice = [f.advice for f in programs.in_source(source, AUDIT) if f.api == "warp.array.numpy"]
    assert any("read it before the loop" in text for text in advice)


@pytest.mark.parametrize(("library", "codes"), [("cupy", ["ASG402"]), ("cudf", [])])
def test_a_clock_measures_functions_that_wait_themselves(
    programs: Programs, library: str, codes: list[str]
) -> None:
    source = f"""
import time
import {library} as lib
def measure(a, b):
    start = time.time()
    c = lib.concat([a, b])
    return time.time() - start
""".replace("lib.concat", "lib.concat" if library == "cudf" else "lib.dot")
    assert [code for _, code in found(programs, source) if code == "ASG402"] == codes


def test_a_variable_that_was_waited_for_is_read_at_once_until_it_is_bound_anew(
    programs: Programs,
) -> None:
    source = """
import mlx.core as mx
def run(x, n):
    for _ in range(n):
        y = mx.exp(x)
        mx.eval(y)
        print(y.item())
        y = mx.exp(y)
        print(y.item())
"""
    assert [line for line, code in found(programs, source) if code == "ASG102"] == [9]


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        ("", False),
        ("providers=None", False),
        ('providers=["CPUExecutionProvider"]', False),
        ('providers=["CUDAExecutionProvider", "CPUExecutionProvider"]', True),
        ("providers=chosen", True),
        ("**options", True),
    ],
)
def test_options_say_whether_a_model_runs_on_the_host(
    programs: Programs, options: str, waits: bool
) -> None:
    source = f"""
import onnxruntime as ort
def serve(path, batches, chosen, options):
    session = ort.InferenceSession(path, {options})
    for x in batches:
        session.run(None, {{"x": x}})
"""
    assert ((6, "ASG103") in found(programs, source)) is waits


def test_a_number_says_how_much_is_made_on_the_device(programs: Programs) -> None:
    source = """
from numba import cuda
@cuda.jit
def advance(x):
    x[cuda.grid(1)] += 1
def run(n: int, steps: int):
    x = cuda.device_array(n)
    for step in range(steps):
        advance[1, n](x)
        x.copy_to_host()
"""
    assert found(programs, source) == [(10, "ASG103")]
