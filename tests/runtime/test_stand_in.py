"""Where the CPU stands in for a device: what a run on a device would read from the host."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime import copies
from asyncguard.runtime.copies import name_given, name_read
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import Session
from tests.frameworks import require
from tests.runtime.helpers import counts

torch = require("torch")
data = torch.utils.data


def trace(function: Callable[[], Any], **options: Any) -> TraceRecord:
    with Session(frameworks=["torch"], **options) as session:
        function()
    return session.record()


class Reading(data.Dataset):
    """A data set as many are: it reads the tensors that hold it, an element at a time."""

    def __init__(self, size: int = 6) -> None:
        self.values = torch.arange(float(size))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([helper(self.values[index]) * int(self.values[index] + 1)])


class Streaming(data.IterableDataset):
    def __iter__(self) -> Iterator[Any]:
        for value in torch.arange(4.0):
            yield torch.tensor([helper(value)])


class Shuffled(data.Sampler):
    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(self.size).tolist()


def helper(value: Any) -> float:
    return value.item()


def collate(items: list[Any]) -> Any:
    longest = max(float(item.max()) for item in items)
    return torch.stack(items) / max(longest, 1.0)


LOADERS: dict[str, Callable[[], Any]] = {
    "data set": lambda: data.DataLoader(Reading(), 2),
    "collate function": lambda: data.DataLoader(Reading(), 2, collate_fn=collate),
    "stream": lambda: data.DataLoader(Streaming(), 2, collate_fn=collate),
    "sampler": lambda: data.DataLoader(Reading(), 2, sampler=Shuffled(6)),
    "workers": lambda: data.DataLoader(
        Reading(), 2, num_workers=1, sampler=Shuffled(6), multiprocessing_context="fork"
    ),
    "the data set itself": lambda: (Reading()[n] for n in range(3)),
    "the stream itself": Streaming,
}


@pytest.mark.parametrize("depth", ["light", "full"])
@pytest.mark.parametrize("name", LOADERS)
def test_what_a_loader_reads_is_on_the_host(name: str, depth: str) -> None:
    def train() -> None:
        for batch in LOADERS[name]():
            batch.sum().item()

    record = trace(train, depth=depth)
    assert counts(record) == {"torch.Tensor.item": 3 if name != "the stream itself" else 4} | (
        {"torch.Tensor.item": 2} if name == "stream" else {}
    )


def test_a_helper_waits_for_the_step_and_not_for_the_loader() -> None:
    """It may be called by either first."""

    def train() -> None:
        helper(torch.ones(()))
        for batch in data.DataLoader(Reading(), 2):
            helper(batch.sum())

    assert counts(trace(train)) == {"torch.Tensor.item": 4}


def test_transforms_work_on_the_host() -> None:
    transforms = types.ModuleType("torchvision.transforms.functional")
    exec("def normalize(x): return x / x.max().item()", vars(transforms))
    assert counts(trace(lambda: transforms.normalize(torch.ones(2)))) == {}


def test_a_loader_that_fails_leaves_the_thread_as_it_was() -> None:
    class Broken(data.Dataset):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: int) -> Any:
            raise KeyError(index)

    def train() -> None:
        with pytest.raises(KeyError):
            list(data.DataLoader(Broken()))
        torch.ones(()).item()

    assert counts(trace(train)) == {"torch.Tensor.item": 1}


def test_the_loaders_methods_are_put_back() -> None:
    kinds = [data.dataloader._SingleProcessDataLoaderIter, data.dataloader.DataLoader]
    before = [dict(vars(kind)) for kind in kinds]
    trace(lambda: list(data.DataLoader(Reading())))
    assert [dict(vars(kind)) for kind in kinds] == before


PARAMETER = torch.nn.Parameter(torch.ones(3))


def fetched_anew_each_time() -> None:
    for _ in range(10):
        w = PARAMETER.detach().cpu()
        w.numpy()


def fetched_under_its_own_name() -> None:
    for _ in range(10):
        out = torch.ones(3) * 2
        out = out.cpu()
        out.numpy()
        out[1].item()


def fetched_under_another_name() -> None:
    out = torch.ones(3)
    kept = out.cpu()
    for _ in range(9):
        kept.tolist()
    for _ in range(9):
        out.tolist()


def views_of_what_was_fetched() -> None:
    for _ in range(10):
        out = (torch.ones(4) * 2).cpu().view(2, 2)
        out.tolist()
        out[0].numpy()
        sum(float(value) for value in out[1])


def kept_in_a_list() -> None:
    kept = [(torch.ones(3) * 2).cpu() for _ in range(10)]
    for each in kept:
        each.tolist()


def fetched_by_a_helper() -> None:
    def to_host(value: Any) -> Any:
        return value.detach().cpu()

    for _ in range(10):
        host = to_host(PARAMETER)
        host.tolist()


def fetched_twice_on_one_line() -> None:
    for _ in range(5):
        [PARAMETER.detach().cpu().numpy() for _ in range(2)]


def a_gradient_stays_on_the_device() -> None:
    PARAMETER.grad = None
    PARAMETER.sum().backward()
    for _ in range(5):
        PARAMETER.grad.cpu()
        PARAMETER.grad.tolist()


def an_alias_is_no_copy() -> None:
    out = torch.ones(3)
    for _ in range(5):
        out.float().cpu()
        out.tolist()


ALL_TEN = [
    fetched_anew_each_time,
    fetched_under_its_own_name,
    fetched_under_another_name,
    views_of_what_was_fetched,
    kept_in_a_list,
    fetched_by_a_helper,
    fetched_twice_on_one_line,
    a_gradient_stays_on_the_device,
    an_alias_is_no_copy,
]


@pytest.mark.parametrize("program", ALL_TEN, ids=lambda function: function.__name__)
def test_each_read_of_a_device_value_counts_once_and_none_of_a_copy(
    program: Callable[[], None],
) -> None:
    assert trace(program).total_syncs == 10


@pytest.mark.parametrize("program", ALL_TEN, ids=lambda function: function.__name__)
def test_nothing_is_noted_of_copies_that_are_gone(program: Callable[[], None]) -> None:
    known = registry._made["torch"].adapter.copies.known
    trace(program)
    trace(lambda: torch.ones(()).item())
    gc.collect()
    assert not known


def test_names_are_read_from_the_bytecode() -> None:
    seen: list[tuple[str | None, str | None]] = []

    class Value:
        def look(self, *_: Any) -> Any:
            frame = sys._getframe(1)
            seen.append(
                (name_read(frame.f_code, frame.f_lasti), name_given(frame.f_code, frame.f_lasti))
            )
            return self

        __float__ = __bool__ = __format__ = look

    def program(x: Any) -> None:
        x.look()
        y = x.look()
        x = y.look("cpu")
        held = [x, y]
        held[0] = x.look()
        x.look().look()

    program(Value())
    assert seen == [("x", None), ("x", "y"), ("y", "x"), ("x", None), ("x", None), (None, None)]


def test_the_note_says_what_cannot_be_known() -> None:
    (note,) = trace(lambda: torch.ones(()).item()).notes
    for words in ("as if they were on a device", "Times mean nothing", "cannot be known", ".to("):
        assert words in note


@pytest.mark.parametrize(
    ("load", "borrowed"), [("LOAD_FAST", 0), ("LOAD_FAST_BORROW", 1), ("LOAD_GLOBAL", 0)]
)
def test_a_named_value_is_held_by_its_name_also_where_python_lends_it_to_the_call(
    monkeypatch: pytest.MonkeyPatch, load: str, borrowed: int
) -> None:
    """Python 3.14 makes no reference for `x.cpu()`; then a named tensor counts as often as none."""

    class Value:
        pass

    value, frame = Value(), sys._getframe()
    at = frame.f_lasti
    used = [SimpleNamespace(opname=load, argval="value", offset=at - 2),
            SimpleNamespace(opname="CALL", argval=0, offset=at)]  # fmt: skip
    monkeypatch.setattr(copies, "_instructions", lambda code: used)
    owner = Value()
    known = copies.Copies(lambda _: copies.Memory(1, owner, False))
    known.add(value, SimpleNamespace(f_code=frame.f_code, f_lasti=at, f_lineno=1), 0)
    everywhere = [copy.code is None for copy in known.known.values()]
    assert everywhere == [not borrowed]
