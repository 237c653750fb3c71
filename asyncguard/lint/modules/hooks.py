"""How often a framework enters a function, as far as its name, its class and its body tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from asyncguard.lint.contexts.nesting import is_test
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo
from asyncguard.lint.domain.values import MODEL, SYMBOL
from asyncguard.lint.domain.work import Work
from asyncguard.lint.modules.class_roles import kinds_by_methods, kinds_by_name
from asyncguard.lint.modules.outline import Outline
from asyncguard.lint.modules.scope import Scope
from asyncguard.lint.names import family
from asyncguard.model import Loop

_LOSS = family("function.loss")
_RUNS = family("function.forward_of")
_DATASET = family("class.dataset")
_ONCE = family("function.once")
_ACTS = family("function.steps_environment")  # though it trains, now and then
_STEP = family("function.step")
_OF_ENGINE = family("function.of_engine")
_OF_STEP = family("parameter.of_step")
_SUMS_UP = family("function.sums_up_run")
_SEEN = family("parameter.observation")
_OF_EPISODE = family("function.of_episode")
_ACTING = frozenset({"policy", "agent"})  # kinds of classes
_COUNTS = family("role.counts")  # whose `step` works on numbers of the host
_EXPORTS = family("file.exporter")  # whose models are traced, and run elsewhere


class Hooked(NamedTuple):
    """How often a framework enters a function, and what tells that."""

    often: Loop
    by: str = ""  # the kind of evidence: `listed`, `takes`, `items`, `shaped`


def hook_of(info: FunctionInfo, scope: Scope, outline: Outline) -> Hooked:
    """Return how often a framework enters a function of a file."""
    outlined, taken = info.outlined, info.parameter_names
    if _is_nobodys(info, scope):
        return Hooked(Loop.NONE)
    knowledge = scope.knowledge
    names = _hook_names(info, taken, scope, outline)
    is_cold = _is_listed(knowledge.cold_functions, names, scope)
    if is_cold and info.name not in knowledge.cold_functions:
        return Hooked(Loop.EPOCH)  # of this kind of class, whatever others do
    is_listed = _is_listed(knowledge.hot_functions, names, scope) and _has_framework(info)
    if _OF_ENGINE(info.name) or is_listed:
        return Hooked(Loop.STEP, "listed")
    if knowledge.enters(taken):
        return Hooked(Loop.STEP, "takes")
    if outlined is not None and outlined.uploads and _gives_items(info):
        return Hooked(Loop.STEP, "items")
    if (
        outlined is not None
        and _is_eager(scope)
        and outline.is_step(outlined, of_model=_is_own_loss(info, outline))
    ):
        return Hooked(Loop.STEP, "shaped")
    return Hooked(Loop.EPOCH if is_cold else Loop.NONE)


def entered(info: FunctionInfo, scope: Scope, outline: Outline) -> Loop:
    """Return how often a function is entered: once a step if a training step is its whole body.

    Or a step of an environment, but for what is done between episodes. One that also loops over
    steps is no step for what it calls beside them, a last evaluation say.
    """
    summary = info.summary
    if summary is None or not info.name or _ONCE(info.name):
        return info.hook
    work = summary.work
    whole = info.marks_step or not work & Work.CONTAINS_STEPS
    if work & Work.STEPS_ENVIRONMENT or (work & Work.TRAINS and whole):
        return Loop.STEP
    if work & Work.CONTAINS_TRAINING:
        rounds = info.hook == Loop.STEP and not _ACTS(info.name)
        return Loop.EPOCH if rounds else info.hook
    return Loop.STEP if info.hook == Loop.NONE and _names_step(info, scope, outline) else info.hook


def entered_by(info: FunctionInfo, often: Loop, scope: Scope, outline: Outline) -> str:
    """Return the kind of evidence that a function is entered so often."""
    if often == info.hook:
        return hook_of(info, scope, outline).by or "decorated"
    if tells_by_names(info, often):
        return "named"
    work = info.summary.work if info.summary is not None else Work.NONE
    return "acts" if work & Work.STEPS_ENVIRONMENT and not work & Work.TRAINS else "trains"


def tells_by_names(info: FunctionInfo, often: Loop) -> bool:
    """Whether it is names alone that say of a function that it is entered once a step."""
    work = info.summary.work if info.summary is not None else Work.NONE
    shows = work & (Work.TRAINS | Work.STEPS_ENVIRONMENT)
    return often == Loop.STEP and info.hook == Loop.NONE and not shows


def _names_step(info: FunctionInfo, scope: Scope, outline: Outline) -> bool:
    """Whether a function says by names that it is one step, or part of one, of whatever.

    That tells how often it runs, and not what it is handed, as the hook of a framework does.
    """
    if _is_nobodys(info, scope):
        return False
    if _sees(info, outline):
        return True
    if not _is_eager(scope):
        return False
    if not _STEP(info.name):
        return _takes_part(info)
    return info.cls is None or not any(_COUNTS(cls.name) for cls in info.cls.family())


def _sees(info: FunctionInfo, outline: Outline) -> bool:
    """Whether an agent's or a policy's method is handed what it sees: `policy.greedy(state)`."""
    taken = info.outlined.parameters if info.outlined else ()
    if info.cls is None or not any(map(_SEEN, taken[1:2])) or _OF_EPISODE(info.name):
        return False
    return not _ACTING.isdisjoint(_kinds_of(info.cls, outline))


def _takes_part(info: FunctionInfo) -> bool:
    """Whether a function is handed what a model gives in one step: `sample(logits, top_p)`."""
    taken = info.outlined.parameters if info.outlined else ()
    return any(map(_OF_STEP, taken)) and not _SUMS_UP(info.name)


def _is_own_loss(info: FunctionInfo, outline: Outline) -> bool:
    """Whether this is named like the loss of a model, which may inherit its `forward`."""
    return info.cls is not None and _LOSS(info.name) and MODEL in _kinds_of(info.cls, outline)


def _gives_items(info: FunctionInfo) -> bool:
    """Whether a loader asks this for each item of a data set, in the main process mostly.

    What moves them to a device cannot run in a loader's workers.
    """
    if info.cls is None or info.name != "__getitem__":
        return False
    known = list(info.cls.family())
    bases = (base.name.rpartition(".")[2] for cls in known for base in cls.bases)
    return any(map(_DATASET, (*(cls.name for cls in known), *bases)))


def _is_nobodys(info: FunctionInfo, scope: Scope) -> bool:
    """Whether no framework enters a function, whatever it is called."""
    return is_test(info.name, scope.path) or _EXPORTS(scope.path)


def _has_framework(info: FunctionInfo) -> bool:
    """Whether a framework may enter a function: its file, or what its class inherits, has one.

    A file that names none is analysed for all frameworks, each of which enters other functions.
    """
    if not info.module.is_guest:
        return True
    bases = (base for cls in (info.cls.family() if info.cls else ()) for base in cls.bases)
    return any(base.framework for base in bases)


def _is_listed(table: Mapping[str, frozenset[str]], names: list[str], scope: Scope) -> bool:
    """Whether a framework of the file has one of these names in a table."""
    return any(not table.get(name, frozenset()).isdisjoint(scope.frameworks) for name in names)


def _hook_names(
    info: FunctionInfo, taken: tuple[str, ...], scope: Scope, outline: Outline
) -> list[str]:
    """Return the names that a catalogue may list a hook under: also of a kind of class."""
    names = [info.name]
    if info.cls is not None and info.name in scope.knowledge.kind_hooks:
        names += [f"{kind}.{info.name}" for kind in _kinds_of(info.cls, outline)]
    if info.cls is not None and _RUNS(info.name) and MODEL in _kinds_of(info.cls, outline):
        names.append("forward")
    if info.cls is None and taken[:1] == ("self",) and _RUNS(info.name):
        names.append("forward")  # the method of a class elsewhere, which it replaces
    return names


def _kinds_of(cls: ClassInfo, outline: Outline) -> set[str]:
    """Return what a class is, by what it inherits, by its name and by its methods."""
    family = list(cls.family())
    kinds = {base.kind for known in family for base in known.bases}
    foreign = (base.name for known in family for base in known.bases if base.kind == SYMBOL)
    named = [*(known.name for known in family), *(name.rpartition(".")[2] for name in foreign)]
    kinds.update(kind for name in named for kind in kinds_by_name(name))
    kinds.update(kinds_by_methods(outline.methods.get(cls.name, frozenset())))
    if MODEL in kinds:
        kinds.discard("policy")  # whose own call is traced, or is its `forward`
    return kinds


def _is_eager(scope: Scope) -> bool:
    """Whether the frameworks that a file uses trace no functions."""
    return not any(scope.knowledge.frameworks[f].steps.compiled for f in scope.frameworks)
