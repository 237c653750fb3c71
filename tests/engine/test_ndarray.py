"""The array frontend does what NumPy does, function by function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from asyncguard import engine
from asyncguard.engine import np as device_np


@pytest.fixture(params=["threaded", "naive"], autouse=True)
def any_engine(request: pytest.FixtureRequest) -> Iterator[engine.Engine]:
    fresh = engine.NaiveEngine() if request.param == "naive" else engine.ThreadedEngine(2)
    with fresh, engine.use(fresh):
        yield fresh


def a(np: Any) -> Any:
    return np.array(numpy.arange(12.0).reshape(3, 4) - 4)


def b(np: Any) -> Any:
    return np.array([[3], [-1], [2]], dtype=np.float32)


def changed(np: Any, change: Callable[[Any], object]) -> Any:
    x = a(np)
    change(x)
    return x


def set_at(key: Any, value: Any) -> Callable[[Any], Any]:
    return lambda np: changed(np, lambda x: x.__setitem__(key, value))


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda np: np.zeros((2, 3), dtype=np.int32),
    "ones": lambda np: np.ones(4),
    "full": lambda np: np.full((2, 2), 7),
    "full_like": lambda np: np.full_like(a(np), 3),
    "zeros_like": lambda np: np.zeros_like(b(np)),
    "ones_like": lambda np: np.ones_like(b(np)),
    "arange": lambda np: np.arange(2, 11, 3),
    "linspace": lambda np: np.linspace(0, 1, 5),
    "eye": lambda np: np.eye(3),
    "array of array": lambda np: np.array(a(np), dtype=np.float16),
    "operators": lambda np: (a(np) + 1) * 2 - 3 / (abs(a(np)) + 1) + a(np) // 2 - a(np) % 3,
    "reflected": lambda np: (
        1 + (2 - (3 * (4 / (a(np) + 0.5)))) + 7 // (a(np) + 9) + 7 % (a(np) + 9)
    ),
    "power": lambda np: a(np) ** 2 + 2 ** a(np),
    "signs": lambda np: -a(np) + +a(np),
    "broadcasting": lambda np: a(np) + b(np),
    "promotion": lambda np: b(np) + 1,
    "integers and floats": lambda np: np.arange(3) / 2 + np.arange(3) * 1.5,
    "small integers": lambda np: np.array([1, 2], dtype=np.int8) + 1,
    "comparison": lambda np: (a(np) < 0) | (a(np) >= b(np)) & ~(a(np) == 3) ^ (a(np) != 2),
    "less or equal": lambda np: (a(np) <= 0) == (a(np) > 0),
    "negative zero": lambda np: np.array([1.0]) * -0.0 + np.array([1.0]) * 0.0,
    "only negative zero": lambda np: 1 / (np.array([1.0]) * -0.0),
    "exp": lambda np: np.exp(a(np)) + np.log(np.exp(a(np))) + np.sqrt(np.square(a(np))),
    "waves": lambda np: np.sin(a(np)) + np.cos(a(np)) + np.tanh(a(np)),
    "rounding": lambda np: np.floor(a(np) / 3) + np.ceil(a(np) / 3) + np.rint(a(np) / 3),
    "tests": lambda np: np.isnan(a(np)) | np.isfinite(a(np)) | np.isinf(a(np)),
    "logic": lambda np: np.logical_and(a(np), np.logical_not(b(np))),
    "maximum": lambda np: np.maximum(a(np), 0) + np.minimum(a(np), b(np)),
    "clip": lambda np: np.clip(a(np), -1, 2),
    "where": lambda np: np.where(a(np) > 0, a(np), b(np)),
    "where with numbers": lambda np: np.where(a(np) > 0, 1, 0),
    "matmul": lambda np: a(np) @ a(np).T,
    "matmul of vectors": lambda np: a(np)[0] @ a(np)[1],
    "matmul of a stack": lambda np: np.ones((2, 3, 4)) @ np.ones((4, 5)),
    "dot": lambda np: np.dot(a(np), np.arange(4.0)),
    "dot of stacks": lambda np: np.dot(np.ones((2, 3, 4)), np.ones((5, 4, 6))),
    "sum": lambda np: a(np).sum(),
    "sum of an axis": lambda np: np.sum(a(np), axis=1),
    "sum of axes": lambda np: np.sum(a(np), axis=(0, 1), keepdims=True),
    "sum of booleans": lambda np: (a(np) > 0).sum(),
    "mean": lambda np: a(np).mean(axis=-1) + np.arange(3).mean(),
    "prod": lambda np: np.prod(a(np) + 5, axis=0),
    "max": lambda np: a(np).max(axis=0) - a(np).min(),
    "std": lambda np: a(np).std(axis=1) + np.var(a(np)),
    "argmax": lambda np: np.argmax(a(np), axis=1) + np.argmin(a(np)),
    "all": lambda np: (a(np) > -9).all() == (a(np) > 99).any(axis=0),
    "reshape": lambda np: np.reshape(a(np), (2, -1)),
    "reshape of a view": lambda np: a(np).T.reshape(2, 6),
    "ravel": lambda np: a(np).ravel() + a(np).flatten(),
    "transpose": lambda np: np.transpose(np.ones((2, 3, 4)), (2, 0, 1)),
    "swapaxes": lambda np: a(np).swapaxes(0, 1) * 2,
    "expand and squeeze": lambda np: np.squeeze(np.expand_dims(a(np), 1)) + 0,
    "broadcast_to": lambda np: np.broadcast_to(b(np), (3, 4)),
    "concatenate": lambda np: np.concatenate([a(np), b(np)], axis=1),
    "stack": lambda np: np.stack([a(np), a(np) * 2], axis=-1),
    "basic index": lambda np: a(np)[1:, ::-2] + a(np)[0, 0],
    "new axis": lambda np: a(np)[:, None, 1] + a(np)[..., -1],
    "integer array": lambda np: a(np)[[0, 2], [1, 3]] + a(np)[np.array([2, 0])][:, 1],
    "booleans": lambda np: a(np)[a(np) > 0],
    "host booleans": lambda np: a(np)[numpy.array([True, False, True])],
    "take": lambda np: np.take(a(np), np.array([3, 0])) + np.take(a(np), [0, 1], axis=1)[2],
    "astype": lambda np: a(np).astype(np.int64),
    "copy": lambda np: a(np).copy(),
    "nonzero": lambda np: np.stack(list(np.nonzero(a(np)))) + np.stack(list(np.where(a(np)))),
    "unique": lambda np: np.unique(np.array([3, 1, 3])),
    "set a row": set_at(1, 9),
    "set a part": set_at((slice(1), slice(None, None, 2)), [5, 6]),
    "set elements": set_at(([0, 1], [2, 3]), [7, 8]),
    "set all": set_at(..., 2),
    "set with leading ones": set_at(0, numpy.array([[1, 2, 3, 4]])),
    "set masked": lambda np: changed(np, lambda x: x.__setitem__(x > 0, -1)),
    "fill": lambda np: changed(np, lambda x: x.fill(4)),
    "in place": lambda np: changed(np, lambda x: x.__iadd__(1).__imul__(2).__isub__(x)),
    "in place division": lambda np: changed(np, lambda x: x.__itruediv__(2).__ifloordiv__(1)),
    "in place remainder": lambda np: changed(np, lambda x: x.__imod__(3).__ipow__(2)),
    "in place bits": lambda np: (np.arange(4).__iand__(6)).__ior__(1).__ixor__(3),
    "through a view": lambda np: changed(np, lambda x: x[0].__iadd__(x[1])),
    "through a view of a view": lambda np: changed(np, lambda x: x.T[1:][0].__setitem__(1, 77)),
    "through a reshape": lambda np: changed(np, lambda x: x.reshape(-1).__setitem__(5, 77)),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_gives_what_numpy_gives(name: str) -> None:
    with numpy.errstate(all="ignore"):
        expected = numpy.asarray(EXPRESSIONS[name](numpy))
    found = EXPRESSIONS[name](device_np)
    assert isinstance(found, engine.ndarray)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    result = found.asnumpy()
    assert (result.shape, result.dtype) == (found.shape, found.dtype)
    numpy.testing.assert_array_equal(result, expected)
    assert numpy.array_equal(numpy.signbit(result), numpy.signbit(expected))


def test_an_array_without_axes_counts_with_its_own_type() -> None:
    single = device_np.ones(2, dtype=device_np.float32)
    total = single + device_np.ones((), dtype=device_np.float64)
    assert total.dtype == numpy.float64
    assert total.asnumpy().dtype == numpy.float64


def test_what_the_host_gave_may_change_afterwards(any_engine: engine.Engine) -> None:
    host = numpy.zeros(3)
    x = device_np.array(host)
    y = x + host
    x[0:1] = host[:1]
    host[:] = 9
    assert (x.tolist(), y.tolist()) == ([0, 0, 0], [0, 0, 0])


def test_what_the_host_gets_is_its_own() -> None:
    x = device_np.ones(2)
    x.asnumpy()[:] = 5
    numpy.asarray(x)[:] = 5
    assert x.tolist() == [1, 1]


def test_the_host_on_the_left_stays_on_the_device() -> None:
    for result in (
        numpy.ones(2) + device_np.ones(2),
        numpy.float64(1) + device_np.ones(2),
        [1, 1] + device_np.ones(2),  # noqa: RUF005 - it is the sum that is meant
    ):
        assert isinstance(result, engine.ndarray)
        assert result.tolist() == [2, 2]


def test_scalars_of_the_host() -> None:
    x = device_np.array([[2.5]])
    assert (x.item(), x.asscalar(), x.astype(int).item(0)) == (2.5, 2.5, 2)
    with pytest.raises(ValueError):
        device_np.ones(2).asscalar()
    with pytest.raises(ValueError):
        bool(device_np.ones(2))


def test_copyto_another_array() -> None:
    target = device_np.zeros((2, 2))
    assert device_np.ones(2).copyto(target) is target
    host = numpy.zeros(2)
    assert device_np.ones(2).copyto(host) is host
    assert (target.tolist(), host.tolist()) == ([[1, 1], [1, 1]], [1, 1])


def test_text() -> None:
    x = device_np.array([1.0, 2.0])
    assert (str(x), repr(x), f"{x[0]:.3f}") == ("[1. 2.]", "array([1., 2.])", "1.000")


def test_versions_count_writes() -> None:
    x = device_np.ones(2)
    x += 1
    x[0] = 5
    x.wait_to_read()
    assert x.version == 3


def test_a_seed_gives_the_same_numbers_on_every_engine() -> None:
    def numbers() -> list[Any]:
        device_np.random.seed(7)
        draws = [
            device_np.random.normal(1.0, 2.0, (2, 3)),
            device_np.random.uniform(size=4),
            device_np.random.rand(2, 2),
            device_np.random.randn(3),
            device_np.random.randint(10, size=5),
            device_np.random.randint(3, 6, size=(2, 2), dtype=device_np.int32),
            device_np.random.permutation(6),
            device_np.random.uniform(),
        ]
        return [draw.asnumpy() for draw in draws]

    found = numbers()
    with engine.NaiveEngine() as naive, engine.use(naive):
        expected = numbers()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        numpy.testing.assert_array_equal(one, other)
    assert [draw.shape for draw in found] == [(2, 3), (4,), (2, 2), (3,), (5,), (2, 2), (6,), ()]
