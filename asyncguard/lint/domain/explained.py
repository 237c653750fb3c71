"""Reasons in words, as findings show them."""

from __future__ import annotations

from asyncguard.lint.domain.reasons import Doubt, Provenance, Reason
from asyncguard.model import FindingReason

PLACE, VALUE, DOUBT = "place", "value", "doubt"
# What is said of a provenance that came without words.
_BY_ITSELF = {
    Provenance.CATALOGUE: "it comes from an operation that returns device values",
    Provenance.HOOK: "the framework passes it",
    Provenance.TRAINS: "the code uses it as a model's output",
    Provenance.REPEATS: "the code runs a model on what it made before",
    Provenance.RUNS: "the code runs a model",
    Provenance.CALL: "a caller passes it",
    Provenance.LOADER: "a loader yields it",
    Provenance.ANNOTATION: "its annotation says so",
    Provenance.DOCSTRING: "the docstring says so",
    Provenance.TYPE_TEST: "the code tests its type",
    Provenance.USAGE: "the code uses it as a device value",
    Provenance.ATTRIBUTE: "an attribute says so",
    Provenance.MOVED: "it is moved to a device",
    Provenance.OPAQUE: "a call that could not be resolved makes it from device values",
    Provenance.HOT_NAME: "its name says so, in code that trains",
    Provenance.NAME: "its name says so",
    Provenance.ARGUMENT: "it is an argument of a function that the framework enters",
    Provenance.GUESS: "such values mostly are",
}
DOUBTS = {
    Doubt.ANOTHER_PATH: "it is something else on another path",
    Doubt.HOST_PATH: "it is a plain object on another path",
    Doubt.INFERRED: "it is inferred from a value that is less certain",
    Doubt.MAY_HOLD: "it may be a dict or a tuple of arrays, or `None`",
    Doubt.MAY_BE_HOST: "values on the host are more often used this way",
    Doubt.SWITCHED: "an option decides whether it does anything",
}


def said(about: str, reason: Reason) -> FindingReason:
    """Return a reason as a finding shows it."""
    text = reason.text or _BY_ITSELF[reason.kind]
    kind = reason.kind.name.lower()
    return FindingReason(about, text, reason.path, reason.line, reason.family, kind)
