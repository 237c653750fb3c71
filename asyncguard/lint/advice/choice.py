"""Findings with the advice of the first pattern that fits the code around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from asyncguard.lint.advice import (
    company,
    hosted,
    selections,
    steering,
    uploads,
    where_from,
    where_to,
)
from asyncguard.lint.advice.company import better, others
from asyncguard.lint.advice.options import options
from asyncguard.lint.advice.patterns import Pattern, patterns
from asyncguard.lint.advice.scene import Company, Scene, table
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Spot, spot_of
from asyncguard.lint.fixes.wanted import is_hot
from asyncguard.lint.labels import IN_EVERY_STEP, Label, labels, lines_as_text
from asyncguard.model import Finding

NEGATION = "not "
PREDICATES = table(company, hosted, selections, steering, uploads, where_from, where_to)


def advised(code: Code, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings of a file, each hot one with the advice that fits its code."""
    hot = [finding for finding in findings if is_hot(finding)]
    spots = {f: spot for f in hot if (spot := spot_of(code, f)) is not None}
    near = Company([*spots.values()])
    return tuple(
        _conditional(_advised(f, Scene(spots[f], near)), spots[f]) if f in spots else f
        for f in findings
    )


def chosen(scene: Scene) -> Pattern | None:
    """Return the first pattern that fits; None where the advice of the rule has to do."""
    finding = scene.spot.finding
    known: dict[str, bool] = {}
    for pattern in patterns():
        is_about = pattern.speaks_of(finding.code, finding.api, finding.framework)
        if (
            is_about
            and pattern.is_for(scene.spot.code)
            and all(holds(name, scene, known) for name in pattern.when)
        ):
            return pattern
    return None


def holds(name: str, scene: Scene, known: dict[str, bool]) -> bool:
    """Whether a condition of a pattern holds; `known` are the answers of predicates so far."""
    asked = name.removeprefix(NEGATION)
    if asked not in known:
        known[asked] = PREDICATES[asked](scene)
    return known[asked] != name.startswith(NEGATION)


def _advised(finding: Finding, scene: Scene) -> Finding:
    label = _labels()[finding.code]
    if label.remedy not in finding.message:
        return finding  # the rule has said something special
    pattern = chosen(scene)
    if pattern is None:
        return finding
    texts = {"others": "", "better": ""}
    if "{others}" in pattern.text:
        texts["others"] = lines_as_text(others(scene))
    if "{better}" in pattern.text and (found := better(scene)) is not None:
        texts["better"] = sentence(found.message)
    message = finding.message.replace(label.remedy, _filled(pattern.remedy, texts), 1)
    if pattern.fact:
        message = message.replace(_fact(label), pattern.fact, 1)
    return replace(finding, message=message, advice=_filled(pattern.help, texts))


def _conditional(finding: Finding, spot: Spot) -> Finding:
    """Say what must be given or turned on for the finding to happen."""
    names = [f"`{name}`" for name in options(spot)]
    if not names:
        return finding
    often = f"{IN_EVERY_STEP} with {' and '.join(names)}"
    return replace(finding, message=finding.message.replace(IN_EVERY_STEP, often, 1))


def _filled(text: str, texts: dict[str, str]) -> str:
    for name, filling in texts.items():
        text = text.replace(f"{{{name}}}", filling)
    return text


def _fact(label: Label) -> str:
    """Return what a rule says between the site and how often it waits."""
    return label.message.removeprefix("`{site}` ").removesuffix(" {when}")


@lru_cache(maxsize=1)
def _labels() -> dict[str, Label]:
    return {label.code: label for label in labels()}


def sentence(text: str) -> str:
    """Return a clause as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."
