"""Which findings are worth a change, and so advice and a repair of their own."""

from __future__ import annotations

from asyncguard.lint.labels import IN_GRAPHS
from asyncguard.model import Confidence, Finding, Loop


def wants_repair(finding: Finding) -> bool:
    """Whether a finding is reported by default, and has no repair yet."""
    return finding.fix is None and is_hot(finding)


def is_hot(finding: Finding) -> bool:
    """Whether a finding is reported by default, as hot and likely.

    What a wait does to a graph is told besides; its repair is that of the wait.
    """
    return (
        finding.code not in IN_GRAPHS
        and finding.loop == Loop.STEP
        and not finding.guarded
        and finding.confidence != Confidence.LOW
    )
