"""Which of several marks ends a step.

A step is one iteration of the loop. Where one optimizer steps, each of its updates ends one. Where
several do (a GAN's two, one for each parameter), one of them sets the pace: the first to step,
until another one steps twice without it in between - because it steps more often, or because the
first one's phase of the training is over. Trainings in several threads are independent: in each of
them one optimizer sets the pace. A step that the user marks settles the matter: from then on
optimizers no longer count.
"""

from __future__ import annotations

import threading
import weakref


class _Lead(threading.local):
    """Who sets the pace in the calling thread."""

    def __init__(self) -> None:
        self.leader: weakref.ref[object] | None = None
        self.others: dict[int, weakref.ref[object]] = {}  # who stepped since the leader did


class Pace:
    """Decides, mark by mark, whether a step has ended. One for each session or limit."""

    def __init__(self) -> None:
        self.explicit = False
        self._lead = _Lead()

    def ends_step(self, source: object | None) -> bool:
        """Whether this mark of `source` (None: the user's own) ends a step."""
        if source is None:
            self.explicit = True
            return True
        if self.explicit:
            return False
        lead = self._lead
        if lead.leader is not None and lead.leader() is source:
            if lead.others:
                lead.others.clear()
            return True
        reference = _reference(source)
        leader = lead.leader and lead.leader()
        if leader is reference() or leader is None or _has_stepped(lead, reference):
            lead.leader = reference
            lead.others.clear()
            return True
        lead.others[id(reference())] = reference
        return False

    @property
    def leader(self) -> weakref.ref[object] | None:
        """Who sets the pace in this thread, beyond doubt: its next mark ends a step."""
        return None if self.explicit or self._lead.others else self._lead.leader


def _has_stepped(lead: _Lead, reference: weakref.ref[object]) -> bool:
    earlier = lead.others.get(id(reference()))
    return earlier is not None and earlier() is reference()


class CompiledSteps:
    """The compiled functions that were seen to hold an update: each call of them ends a step."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[object]] = {}  # by id: some compare by their contents

    def add(self, function: object) -> None:
        """An update was met as `function` was traced."""
        key = id(function)
        self._known[key] = weakref.ref(function, lambda _: self._known.pop(key, None))

    def __contains__(self, function: object) -> bool:
        return id(function) in self._known


compiled_steps = CompiledSteps()


def _reference(source: object) -> weakref.ref[object]:
    try:
        return weakref.ref(source)
    except TypeError:  # it cannot be referred to: its class stands for it
        return weakref.ref(type(source))
