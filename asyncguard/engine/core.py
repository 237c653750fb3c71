"""The words of the engine: variables, operations, failures, and what every engine can do.

Stands above `hooks.py` and below the engines. An `Operation` names the variables that it reads and
those that it writes; an `Engine` runs operations so that each variable sees its reads and writes
in the order in which they were pushed, and everything else in any order. That is the dependency
engine of MXNet (https://mxnet.apache.org/versions/1.9.1/api/architecture/note_engine), whose
names are kept: `push`, `new_variable`, `delete_variable`, `wait_for_var`, `wait_for_all`.

**Errors travel.** An operation that raises poisons the variables that it writes. An operation that
reads a poisoned variable does not run and poisons its own. Every wait on a poisoned variable raises
the original exception, with its traceback and a note that names the line which enqueued the
operation; a variable is healed by an operation that writes it without reading it. `wait_for_all`
raises each failure once, and none that a wait has raised already; where several are outstanding
it raises the oldest, and the next call the next.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, NamedTuple

__all__ = ["Call", "Engine", "EngineError", "Failure", "Operation", "Site", "Variable"]

OWN_FILES = frozenset(str(file) for file in Path(__file__).parent.glob("*.py"))


class EngineError(RuntimeError):
    """The engine cannot do what was asked: closed, deleted variable, circular wait, fork."""


class Site(NamedTuple):
    """The place in the source that enqueued an operation."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}, in {self.function}"


class Variable:
    """What operations depend on. `version` counts the writes that were carried out."""

    __slots__ = ("__weakref__", "deleted", "failure", "last_write", "version")

    def __init__(self) -> None:
        self.version = 0
        self.failure: Failure | None = None
        self.last_write: Operation | None = None
        self.deleted = False


class Operation:
    """A piece of work with its read and write sets. Subclasses say what to do in `run`.

    `run` is called once, by any thread. The exception is an operation that is `repeatable`: it does
    no more than set a fresh result, so that an interrupted run can be run again. One that
    is `brief` ends within microseconds and never calls the engine: whoever finds it ready
    runs it at once, for handing it over would cost more than the work.
    """

    __slots__ = (
        "brief",
        "done",
        "failure",
        "followers",
        "instruction",
        "nbytes",
        "origin",
        "reads",
        "serial",
        "unmet",
        "writes",
    )
    repeatable: ClassVar[bool] = False
    changes: ClassVar[bool] = True  # False: it is ordered as a write, but writes nothing
    depth: ClassVar[int] = 1  # how many callers of `__init__` are of this package, at least
    name: str = "operation"
    priority: int = 0

    # Set on the way, not at birth: `serial` by hooks, `unmet` and `followers` in flight.
    serial: int
    unmet: int
    followers: list[Operation]

    def __init__(
        self, reads: tuple[Variable, ...], writes: tuple[Variable, ...], nbytes: int, brief: bool
    ) -> None:
        self.reads = reads
        self.writes = writes
        self.nbytes = nbytes
        self.brief = brief
        self.done = False
        self.failure: Failure | None = None
        # The frame itself would keep the caller's locals alive; this pair is enough for the line.
        try:
            frame = sys._getframe(self.depth)
        except ValueError:  # a thread started right here
            frame = sys._getframe(0)
        while frame.f_code.co_filename in OWN_FILES and frame.f_back is not None:
            frame = frame.f_back
        self.origin: CodeType = frame.f_code
        self.instruction: int = frame.f_lasti

    def run(self) -> object:
        """Do the work. Raising poisons `writes`."""
        raise NotImplementedError

    def sign(self) -> None:
        """Become the last write of what this writes, if it is not done and released already."""
        for variable in self.writes:
            variable.last_write = self

    def release(self) -> None:
        """Let go of everything that the work needed; called once, when it is done."""
        self.reads = self.writes = ()

    @property
    def site(self) -> Site:
        """The line that enqueued this operation, outside this package."""
        code, line = self.origin, self.origin.co_firstlineno
        for start, end, number in code.co_lines():
            if start <= self.instruction < end and number is not None:
                line = number
        return Site(code.co_filename, line, code.co_name)


class Call(Operation):
    """The general operation: call a function of no arguments."""

    __slots__ = ("function", "name", "priority")

    def __init__(
        self,
        function: Callable[[], object],
        reads: Iterable[Variable] = (),
        writes: Iterable[Variable] = (),
        priority: int = 0,
        name: str | None = None,
        nbytes: int = 0,
    ) -> None:
        super().__init__(tuple(reads), tuple(writes), nbytes, brief=False)
        self.function: Callable[[], object] | None = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.priority = priority

    def run(self) -> object:
        assert self.function is not None, "an operation runs once"
        return self.function()

    def release(self) -> None:
        super().release()
        self.function = None


class Failure:
    """One exception that one operation raised, shared by every variable that it poisoned."""

    __slots__ = ("error", "raised", "traceback")

    def __init__(self, error: BaseException, operation: Operation) -> None:
        self.error = error
        self.traceback = error.__traceback__
        self.raised = False
        _annotate(error, f"raised by operation {operation.name!r}, enqueued at {operation.site}")

    def throw(self) -> None:
        """Raise the original exception, with the traceback that it had in the worker."""
        self.raised = True
        raise self.error.with_traceback(self.traceback)


def _annotate(error: BaseException, note: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(note)
    elif error.__cause__ is None:  # Python 3.10 prints no notes, but it prints causes
        error.__cause__ = EngineError(note)


class Engine(ABC):
    """What the threaded and the naive engine have in common, and what users of either call."""

    def push(
        self,
        function: Callable[[], object],
        reads: Iterable[Variable] = (),
        writes: Iterable[Variable] = (),
        *,
        priority: int = 0,
        name: str | None = None,
        nbytes: int = 0,
    ) -> None:
        """Enqueue `function()`, which reads the data behind `reads` and changes that of `writes`.

        A variable may be in both sets: an update in place. Of two operations that are ready, the
        one with the greater `priority` starts first. `nbytes` is what the result will occupy; it
        counts as pending until the operation is done. Raises EngineError on a deleted variable or
        a closed engine, ValueError where `nbytes` alone is over the limit of the queue.
        """
        operation = Call(function, reads, writes, priority, name, nbytes)
        check_usable(operation)
        self.submit(operation)

    def new_variable(self) -> Variable:
        """Return a variable that nothing depends on yet, at version 0."""
        return Variable()

    def delete_variable(
        self, variable: Variable, release: Callable[[], object] | None = None
    ) -> None:
        """Delete `variable` and call `release()` once all operations pushed on it are done.

        Raises EngineError where it is deleted already; so does any later push that names it.
        """
        self.push(release or _nothing, writes=(variable,), name="delete_variable")
        variable.deleted = True

    @abstractmethod
    def submit(self, operation: Operation) -> None:
        """Enqueue `operation`; see `push` for what is raised."""

    @abstractmethod
    def wait_for_var(self, variable: Variable) -> None:
        """Block until the writes of `variable` that were pushed so far are done.

        Raises what an operation raised where the variable is poisoned.
        """

    @abstractmethod
    def wait_to_write(self, variable: Variable) -> None:
        """Block until the reads and writes of `variable` that were pushed so far are done."""

    @abstractmethod
    def wait_for_all(self) -> None:
        """Block until nothing is pending. Raises the oldest failure that no wait has raised yet."""

    @abstractmethod
    def close(self) -> None:
        """Run what is pending, then end the worker threads. A closed engine takes no operations."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Operations pushed and not yet done."""

    @property
    @abstractmethod
    def pending_bytes(self) -> int:
        """Bytes that the results of the pending operations will occupy."""

    @property
    @abstractmethod
    def peak_depth(self) -> int:
        """The greatest `depth` since the start or `reset_peaks`."""

    @property
    @abstractmethod
    def peak_pending_bytes(self) -> int:
        """The greatest `pending_bytes` since the start or `reset_peaks`."""

    @abstractmethod
    def reset_peaks(self) -> None:
        """Let both peaks start again from the present values."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def carry_out(operation: Operation) -> Failure | None:
    """Run `operation`, or poison its writes where it reads a poisoned variable.

    Returns the failure that is new with this operation. Saying that it is done is the engine's
    affair, once it has counted and reported it: who waits for it may look at either.
    """
    for variable in operation.reads:
        if variable.failure is not None:
            record(operation, variable.failure)
            return None
    try:
        operation.run()
    except BaseException as error:  # noqa: BLE001 - it travels to the next wait
        failure = Failure(error, operation)
        record(operation, failure)
        return failure
    if operation.changes:  # `record` in place: this is the way of nearly every operation
        for variable in operation.writes:
            variable.failure = None
            variable.version += 1
    return None


def inherited_failure(reads: Sequence[Variable]) -> Failure | None:
    """Return the failure that poisons one of `reads`."""
    for variable in reads:
        if variable.failure is not None:
            return variable.failure
    return None


def record(operation: Operation, failure: Failure | None) -> None:
    """Record the outcome in the operation and in the variables that it writes."""
    if operation.changes:
        for variable in operation.writes:
            variable.failure = failure
            variable.version += 1
    operation.failure = failure


def _nothing() -> None:
    """Release nothing: the data goes with the last reference to it."""


def check_usable(operation: Operation) -> None:
    """Raise EngineError where `operation` names a deleted variable."""
    for variable in (*operation.reads, *operation.writes):
        if variable.deleted:
            raise EngineError(f"operation {operation.name!r} names a deleted variable")
