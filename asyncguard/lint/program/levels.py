"""How often one call enters its callee."""

from __future__ import annotations

from asyncguard.lint.domain.hotness import Hotness
from asyncguard.lint.names import family
from asyncguard.lint.program.facts import Call, NamedCall
from asyncguard.model import Loop

# What a program does now and then, though a function that runs in every step may call it.
_RARE = family("function.rare")
# What saves a model, which no program does in every step.
_CHECKPOINT = family("function.saves")
# What runs many steps of its own: what it does beside them, it does once a run.
_RUNS = family("function.runs_steps")


def _is_within(call: Call | NamedCall) -> bool:
    """Whether a function calls one of its own, which may be a single step by any name."""
    return isinstance(call, Call) and call.callee.startswith(f"{call.caller}.")


def level_of(call: Call | NamedCall, caller: Hotness) -> Hotness:
    """Return how often a call enters its callee, where its caller is entered that often."""
    level = call.context.within(caller).hotness
    if level != Hotness.STEP:
        return level
    called = (call.name if isinstance(call, NamedCall) else call.callee).rpartition(".")[2]
    if _RUNS(called) and not _is_within(call):
        return Hotness.EPOCH
    rarely = _CHECKPOINT if call.context.loop is Loop.STEP else _RARE
    return Hotness.RARE if rarely(called) else level
