from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

import pytest

from asyncguard.model import TraceRecord
from asyncguard.runtime import versions
from asyncguard.runtime.faults import SyncLimitExceeded
from asyncguard.runtime.hub import BATCH, hub
from asyncguard.runtime.limits import limit_syncs
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import Session, step
from tests.frameworks import default_device, require
from tests.runtime.helpers import Clock, attributes, changed, counts, is_sequence

torch = require("torch")

np = require("numpy")
F = torch.nn.functional
STAND_IN = "cpu (stand-in)"


def trace(function: Callable[[], Any], **options: Any) -> TraceRecord:
    with Session(frameworks=["torch"], **options) as session:
        function()
    return session.record()


def tensor(*values: float) -> Any:
    return torch.tensor(values or (2.0,))


ONE_WAIT: dict[str, tuple[Callable[[], Any], str]] = {
    "item": (lambda: tensor().item(), "torch.Tensor.item"),
    "tolist": (lambda: tensor(1, 2).tolist(), "torch.Tensor.tolist"),
    "numpy": (lambda: tensor().numpy(), "torch.Tensor.numpy"),
    "cpu": (lambda: tensor().cpu(), "torch.Tensor.cpu"),
    "float": (lambda: float(tensor()), "torch.Tensor.__float__"),
    "int": (lambda: int(tensor()), "torch.Tensor.__int__"),
    "complex": (lambda: complex(tensor()), "torch.Tensor.__complex__"),
    "bool": (lambda: bool(tensor()), "torch.Tensor.__bool__"),
    "if": (lambda: 1 if tensor() else 2, "torch.Tensor.__bool__"),
    "not": (lambda: not tensor(), "torch.Tensor.__bool__"),
    "and": (lambda: tensor() and 1, "torch.Tensor.__bool__"),
    "max of two": (lambda: max(tensor(), tensor()), "torch.Tensor.__bool__"),
    "range": (lambda: range(torch.tensor(3)), "torch.Tensor.__index__"),
    "list index": (lambda: [1, 2, 3][torch.tensor(1)], "torch.Tensor.__index__"),
    "slice bound": (lambda: tensor(1, 2)[torch.tensor(1) :], "torch.Tensor.__index__"),
    "np.asarray": (lambda: np.asarray(tensor()), "torch.Tensor.__array__"),
    "print": (lambda: print(tensor(), file=sys.stderr), "torch.Tensor.__repr__"),
    "str": (lambda: str(tensor()), "torch.Tensor.__repr__"),
    "repr of a parameter": (lambda: repr(torch.nn.Parameter(tensor())), "torch.Tensor.__repr__"),
    "f-string": (lambda: f"{tensor()}", "torch.Tensor.__format__"),
    "f-string with format": (lambda: f"{tensor()[0]:.2f}", "torch.Tensor.__format__"),
    "logging": (
        lambda: logging.LogRecord("n", 20, "p", 1, "%s", (tensor(),), None).getMessage(),
        "torch.Tensor.__repr__",
    ),
    "in": (lambda: 2.0 in tensor(), "torch.Tensor.__contains__"),
    "is_nonzero": (lambda: torch.is_nonzero(tensor()), "torch.is_nonzero"),
    "nonzero": (lambda: torch.nonzero(tensor(0, 1)), "torch.nonzero"),
    "method nonzero": (lambda: tensor(0, 1).nonzero(), "torch.nonzero"),
    "where of one": (lambda: torch.where(tensor() > 1), "torch.where"),
    "mask read": (lambda: tensor(1, 2)[tensor(1, 2) > 1], "torch.Tensor.__getitem__.mask"),
    "unique": (lambda: torch.unique(tensor(1, 1)), "torch.unique"),
    "masked_select": (
        lambda: torch.masked_select(tensor(1, 2), tensor(1, 2) > 1),
        "torch.masked_select",
    ),
    "equal": (lambda: torch.equal(tensor(), tensor()), "torch.equal"),
    "allclose": (lambda: torch.allclose(tensor(), tensor()), "torch.allclose"),
    "tensor of a tensor": (lambda: torch.tensor([tensor()[0]]), "torch.tensor.elements"),
    "nested tensors": (lambda: torch.as_tensor([[tensor()[0], 1.0]]), "torch.tensor.elements"),
    "new_tensor of tensors": (
        lambda: tensor().new_tensor([tensor()[0]]),
        "torch.tensor.elements",
    ),
    "narrow": (lambda: tensor(1, 2).narrow(0, torch.tensor(1), 1), "torch.Tensor.narrow"),
    "index_put_": (
        lambda: tensor(1, 2).index_put_((tensor(1, 2) > 1,), tensor(3)),
        "torch.Tensor.__setitem__.mask",
    ),
    "index_put": (
        lambda: torch.index_put(tensor(1, 2), (tensor(1, 2) > 1,), tensor(3)),
        "torch.Tensor.__setitem__.mask",
    ),
    "inverse": (lambda: torch.eye(2).inverse(), "torch.linalg.inv"),
    "cov": (lambda: torch.cov(torch.ones(2, 3)), "torch.cov"),
    "coalesce": (
        lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 1.0], (2,)).coalesce(),
        "torch.Tensor.coalesce",
    ),
    "keyword": (lambda: torch.nonzero(input=tensor(0, 1)), "torch.nonzero"),
    "unbound": (lambda: torch.Tensor.item(tensor()), "torch.Tensor.item"),
    "one_hot": (lambda: F.one_hot(torch.tensor([1])), "torch.nn.functional.one_hot"),
    "clip_grad_norm_": (
        lambda: torch.nn.utils.clip_grad_norm_([], 1.0, error_if_nonfinite=True),
        "torch.nn.utils.clip_grad_norm_",
    ),
}  # fmt: skip


TWO_WAITS: dict[str, tuple[Callable[[], Any], str]] = {
    "repeat_interleave": (
        lambda: torch.repeat_interleave(tensor(1, 2), torch.tensor([1, 2])),
        "torch.repeat_interleave",
    ),
    "repeat_interleave of counts": (
        lambda: torch.repeat_interleave(torch.tensor([1, 2])),
        "torch.repeat_interleave.indices",
    ),
    "repeat_interleave by keyword": (
        lambda: torch.repeat_interleave(repeats=torch.tensor([1, 2])),
        "torch.repeat_interleave",
    ),
    "distribution": (
        lambda: torch.distributions.Normal(tensor(), tensor(), validate_args=True),
        "torch.distributions.Distribution.__init__",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO_WAITS)
def test_a_call_that_waits_twice_counts_twice(name: str) -> None:
    function, api = TWO_WAITS[name]
    assert counts(trace(function)) == {api: 2}
    with pytest.raises(SyncLimitExceeded), limit_syncs(1):
        function()
    with limit_syncs(2):
        function()


def test_a_distribution_that_checks_nothing_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own argument, or by the default that torch.compile changes, too."""
    distribution = torch.distributions.Normal
    assert trace(lambda: distribution(tensor(), tensor(), validate_args=False)).total_syncs == 0
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", False)
    assert trace(lambda: distribution(tensor(), tensor())).total_syncs == 0
    asked = trace(lambda: distribution(tensor(), tensor(), validate_args=True))
    assert asked.total_syncs == 2


@pytest.mark.parametrize("name", ONE_WAIT)
def test_each_blocking_call_counts_once(name: str) -> None:
    function, api = ONE_WAIT[name]
    record = trace(function)
    assert counts(record) == {api: 1}
    (site,) = record.sites
    assert site.path == "tests/runtime/test_torch.py"
    assert site.device == STAND_IN
    assert site.gpu_stall_ns is None


def test_each_tensor_in_a_list_is_read_by_itself() -> None:
    rows = trace(lambda: torch.tensor([[tensor()[0], 1.0], [2.0, tensor()[0]]]))
    assert counts(rows) == {"torch.tensor.elements": 2}


@pytest.mark.parametrize(
    "function",
    [
        lambda: tensor().cpu().numpy(),
        lambda: tensor().detach().cpu().numpy(),
        lambda: tensor().cpu().detach().numpy(),
        lambda: tensor().cpu().item(),
        lambda: tensor().to("cpu").tolist(),
        lambda: float(tensor().cpu()),
    ],
)
def test_what_has_been_fetched_on_a_line_is_on_the_host_there(function: Callable[[], Any]) -> None:
    assert trace(function).total_syncs == 1


def test_a_tensor_that_was_fetched_is_read_again_on_another_line() -> None:
    def twice() -> None:
        value = tensor()
        value.cpu()
        value.item()

    assert trace(twice).total_syncs == 2


def test_a_list_index_has_to_be_sent_to_the_device() -> None:
    record = trace(lambda: tensor(1, 2)[[0, 1]])
    assert counts(record) == {"torch.Tensor.__getitem__.upload": 1}


def test_the_default_device_is_still_obeyed_after_a_trace() -> None:
    trace(lambda: None)
    with default_device("meta"):
        assert torch.tensor(1.0).is_meta
        with Session():
            assert torch.tensor(1.0).is_meta


NO_WAIT: dict[str, Callable[[], Any]] = {
    "arithmetic": lambda: (tensor() + 1).sum().sqrt(),
    "shape": lambda: (tensor().shape, len(tensor()), tensor().dtype, tensor().device),
    "any": lambda: torch.any(tensor()),
    "iteration": lambda: list(tensor(1, 2)),
    "integer index": lambda: tensor(1, 2)[1],
    "slice": lambda: tensor(1, 2)[0:1],
    "tuple index": lambda: torch.ones(2, 2)[:, 1],
    "index tensor": lambda: tensor(1, 2)[torch.tensor([1])],
    "repeat_interleave with a size": lambda: (
        torch.repeat_interleave(torch.tensor([1, 2]), output_size=3),
        torch.repeat_interleave(tensor(1, 2), torch.tensor([1, 2]), output_size=3),
        torch.repeat_interleave(tensor(1, 2), 2),
    ),
    "where of three": lambda: torch.where(tensor() > 1, 1, 0),
    "masked fill": lambda: tensor().masked_fill_(tensor() > 1, 0),
    "mask write of a number": lambda: tensor(1, 2).__setitem__(tensor(1, 2) > 1, 1.0),
    "tensor of numbers": lambda: (torch.tensor([1.0, 2.0]), torch.tensor([[1], [2]])),
    "tensor of a tensor": lambda: tensor().new_tensor(tensor()),
    "stack": lambda: torch.stack([tensor(), tensor()]),
    "narrow by a number": lambda: tensor(1, 2).narrow(0, 1, 1),
    "index_put_ of indices": lambda: (
        tensor(1, 2).index_put_((torch.tensor([0]),), tensor(3)),
        tensor(1, 2).index_put_(indices=(torch.tensor([0]),), values=tensor(3)),
    ),
    "value on the host": lambda: tensor(1, 2).__setitem__(0, torch.tensor(1.0)),
    "one_hot with classes": lambda: torch.nn.functional.one_hot(torch.tensor([1]), 3),
    "clip_grad_norm_": lambda: torch.nn.utils.clip_grad_norm_([], 1.0),
    "upload": lambda: torch.tensor([1.0], device="cpu").to("cpu"),
    "sampler": lambda: list(torch.utils.data.RandomSampler(range(9))),
    "loader": lambda: list(torch.utils.data.DataLoader(torch.ones(4, 2), 2, shuffle=True)),
    "disabled scaler": lambda: torch.amp.GradScaler("cpu", enabled=False).get_scale(),
    "python and numpy": lambda: (float("1"), np.ones(1).item(), np.ones(1).tolist()),
    "deepcopy": lambda: copy.deepcopy(tensor()),
    "model": lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))(
        torch.ones(3, 2)
    ),
}


@pytest.mark.parametrize("name", NO_WAIT)
def test_what_does_not_wait_does_not_count(name: str) -> None:
    assert counts(trace(NO_WAIT[name])) == {}


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam"])
@pytest.mark.parametrize("after", [True, False], ids=["after step", "before step"])
def test_one_item_an_iteration_is_one_a_step(kind: str, after: bool) -> None:
    def train() -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
        for _ in range(10):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).sum()
            loss.backward()
            if not after:
                loss.item()
            optimizer.step()
            if after:
                loss.item()

    record = trace(train)
    assert (record.total_syncs, record.step_count, record.syncs_per_step) == (10, 10, 1.0)
    assert record.steady_steps == 9
    assert record.step_syncs == (1,) * 9


def test_reads_inside_lbfgs_are_the_users() -> None:
    def train() -> None:
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.LBFGS([weight], max_iter=2)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (weight**2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    record = trace(train)
    assert record.total_syncs > 0
    assert {site.source for site in record.sites} == {"optimizer.step(closure)"}


def test_a_gan_steps_once_an_iteration() -> None:
    def train() -> None:
        parts = [torch.nn.Linear(1, 1) for _ in range(2)]
        optimizers = [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]
        for _ in range(6):
            for part, optimizer in zip(parts, optimizers, strict=True):
                part(torch.ones(1, 1)).sum().backward()
                optimizer.step()
            tensor().item()

    record = trace(train)
    assert (record.step_count, record.syncs_per_step) == (6, 1.0)


def test_steps_can_be_marked_by_hand() -> None:
    def infer() -> None:
        for _ in range(5):
            tensor().item()
            tensor().item()
            step()

    record = trace(infer)
    assert (record.step_count, record.syncs_per_step) == (5, 2.0)


def helper(value: Any) -> float:
    return value.item()


def test_a_wait_is_charged_to_the_line_and_function_that_called() -> None:
    def twice() -> None:
        for value in tensor(1, 2):
            helper(value)

    (site,) = trace(twice).sites
    assert (site.function.rpartition(".")[2], site.source, site.count) == (
        "helper", "return value.item()", 2,
    )  # fmt: skip
    assert site.stack[0] == f"tests/runtime/test_torch.py:{site.line} helper"
    assert "twice" in site.stack[1]


def test_the_stall_is_the_time_inside_the_original_call() -> None:
    clock = Clock(tick=7)
    record = trace(lambda: tensor().item(), clock=clock)
    (site,) = record.sites
    assert (site.cpu_stall_ns, site.max_stall_ns, dict(site.stall_histogram)) == (7, 7, {2: 1})


def test_every_attribute_is_afterwards_the_object_that_it_was() -> None:
    owners = [torch.Tensor, torch.nn.Parameter, torch, torch.nn.utils, torch.cuda]
    trace(lambda: None)
    before = [attributes(owner) for owner in owners]
    for _ in range(1000):
        with pytest.raises(KeyError), Session(frameworks=["torch"]):
            raise KeyError
    assert [changed(o, b) for o, b in zip(owners, before, strict=True)] == [[]] * len(owners)


def test_threads_that_trace_at_once_leave_nothing_behind() -> None:
    before = attributes(torch.Tensor)
    totals: list[int] = []

    def work() -> None:
        for _ in range(50):
            with Session(frameworks=["torch"]) as session:
                tensor().item()
            record = session.record()
            mine = [s for s in record.sites if s.thread == threading.current_thread().name]
            totals.append(sum(site.count for site in mine))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [1] * 300
    assert changed(torch.Tensor, before) == []


def test_each_update_of_eight_threads_is_a_step() -> None:
    def work() -> None:
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        parameter.grad = torch.ones(2)
        for _ in range(100):
            optimizer.step()

    with Session(frameworks=["torch"]) as session:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert session.record().step_count == 800


@pytest.mark.parametrize("within", [True, False], ids=["within", "afterwards"])
def test_a_tensor_is_no_sequence_to_c_code(within: bool) -> None:
    with Session():

        class DerivedWithin(torch.Tensor):
            pass

        if within:
            assert torch.tensor([torch.tensor(1.0)]).tolist() == [1.0]
            assert not is_sequence(torch.Tensor)
    assert torch.tensor([torch.tensor(1.0)]).tolist() == [1.0]
    for kind in (torch.Tensor, torch.nn.Parameter, Derived, DerivedWithin):
        assert not is_sequence(kind)


class Piecewise(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.where(x > 1, x, -x) * 2


class Derived(torch.Tensor):
    pass


def program() -> list[Any]:
    """What goes through hooked names in odd ways; what it gives and how it fails."""
    x, written = torch.arange(4.0), torch.arange(4.0)
    written[written > 1] = 0
    written[[0, 1]] = torch.tensor(7.0)
    with torch.device("meta"):
        device = torch.tensor(1.0).device.type
    given = [
        torch.tensor([x[0], x[1]]).tolist(),
        np.stack([x, x]).tolist(),
        written.tolist(),
        type(x.as_subclass(Derived)[1]).__name__,
        torch.func.vmap(lambda v: v * 2)(x).tolist(),
        torch.func.grad(lambda v: (v**2).sum())(x).tolist(),
        torch.fx.symbolic_trace(Piecewise())(x).tolist(),
        torch.export.export(Piecewise(), (x,)).module()(x).tolist(),
        device,
    ]
    for wrong in (x.item, x.__bool__, torch.where, x.index_put_, lambda: x[9], lambda: x.to("no")):
        with pytest.raises((RuntimeError, TypeError, IndexError)) as caught:
            wrong()
        given.append(str(caught.value).splitlines()[0])
    return given


@pytest.mark.parametrize("depth", ["light", "full"])
def test_a_program_gives_the_same_inside_a_trace_and_after_it(depth: str) -> None:
    bare = program()
    with Session(depth=depth):
        assert program() == bare
    assert program() == bare


def test_nested_sessions_both_count() -> None:
    with Session() as outer:
        tensor().item()
        with Session() as inner:
            tensor().item()
        tensor().item()
    assert (outer.record().total_syncs, inner.record().total_syncs) == (3, 1)


def test_a_session_reads_the_same_while_running_and_after() -> None:
    with Session() as session:
        tensor().item()
        assert session.record().total_syncs == 1
    tensor().item()
    assert session.record().total_syncs == 1
    assert session.record().frameworks["torch"] == torch.__version__


def test_the_users_exception_passes_with_its_own_traceback() -> None:
    def frames() -> list[str]:
        try:
            tensor(1, 2).item()
        except RuntimeError as error:
            return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        raise AssertionError("item() of two elements must fail")

    bare = frames()
    with Session() as session:
        traced = frames()
        assert frames() == traced  # at a line that is known
    if sys.version_info >= (3, 11):
        assert traced == bare
    assert session.record().total_syncs == 0


@pytest.mark.parametrize(
    ("seen", "what", "counted"),
    [(False, "begin", 0), (False, "end", 0), (True, "clock", 5), (True, "log", 4)],
)
def test_a_hook_that_fails_is_logged_once_and_the_call_still_returns(
    seen: bool,
    what: str,
    counted: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: Any) -> int:
        raise ValueError("broken clock")

    monkeypatch.setattr(hub, "_failed", {})
    with Session() as session:
        for at in range(5):
            if at == (2 if seen else 0):
                recorder = session._recorder
                owner = recorder.beat if seen else recorder
                monkeypatch.setattr(owner, what, broken)
            assert tensor().item() == 2.0
        monkeypatch.undo()
    assert session.record().total_syncs == counted
    assert [record.message for record in caplog.records] == [
        "the hook of torch.Tensor.item failed and is off from now on"
    ]


def test_lines_that_take_turns_and_threads_are_told_apart() -> None:
    value = tensor()

    def work() -> None:
        for _ in range(2 * BATCH):
            value.item()
            value.item()

    threads = [threading.Thread(target=work, name=f"worker {n}") for n in range(2)]
    with Session() as session:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = {(site.thread, site.line): site.count for site in session.record().sites}
    assert {name for name, _ in rows} == {"worker 0", "worker 1"}
    assert list(rows.values()) == [2 * BATCH] * 4


def test_each_of_two_sessions_goes_on_where_the_other_ends() -> None:
    value = tensor()
    with Session() as outer:
        for _ in range(3):
            for at in range(2):
                value.item()
                if at:
                    with Session() as inner:
                        value.item()
            assert inner.record().total_syncs == 1
    assert outer.record().total_syncs == 9


def test_a_step_mark_that_fails_is_logged_once_and_training_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(source: object) -> None:
        raise ValueError("broken clock")

    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    monkeypatch.setattr(hub, "_failed", {})
    with Session() as session, Session() as other:
        monkeypatch.setattr(session._recorder, "mark", broken)
        for _ in range(3):
            weight.grad = torch.ones(1)
            optimizer.step()
        monkeypatch.undo()
    assert other.record().step_count == 3
    assert weight.detach().numpy() == -2.0
    assert len(caplog.records) == 1


@pytest.mark.parametrize("method", ["begin", "end"])
def test_full_depth_that_fails_is_logged_once_and_operators_still_run(
    method: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any) -> int:
        raise ValueError("broken clock")

    monkeypatch.setattr(hub, "_failed", {})
    with Session(depth="full") as session:
        monkeypatch.setattr(session._recorder, method, broken)
        for _ in range(3):
            assert torch.ops.aten.nonzero(tensor(0, 1)).shape == (1, 1)
        monkeypatch.undo()
    assert len(caplog.records) == 1


def test_a_function_mode_sees_the_same_calls_inside_a_trace() -> None:
    from torch.overrides import TorchFunctionMode

    class Watching(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            self.seen.append(func)
            return func(*args, **(kwargs or {}))

    def read(value: Any) -> Any:
        return value.item()

    value = tensor()
    with Watching() as bare:
        read(value)
    with Session() as session:
        read(value)  # from now on the line is known
        with Watching() as traced:
            read(value)
    assert traced.seen == bare.seen
    assert session.record().total_syncs == 2


def test_pickling_deepcopy_and_subclassing_work_inside_a_trace() -> None:
    class Loud(torch.Tensor):
        seen: list[Any] = []  # noqa: RUF012

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            cls.seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    original = torch.Tensor.item
    with Session() as session:
        assert torch.equal(pickle.loads(pickle.dumps(tensor())), tensor())
        copy.deepcopy(torch.nn.Linear(2, 2))
        assert tensor().as_subclass(Loud).item() == 2.0
    assert Loud.seen == [original]
    assert counts(session.record())["torch.Tensor.item"] == 1


def test_asyncio_tasks_are_counted() -> None:
    async def read() -> None:
        for _ in range(5):
            tensor().item()
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(read() for _ in range(4)))

    assert trace(lambda: asyncio.run(main())).total_syncs == 20


def test_the_user_says_whether_cpu_tensors_count() -> None:
    assert trace(lambda: tensor().item(), count_cpu=False).total_syncs == 0
    assert trace(lambda: tensor().item(), count_cpu=True).total_syncs == 1


def test_names_that_user_code_imported_are_hooked_and_put_back() -> None:
    module = sys.modules[__name__]
    module.nonzero = torch.nonzero  # type: ignore[attr-defined]
    original = torch.nonzero
    try:
        record = trace(lambda: module.nonzero(tensor()))  # type: ignore[attr-defined]
        assert counts(record) == {"torch.nonzero": 1}
        assert module.nonzero is original  # type: ignore[attr-defined]
    finally:
        del module.nonzero  # type: ignore[attr-defined]


def test_a_module_of_torchs_that_is_imported_in_a_trace_keeps_no_hook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = torch.nonzero
    late = types.ModuleType("torch._imported_late")
    with Session(frameworks=["torch"]):
        late.nonzero = torch.nonzero  # type: ignore[attr-defined]  # from torch import nonzero
        monkeypatch.setitem(sys.modules, "torch._imported_late", late)
        with Session(frameworks=["torch"]):
            pass
    assert late.nonzero is original  # type: ignore[attr-defined]
    with Session(frameworks=["torch"]):
        plan = registry._installed["torch"].plan()
    for _ in range(2):
        with Session(frameworks=["torch"]):
            assert registry._installed["torch"].plan() is plan


def test_a_hook_that_outlives_its_trace_calls_straight_through() -> None:
    with Session() as session:
        kept = torch.Tensor.item
    assert kept(tensor()) == 2.0
    assert session.record().total_syncs == 0


def test_a_dataclass_that_prints_a_tensor_is_charged_to_the_print() -> None:
    import dataclasses

    @dataclasses.dataclass
    class Result:
        loss: Any

    (site,) = trace(lambda: repr(Result(tensor()))).sites
    assert site.path == "tests/runtime/test_torch.py"


@pytest.mark.parametrize("read", [False, True], ids=["one graph", "a graph break"])
def test_compiled_code_has_the_same_graphs_as_without_a_trace(read: bool) -> None:
    import torch._dynamo as dynamo

    def forward(x: Any) -> Any:
        y = torch.where(x > 0, x, -x) * 2
        if read:
            y = y + y.sum().item()
        return y[0] + 1

    def graphs() -> tuple[int, int, float]:
        dynamo.reset()
        seen = []

        def backend(module: Any, inputs: Any) -> Any:
            seen.append(module)
            return module.forward

        compiled = torch.compile(forward, backend=backend)
        value = compiled(torch.ones(3))
        explained = dynamo.explain(forward)(torch.ones(3))
        return len(seen), explained.graph_break_count, float(value.detach().numpy())

    bare = graphs()
    with Session():
        assert graphs() == bare
    assert graphs() == bare


def below_python() -> None:
    values = tensor(0, 1, 2)
    torch.ops.aten.nonzero(values)
    torch.combinations(values)
    values[values > 0]
    values[torch.tensor([1])]
    values.sum().item()
    print(values, file=sys.stderr)


def test_full_depth_sees_what_runs_below_python_and_counts_nothing_twice() -> None:
    light, full = counts(trace(below_python)), counts(trace(below_python, depth="full"))
    assert light == {
        "torch.combinations": 2,
        "torch.Tensor.__getitem__.mask": 1,
        "torch.Tensor.item": 1,
        "torch.Tensor.__repr__": 1,
    }
    assert full == {**light, "torch.nonzero": 1}


@pytest.mark.parametrize(
    ("composite", "found"),
    [
        (lambda: torch.ops.aten.linalg_cond(torch.eye(2)), {"torch.linalg.svd": 2}),
        (lambda: torch.ops.aten.linalg_eigh(torch.eye(2)), {"torch.linalg.svd": 1}),
        (lambda: torch.ops.aten.linalg_matrix_power(torch.eye(2), -1), {"torch.linalg.inv": 1}),
        (lambda: torch.ones(3).sum(dim=torch.tensor(0)), {"torch.Tensor.item": 1}),
    ],
)
def test_full_depth_sees_what_composite_operators_wait_for(
    composite: Callable[[], Any], found: dict[str, int]
) -> None:
    if found == {"torch.Tensor.item": 1} and versions.matches(torch.__version__, "<2.11"):
        pytest.skip(f"torch {torch.__version__} reads it where no dispatch mode sees that")
    assert counts(trace(composite)) == {}
    assert counts(trace(composite, depth="full")) == found


def test_an_operator_that_waits_twice_spends_two_of_a_limit() -> None:
    def count() -> None:
        torch.ops.aten.bincount(torch.tensor([0, 1]))

    assert counts(trace(count, depth="full")) == {"torch.bincount": 2}
    with Session(depth="full"):
        with pytest.raises(SyncLimitExceeded), limit_syncs(1):
            count()
        with limit_syncs(2):
            count()


def test_full_depth_sees_its_own_thread_and_light_tracing_all() -> None:
    full = trace(lambda: in_another_thread(below_python), depth="full")
    assert counts(full) == counts(trace(below_python))


def in_another_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_full_depth_leaves_an_optimizers_counters_out() -> None:
    def train() -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()

    assert trace(train, depth="full").total_syncs == 0


def choose(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, torch.zeros_like(x))


def test_scripting_knows_functions_that_are_hooked() -> None:
    with Session():
        scripted = torch.jit.script(choose)
    assert scripted(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
