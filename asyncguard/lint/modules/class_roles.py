"""The role of a class, by its name and its methods: a metric, a criterion, an environment, ..."""

from __future__ import annotations

import re

_CLASS_NAMES = {
    "metric": ("Metric", "Metrics", "Meter"),
    "criterion": ("Loss", "Criterion"),
    "optimizer": ("Optimizer",),
    "converter": ("Converter",),
    "decoder": ("Decoder",),
    "scheduler": ("Scheduler",),
    "agent": ("Agent", "Learner"),
    "experiment": ("Experiment",),
    "policy": ("Policy",),
    "assigner": ("Assigner", "Matcher", "Matching"),
    "sampler": ("Sampler",),
    "search": ("Search", "Beam", "Greedy", "Decoding", "Decode"),
}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
_SUFFIXES = frozenset({"Base", "Computation", "Evaluator", "Function", "LM", "Layer", "Module"})


def kinds_by_name(name: str) -> list[str]:
    """Return what a class is by the last word of its name that tells, or the first."""
    words = _WORDS.findall(name)
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    kinds = [
        kind
        for kind, known in _CLASS_NAMES.items()
        if words and (words[-1] in known or (words[0] in known and kind != "criterion"))
    ]
    return ["criterion", *kinds] if "Loss" in words[1:] else kinds  # `ComputeLossOTA`


# What a class is by its methods: it has one of each group.
_ADDS = "add append push put store insert remember add_experience add_transition store_transition"
_SAMPLES = "sample sample_batch get_batch sample_buffer sample_memory"
_CLASS_METHODS = {
    "buffer": (frozenset(_SAMPLES.split()), frozenset(_ADDS.split())),  # of experience
    "environment": (frozenset({"step", "step_wait"}), frozenset({"reset"})),
}


def kinds_by_methods(methods: frozenset[str]) -> list[str]:
    """Return what a class is by the methods that it defines."""
    return [
        kind
        for kind, groups in _CLASS_METHODS.items()
        if all(not group.isdisjoint(methods) for group in groups)
    ]
