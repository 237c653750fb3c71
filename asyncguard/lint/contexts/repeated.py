"""Why a loop is one over steps or epochs: what the verdict of `LoopRecord.kind` rests on."""

from __future__ import annotations

from asyncguard.lint.domain.loops import LoopRecord
from asyncguard.lint.domain.reasons import MEDIUM, Provenance, Reason
from asyncguard.lint.domain.work import Work
from asyncguard.model import Loop

COUNTER, EPOCH, BATCH = "counter.step", "counter.epoch", "value.batch"


def why_repeated(record: LoopRecord, path: str) -> Reason:
    """Return why a loop is taken for one over steps, or over epochs; `path` is its file."""
    kind, text, family = _over_steps(record) if record.kind == Loop.STEP else _over_epochs(record)
    return Reason(kind, f"the loop {text}", path, record.line, family)


def _over_steps(record: LoopRecord) -> tuple[Provenance, str, str]:
    if record.work & Work.STEPS_ENVIRONMENT:
        return Provenance.TRAINS, "steps an environment", ""
    if record.work & Work.GRADIENTS:
        return Provenance.TRAINS, "runs a training step", ""
    if record.over_steps and record.shape.batches < MEDIUM and record.source is None:
        return Provenance.NAME, "names its variables like batches", BATCH
    if record.over_steps:
        told = f": {record.source.text}" if record.source and record.source.text else ""
        family = record.source.family if record.source else ""
        return Provenance.LOADER, f"goes over batches{told}", family
    if record.work & Work.REPEATS:
        return Provenance.REPEATS, "runs a model on what its round before made", ""
    if record.work & Work.RUNS_MODEL:
        return Provenance.RUNS, "runs a model, or a step", ""
    return Provenance.NAME, "names steps or batches, and does work on the device", COUNTER


def _over_epochs(record: LoopRecord) -> tuple[Provenance, str, str]:
    if record.work & Work.CONTAINS_STEPS or not record.shape.names_epochs:
        return Provenance.TRAINS, "contains a loop over steps", ""
    return Provenance.NAME, "names epochs", EPOCH
