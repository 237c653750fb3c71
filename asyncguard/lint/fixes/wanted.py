"""Which findings are worth a change, and so advice and a repair of their own."""

from __future__ import annotations

from asyncguard.model import Confidence, Finding, Loop


def wants_repair(finding: Finding) -> bool:
    """Whether a finding is reported by default, and has no repair yet."""
    return finding.fix is None and is_hot(finding)


def is_hot(finding: Finding) -> bool:
    """Whether a finding is reported by default, as hot and likely."""
    return (
        finding.loop == Loop.STEP and not finding.guarded and finding.confidence != Confidence.LOW
    )
