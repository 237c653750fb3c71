"""What usage and names suggest of a path whose value is not known otherwise."""

from __future__ import annotations

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.reasons import Provenance
from asyncguard.lint.domain.values import (
    DEVICE,
    HOST_ARRAY,
    MODEL,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
)
from asyncguard.lint.names import family, is_listed

# What holds options or numbers of the past, whose names say nothing of values: `config.use_loss`.
_OPTIONS = family("value.options")

# What does something with a model: `build_model`, `save_net`.
_DOES = family("function.does")
_MODELS = family("value.models")
_ON_DEVICE = family("value.device")
_PART = family("value.part_of_model")
_WORDS = {DEVICE: "a value on the device", HOST_ARRAY: "an array", MODEL: "a model"}


def _in_words(kind: str) -> str:
    """Return what a kind of values is called in a sentence."""
    return _WORDS.get(kind) or f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def prior_for(frame: Frame, path: str, *, named: bool = True) -> Value:
    """Return what usage and, if `named`, names say about a path of unknown value."""
    found = _usage(frame, path)
    if found and not (found[0] == DEVICE and is_called(frame, path)):
        text = f"the methods called on `{path}` are those of {_in_words(found[0])}"
        why = frame.reason(Provenance.USAGE, text)
        role = Role.UNPLACED if found[0] == DEVICE else Role.NONE
        return Value(found[0], found[1], why, role)
    return _told_by_name(frame, path) if named else UNKNOWN_VALUE


def _told_by_name(frame: Frame, path: str) -> Value:
    """Return what a path holds by its name."""
    owner, _, last = path.rpartition(".")
    if owner and _OPTIONS(owner):
        return UNKNOWN_VALUE
    if _ON_DEVICE(last) and frame.analysis.frameworks:
        if is_listed("value.device", last):
            text = f"`{path}` is on the device, by `device-names`"
            why = frame.reason(Provenance.CATALOGUE, text, "value.device")
            return Value(DEVICE, frame.analysis.frameworks[0], why)
        text = f"`{path}` is named like a value on the device"
        why = frame.by_name(text, "value.device")
        return Value(DEVICE, frame.analysis.frameworks[0], why, Role.NAME_INFERRED)
    if found := frame.analysis.knowledge.by_name(last, frame.analysis.with_numpy):
        if found[0] == MODEL and _DOES(last):
            return UNKNOWN_VALUE
        kind, framework = found
        text = f"`{path}` is named like {_in_words(kind)}"
        told = frame.analysis.named(*found, frame.by_name(text, f"{framework}.names.{kind}"))
        return told._replace(role=Role.NAME_INFERRED) if told.kind == DEVICE else told
    return _made_of_models(frame, path, last)


def _made_of_models(frame: Frame, path: str, last: str) -> Value:
    """Return what is named like a part of a model, and called as one, or like several models."""
    if _PART(last) and is_called(frame, path):
        says = f"`{path}` is called, and named like a part of a model"
        return _model_named(frame, says, "value.part_of_model")
    return _several(frame, path) if _MODELS(last) else UNKNOWN_VALUE


def _several(frame: Frame, path: str) -> Value:
    """Return what is named like several models: each element is one."""
    says = f"`{path}` is named like several models"
    one = _model_named(frame, says, "value.models")
    return container(one) if one.kind == MODEL else UNKNOWN_VALUE


def _model_named(frame: Frame, says: str, which: str) -> Value:
    """Return what is a model by a name of a family, if the framework has models."""
    one = frame.analysis.knowledge.by_name("model", frame.analysis.frameworks)
    return UNKNOWN_VALUE if one is None else Value(*one, frame.by_name(says, which))


def _usage(frame: Frame, path: str) -> tuple[str, str] | None:
    """Return the kind and framework that the methods called on a path tell."""
    around: Frame | None = frame
    while around is not None:
        if around.function.hints and path in around.function.hints:
            return around.function.hints[path]
        around = around.parent
    if path.startswith("self.") and frame.function.cls is not None:
        for cls in frame.function.cls.family():
            if path in cls.hints:
                return cls.hints[path]
    return None


def is_called(frame: Frame, path: str) -> bool:
    """Whether the function, or another of its class, calls what a path holds: that is no array."""
    cls = frame.function.cls
    if cls is not None and path.startswith("self."):
        return any(path in known.called for known in cls.family())
    return frame.function.calls(path)
