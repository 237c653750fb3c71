"""Makers of records for tests: only what a test cares about is given."""

from __future__ import annotations

from typing import Any

from asyncguard.model import Finding, Loop, SiteStats, SyncKind, TraceRecord


def finding(**values: Any) -> Finding:
    defaults: dict[str, Any] = {
        "code": "ASG102",
        "message": "`.item()` waits for the device",
        "path": "train.py",
        "line": 10,
        "column": 9,
        "end_line": 10,
        "end_column": 20,
        "function": "train",
        "loop": Loop.STEP,
        "framework": "torch",
        "api": "torch.Tensor.item",
        "source": "total += loss.item()",
    }
    return Finding(**(defaults | values))


def site(**values: Any) -> SiteStats:
    defaults: dict[str, Any] = {
        "path": "train.py",
        "line": 10,
        "function": "train",
        "api": "torch.Tensor.item",
        "framework": "torch",
        "kind": SyncKind.SCALAR,
        "count": 10,
        "cpu_stall_ns": 1_000_000,
        "source": "total += loss.item()",
    }
    return SiteStats(**(defaults | values))


def record(*sites: SiteStats, **values: Any) -> TraceRecord:
    defaults: dict[str, Any] = {"step_count": 0, "duration_ns": 10_000_000}
    return TraceRecord(sites=sites, **(defaults | values))


def steady(count_per_step: int, steps: int = 10, **values: Any) -> SiteStats:
    """A site that waits `count_per_step` times in each of `steps` complete steps."""
    total = count_per_step * steps
    stall = values.pop("stall_ns", 1000) * total
    return site(
        count=total, steady_count=total, cpu_stall_ns=stall, steady_stall_ns=stall, **values
    )
