"""Reasons in words, as findings show them."""

from __future__ import annotations

from asyncguard.lint.domain.reasons import Doubt, Provenance, Reason
from asyncguard.model import FindingReason

PLACE, VALUE, DOUBT = "place", "value", "doubt"
# What is said of a provenance that came without words.
_BY_ITSELF = {
    Provenance.CATALOGUE: "the catalogue says that what makes it returns device values",
    Provenance.HOOK: "the framework passes it",
    Provenance.TRAINS: "the code computes with it as with a model's output",
    Provenance.CALL: "a caller passes it",
    Provenance.LOADER: "a loader yields it",
    Provenance.ANNOTATION: "its annotation says so",
    Provenance.DOCSTRING: "the docstring says so",
    Provenance.TYPE_TEST: "the code tests for its type",
    Provenance.USAGE: "it is used like one",
    Provenance.ATTRIBUTE: "an attribute tells",
    Provenance.MOVED: "it is moved to a device",
    Provenance.OPAQUE: "an unresolved call makes it from device values",
    Provenance.HOT_NAME: "its name says so, in code that trains",
    Provenance.NAME: "its name says so",
    Provenance.ARGUMENT: "it is an argument of a function that the framework enters",
    Provenance.GUESS: "it mostly is",
}
DOUBTS = {
    Doubt.ANOTHER_PATH: "another path makes it something else",
    Doubt.HOST_PATH: "another path makes it a plain object",
    Doubt.INFERRED: "it is inferred from something less sure",
    Doubt.MAY_HOLD: "it may be a dict or a tuple of arrays, or none",
    Doubt.MAY_BE_HOST: "values of the host are used so more often",
}


def said(about: str, reason: Reason) -> FindingReason:
    """Return a reason as a finding shows it."""
    text = reason.text or _BY_ITSELF[reason.kind]
    kind = reason.kind.name.lower()
    return FindingReason(about, text, reason.path, reason.line, reason.family, kind)
