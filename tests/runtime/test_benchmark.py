from __future__ import annotations

import io

import pytest

from asyncguard.runtime.benchmark import Benchmark


def test_it_prints_its_name_and_four_decimals() -> None:
    stream, times = io.StringIO(), iter([10.0, 10.01724])
    with Benchmark("torch", clock=lambda: next(times), stream=stream) as benchmark:
        pass
    assert stream.getvalue() == "torch: 0.0172 sec\n"
    assert benchmark.seconds == pytest.approx(0.01724)


def test_it_prints_to_the_stdout_of_the_moment(capsys: pytest.CaptureFixture[str]) -> None:
    with Benchmark("mxnet", clock=lambda: 0.0):
        pass
    assert capsys.readouterr().out == "mxnet: 0.0000 sec\n"


def test_a_block_that_fails_has_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyError), Benchmark("broken"):
        raise KeyError
    assert capsys.readouterr().out == ""
