"""The process of one call: reads the job from standard input, writes the answer to a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from asyncguard.mcp.jobs import JOBS
from asyncguard.model import AsyncguardError


def main() -> int:
    """Do one job; what it writes by the way goes to standard error, with other streams."""
    job = json.load(sys.stdin)
    try:
        done = JOBS[job["job"]](**job["arguments"])
        answer = {"answer": done.model_dump() if isinstance(done, BaseModel) else done}
    except AsyncguardError as error:
        answer = {"error": str(error)}
    Path(job["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    return 0
