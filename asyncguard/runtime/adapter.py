"""What asyncguard must know about one framework in order to hook it.

An adapter is one module of `runtime/adapters/` (or of a package that registers it under the entry
point group `asyncguard.adapters`, named after the framework's top-level module). It defines a
class `Adapter` that derives from this one. Which attributes are hooked, and when they block, it
reads from the catalogue; an adapter only says whose values are device values, and adds what no
table can express.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from asyncguard.catalogue import Framework, SyncPoint
from asyncguard.model import STAND_IN
from asyncguard.runtime.copies import Copies, Memory
from asyncguard.runtime.races import Races, Tell
from asyncguard.runtime.sites import Blocker
from asyncguard.runtime.transit import Copier

HOST = "cpu"  # itself, not in a device's stead

Clock = Callable[[], int]
Undo = Callable[[], None]
Judge = Callable[[Any], "Blocker | None"]


class Adapter:
    """One framework. Made when the framework is imported and somebody listens."""

    patches = True  # whether the catalogue's attributes are replaced; else `install` does it all

    # Modules whose import, now or later, `loaded` wants to be told of.
    watched: frozenset[str] = frozenset()

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self.copies = Copies(self.memory_of)

    @classmethod
    def description(cls) -> Framework | None:
        """The catalogue entries that the adapter brings itself; None: they ship in `rules/`."""
        return None

    @classmethod
    def copier(cls) -> Copier | None:
        """What copies the framework's arrays for `asyncguard.later`; None: it takes none of them.

        Asked for once, whether anybody listens or not.
        """
        return None

    def device_of(self, value: Any) -> str | None:
        """The device that owns `value` ("cuda:0"), STAND_IN, or None where it is no device value.

        Called for each wait: it has to be cheap, and must never wait itself.
        """
        raise NotImplementedError

    def device_of_call(self, api: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The device that a call waits for where no single value tells; None: it waits for none.

        `api` is the id of the catalogue's entry, whose conditions this takes the place of.
        """
        raise NotImplementedError

    def times_of(
        self, point: SyncPoint, path: str
    ) -> Callable[[tuple[Any, ...], dict[str, Any]], int] | None:
        """How often a call by one of an entry's paths waits, by its arguments; None: always once.

        0: it does not wait.
        """
        times = point.times_by(path)
        return (lambda args, kwargs: times) if times > 1 else None

    def is_device_set(self) -> bool:
        """Whether values are made on another device than usual where the call names none."""
        return False

    def held(
        self, moves: str, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        """Why a copy that is told not to block holds the host all the same; None: it does not.

        moves: "upload" or "download"; path: by which it is called.
        """
        return None

    # Types of what calls are given beside values and numbers: it is none and holds none.
    plain: frozenset[type] = frozenset()

    def blocker(
        self,
        point: SyncPoint,
        device: str,
        users_only: bool = False,
        times: Callable[[tuple[Any, ...], dict[str, Any]], int] | None = None,
        why: str | None = None,
    ) -> Blocker:
        """One API of this framework on one device; `users_only`: its own calls never count.

        `times`: how often a call waits, where that is not once. `why`: see `held`.
        """
        internals = self.framework.blocking_internals
        stand_in = device == STAND_IN
        synchronous_cpu = not self.framework.asynchronous_cpu
        # Reads that the framework makes itself wait wherever an accelerator has to be waited for.
        inside_counts = internals is None or (synchronous_cpu and not stand_in)
        return Blocker(
            point,
            device,
            stand_in=stand_in,
            users_only=users_only or not inside_counts,
            on_accelerator=synchronous_cpu and not stand_in and device != HOST,
            internals=internals or (),
            loads_data=self.loads_data if stand_in else None,
            times=times,
            why=why,
        )

    def quick_judge(self, known: Mapping[str, Blocker]) -> Judge:
        """What a read of a plain value waits for; `known` gives that by device.

        The commonest judgement: it runs for every read, in as few steps as can be. None sends the
        call the long way: where `known` has nothing yet, or the value takes calls over.
        """
        device_of = self.device_of

        def judge(value: Any) -> Blocker | None:
            return known.get(device_of(value))  # type: ignore[arg-type]  # None is no device

        return judge

    def has_one_device(self) -> bool:
        """Whether all values of a plain type are, and will be, on the same device.

        Asked only where there is such a value, so that whatever makes them has started.
        """
        return False

    def memory_of(self, value: Any) -> Memory | None:
        """The memory of a device value, where CPU values stand in for such; else None."""
        return None

    def loads_data(self, frame: FrameType) -> bool:
        """Whether `frame` is a data set's, a collate function's or a transform's own.

        What runs in them works on the host, also where the CPU stands in for a device.
        """
        return False

    def peak_pending_bytes(self) -> int | None:
        """The most memory that enqueued work held since the hooks are in place, where known."""
        return None

    def default_device(self) -> str:
        """The device that a barrier waits for."""
        return ""

    def accelerator_in_use(self) -> bool:
        """Whether the program uses an accelerator, so that CPU values do not stand in for it.

        What a wait itself shows need not be told.
        """
        return False

    def index_operators(self, args: tuple[Any, ...]) -> Counter[str]:
        """The catalogue's operators that `args`, of `__getitem__` or `__setitem__`, amount to.

        Each with how many parts of the index are of it.
        """
        return Counter()

    def destination_of(
        self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> str | None:
        """The device on which a call by this path leaves its result, as its arguments tell.

        None: they do not tell, and the call is judged by its result.
        """
        return None

    def is_empty(self, value: Any) -> bool:
        """Whether a value holds nothing, so that nobody waits for a copy of it."""
        return False

    def step_of(self, owner: object) -> object | None:
        """Whose step has ended, by a call on `owner` of what the catalogue says ends one.

        None: the user has marked it.
        """
        return owner

    def is_tracing(self) -> bool:
        """Whether a compiler only traces what this thread calls, to run it later on its own."""
        return False

    def install(self, clock: Clock) -> Undo | None:
        """Hook what is no attribute (callbacks); return what takes it away again.

        `clock` is the clock, in ns, of the session or limit that came first.
        """
        return None

    def deepen(self) -> Undo | None:
        """See also what happens below Python, in the calling thread, until undone there.

        None where the framework has no such means.
        """
        return None

    def watch_races(self, tell: Tell) -> tuple[Races, Undo] | None:
        """Watch host memory that copies in flight use, until undone in the calling thread.

        tell: what is done with a race. None where the framework has no such copies.
        """
        return None

    def loaded(self, module: str) -> None:
        """One of `watched` has been imported; told each time that hooks are put in place."""

    def device_names(self) -> tuple[str, ...]:
        """The models of the accelerators that the program uses, such as "NVIDIA H200"."""
        return ()

    def version(self) -> str:
        """The framework's version."""
        return str(getattr(sys.modules.get(self.framework.modules[0]), "__version__", ""))
