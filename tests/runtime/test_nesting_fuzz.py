"""Traces, limits, simulation, threads, forks and exceptions, nested at random.

Whatever the nesting, and however it is left: nothing stays hooked, and the program prints what it
prints without any of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asyncguard
from asyncguard.engine import np
from asyncguard.model import AsyncguardError
from asyncguard.runtime import limits
from asyncguard.runtime.hub import hub
from asyncguard.runtime.registry import registry
from asyncguard.runtime.session import step
from asyncguard.runtime.simulated import present
from tests.frameworks import require

torch = require("torch")


class Planned(Exception):
    """An exception of the program's own."""


@dataclass(frozen=True)
class Node:
    """One statement: what it does, and the block below it."""

    kind: str
    body: tuple[Node, ...] = ()
    number: int = 0


# Blocks of asyncguard's; without asyncguard they are nothing.
WATCHED = (
    "trace", "deep trace", "timeline", "engine alone", "schedule", "stopped twice", "warn",
    "warn a step", "wide limit", "allow", "simulated",
)  # fmt: skip
BLOCKS = (*WATCHED, "thread", "fork", "catch", "function", "generator", "finally")
LEAVES = ("torch", "engine", "step", "raise", "print")


def nodes() -> st.SearchStrategy[Node]:
    number = st.integers(0, 5)
    leaf = st.builds(Node, st.sampled_from(LEAVES), st.just(()), number)
    return st.recursive(
        leaf,
        lambda inner: st.builds(
            Node, st.sampled_from(BLOCKS), st.lists(inner, max_size=3).map(tuple), number
        ),
        max_leaves=8,
    )


@dataclass
class Run:
    """Executes a program, with asyncguard or without."""

    watched: bool
    printed: list[str] = field(default_factory=list)
    device: str = "cpu"
    forked: bool = False

    def block(self, body: tuple[Node, ...]) -> None:
        for node in body:
            self.do(node)

    def do(self, node: Node) -> None:
        if node.kind in WATCHED:
            self.within(node)
        else:
            getattr(self, f"do_{node.kind}")(node)

    def within(self, node: Node) -> None:
        if not self.watched:
            return self.block(node.body)
        if node.kind == "simulated":
            return self.simulated(node)
        with self.made(node.kind, node.number):
            self.block(node.body)
        return None

    def made(self, kind: str, number: int) -> AbstractContextManager[Any]:
        trace, limit = asyncguard.trace, asyncguard.limit_syncs
        return {
            "trace": lambda: trace(warmup=number),
            "deep trace": lambda: trace(depth="full"),
            "timeline": lambda: trace(timeline=10 * number),
            "engine alone": lambda: trace(frameworks=["engine"]),
            "schedule": lambda: trace(schedule=asyncguard.Schedule(wait=number, active=1)),
            "stopped twice": lambda: Stopped(trace()),
            "warn": lambda: limit(0, on="warn"),
            "warn a step": lambda: limit(number, per="step", on="warn"),
            "wide limit": lambda: limit(10_000),
            "allow": lambda: asyncguard.allow_syncs("fuzz"),
        }[kind]()

    def simulated(self, node: Node) -> None:
        """On the simulated device; where it cannot be entered, as within a trace, without."""
        entered: AbstractContextManager[Any] = asyncguard.simulate_cuda()
        try:
            entered.__enter__()
        except AsyncguardError:
            entered = nullcontext()
        else:
            self.device = "cuda"
        try:
            self.block(node.body)
        except BaseException:
            self.device = self.leave(entered, *sys.exc_info())
            raise
        self.device = self.leave(entered, None, None, None)

    def leave(self, entered: AbstractContextManager[Any], *error: Any) -> str:
        entered.__exit__(*error)
        return "cpu" if present.model is None else "cuda"

    def do_torch(self, node: Node) -> None:
        value = torch.full((2,), float(node.number), device=self.device)
        self.printed.append(f"{value.sum().item()} {value.tolist()} {bool(value.any())}")

    def do_engine(self, node: Node) -> None:
        if not self.forked:  # its threads are the parent's
            self.printed.append(f"{float(np.ones(node.number + 1).sum())}")

    def do_step(self, node: Node) -> None:
        step()

    def do_print(self, node: Node) -> None:
        self.printed.append(f"print {node.number}")

    def do_raise(self, node: Node) -> None:
        raise Planned(node.number)

    def do_catch(self, node: Node) -> None:
        try:
            self.block(node.body)
        except Planned as error:
            self.printed.append(f"caught {error}")

    def do_finally(self, node: Node) -> None:
        try:
            self.block(node.body)
        finally:
            self.printed.append("finally")

    def do_function(self, node: Node) -> None:
        def function() -> None:
            self.block(node.body)

        (asyncguard.limit_syncs(10_000)(function) if self.watched else function)()

    def do_generator(self, node: Node) -> None:
        def generator() -> Any:
            for each in node.body:
                self.do(each)
                yield each.kind

        made = asyncguard.allow_syncs("fuzz")(generator) if self.watched else generator
        for at, kind in enumerate(made()):
            self.printed.append(kind)
            if at == node.number:
                break

    def do_thread(self, node: Node) -> None:
        def target() -> None:
            try:
                self.block(node.body)
            except Planned as error:
                self.printed.append(f"in a thread {error}")

        thread = threading.Thread(target=target)
        thread.start()
        thread.join()

    def do_fork(self, node: Node) -> None:
        """A child process: it hands what it printed through a pipe."""
        if self.forked or threading.current_thread() is not threading.main_thread():
            return
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            self.in_child(node, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            self.printed.append(pipe.read())
        _, status = os.waitpid(child, 0)
        self.printed.append(f"child {status}")

    def in_child(self, node: Node, writer: int) -> None:
        inner = Run(self.watched, device=self.device, forked=True)
        status = 0
        try:
            inner.block(node.body)
        except Planned:
            status = 3
        except BaseException as error:  # noqa: BLE001  the parent compares it
            inner.printed.append(repr(error))
            status = 4
        finally:
            os.write(writer, "\n".join(inner.printed).encode())
            os._exit(status)


class Stopped:
    """A trace that is started and stopped by calls, more often than once."""

    def __init__(self, trace: asyncguard.Trace) -> None:
        self.trace = trace

    def __enter__(self) -> None:
        self.trace.start()

    def __exit__(self, *error: object) -> None:
        self.trace.stop().stop()


def outcome(program: tuple[Node, ...], watched: bool) -> tuple[list[str], str]:
    run = Run(watched)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run.block(program)
        except Planned as error:
            return run.printed, repr(error)
    return run.printed, ""


def left() -> dict[str, Any]:
    """What could stay behind."""
    hooked = (torch.Tensor, torch._C.TensorBase, torch, torch.cuda, torch.optim.Optimizer, warnings)
    return {
        "sinks": hub._sinks,
        "marked": hub.marked,
        "scope": hub.scope,
        "wants": list(registry._wants),
        "limits": limits._Scope._active,
        "scopes": limits._scopes.get(),
        "model": present.model,
        "attributes": [dict(vars(owner)) for owner in hooked],
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "handlers": [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)],
        "tracer": (sys.gettrace(), sys.getprofile()),
        "finders": list(sys.meta_path),
        # The engine's workers stay: they are the process's.
        "threads": {t.name for t in threading.enumerate() if "-worker-" not in t.name},
    }


@pytest.fixture(scope="module", autouse=True)
def warmed_up() -> None:
    """What is imported, planned and started once for all is there before the programs run."""
    outcome(tuple(Node(kind, (Node("torch", (), 1), Node("engine"))) for kind in WATCHED), True)


@settings(max_examples=200)
@given(program=st.lists(nodes(), max_size=4).map(tuple))
def test_whatever_is_nested_leaves_nothing_and_changes_nothing(program: tuple[Node, ...]) -> None:
    before = left()
    assert outcome(program, watched=True) == outcome(program, watched=False)
    now = left()
    for name, was in before.items():
        assert now[name] == was, name
