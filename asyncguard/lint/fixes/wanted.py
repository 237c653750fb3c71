"""Which findings are worth a change."""

from __future__ import annotations

from asyncguard.model import Confidence, Finding, Loop


def wants_repair(finding: Finding) -> bool:
    """Whether a finding is reported by default, as hot and likely, and has no repair yet."""
    return (
        finding.fix is None
        and finding.loop == Loop.STEP
        and not finding.guarded
        and finding.confidence != Confidence.LOW
    )
