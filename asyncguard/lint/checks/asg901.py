"""A suppression comment matches no finding.

The finding that it was written for is gone, or the code in it is mistyped. Left in place it
would hide the next one.

    total += loss.detach()   # asyncguard: ignore[ASG102]      before: nothing to ignore here
    total += loss.detach()                                   # after

Reference: https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from asyncguard.lint.report.registry import Example
from asyncguard.lint.source.suppress import Suppression
from asyncguard.model import Applicability, Finding, Fix

CODE = "ASG901"
NAME = "unused-suppression"
VALID = ["import torch\nx = 1  # noqa: E501\n"]
INVALID = [
    Example(
        "import torch\nx = 1  # noqa: E501, ASG102  # type: ignore\n",
        fixed="import torch\nx = 1  # noqa: E501  # type: ignore\n",
    ),
    Example(
        "import torch\ndef f(x):\n    # asyncguard: ignore[ASG102]\n    return x\n",
        fixed="import torch\ndef f(x):\n    return x\n",
    ),
    Example(
        "import torch\nx = 1  # asyncguard: ignore[ASG102] old # type: ignore\n",
        fixed="import torch\nx = 1  # type: ignore\n",
    ),
    Example(
        "import torch\nx = 1  # asyncguard: ignore[ASG102] logged below\n",
        fixed="import torch\nx = 1\n",
    ),
]


def finding(comment: Suppression, path: str) -> Finding:
    """Report a comment, with the edit that deletes it if it is understood."""
    fix = (
        Fix("delete the comment", (comment.removal,), Applicability.SAFE)
        if comment.removal
        else None
    )
    message, fix = (comment.problem, None) if comment.problem else (_message(comment), fix)
    line, start, end = comment.line, comment.column, comment.end_column
    return Finding(CODE, message, path, line, start, line, end, fix=fix)


def _message(comment: Suppression) -> str:
    if comment.allows:
        return f"unused allowance: `{comment.allows}` allows nothing that is known to wait"
    codes = " or ".join(sorted(comment.codes)) if comment.codes else "finding"
    return (
        f"unused suppression: no {codes} {'in this file' if comment.whole_file else 'on this line'}"
    )
