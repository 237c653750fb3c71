"""What can be told of cupy without a GPU: what is hooked, and that it is put back."""

from __future__ import annotations

import pytest

from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import attributes, changed, counts, is_watched

cupy = require("cupy")


def has_gpu() -> bool:
    try:
        return bool(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def test_hooks_are_put_in_place_and_taken_away() -> None:
    owners = [cupy.ndarray, cupy, cupy.cuda.Stream, cupy.cuda.runtime]
    before = [attributes(owner) for owner in owners]
    with Session(frameworks=["cupy"]) as session:
        watched = (cupy.ndarray.get, cupy.ndarray.item, cupy.ndarray.__bool__, cupy.asnumpy)
        assert all(map(is_watched, (*watched, cupy.cuda.runtime.deviceSynchronize)))
    assert not any(map(is_watched, watched))
    assert [changed(o, b) for o, b in zip(owners, before, strict=True)] == [[]] * len(owners)
    assert session.record().frameworks == {"cupy": cupy.__version__}


@pytest.mark.skipif(has_gpu(), reason="shows what happens without a GPU")
def test_without_a_gpu_the_programs_own_error_passes_and_nothing_counts() -> None:
    session = Session(frameworks=["cupy"])
    with session, pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        cupy.cuda.runtime.deviceSynchronize()
    assert session.record().total_syncs == 0


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="no CUDA device")
def test_reads_of_arrays_count_on_a_gpu() -> None:
    x = cupy.ones(())
    with Session(frameworks=["cupy"]) as session:
        x.get()
        float(x)
        repr(x)
        cupy.asnumpy(x)
        cupy.cuda.Stream.null.synchronize()
    assert counts(session.record()) == {
        "cupy.ndarray.get": 1,
        "cupy.ndarray.__float__": 1,
        "cupy.ndarray.__repr__": 1,
        "cupy.asnumpy": 1,
        "cupy.cuda.Stream.synchronize": 1,
    }
