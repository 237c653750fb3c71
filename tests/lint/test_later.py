"""Handles of `asyncguard.later`: which results wait, and that what they give is on the host."""

from __future__ import annotations

import pytest

from asyncguard.lint.check import check_source
from asyncguard.lint.run.settings import Settings

HEAD = """
import asyncguard
import torch
from asyncguard import later

def train(self, model, loader, optimizer, log):
    handle = before = later(torch.zeros((), device="cuda"))
    queue = asyncguard.Later()
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


def findings(body: str) -> list[str]:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return [finding.api for finding in check_source(HEAD + lines, "train.py", Settings())]


WAITS = {
    "chained": "log(later(loss).result())",
    "named": "handle = asyncguard.later({'loss': loss})\nlog(handle.result())",
    "in a block": "handle = later(loss)\ntry:\n    log(handle.result())\nfinally:\n    pass",
    "an attribute": "self.handle = later(loss)\nlog(self.handle.result())",
    "after other work": "handle = later(loss)\noptimizer.zero_grad()\nlog(handle.result())",
}


@pytest.mark.parametrize("name", WAITS)
def test_a_result_in_the_round_of_its_copy_waits(name: str) -> None:
    assert findings(WAITS[name]) == ["asyncguard.Handle.result"]


FREE = {
    "one step late": "log(handle.result())\nhandle = later(loss)",
    "where there is one": "if handle is not None:\n    log(handle.result())\nhandle = later(loss)",
    "a default": "handle = later(loss)\nlog(handle.result(default=None))",
    "a default by position": "handle = later(loss)\nlog(handle.result(None))",
    "done": "handle = later(loss)\nlog(handle.done())",
    "made on one path": "if x.ndim:\n    handle = later(loss)\nlog(handle.result())",
    "before another": "handle, before = later(loss), handle\nlog(before.result())",
    "a queue": "queue.put(step, {'loss': loss})\nfor at, values in queue.ready():\n"
    "    print(at, float(values['loss']))",
    "what it gives": "values = handle.result()\nprint(values['loss'], float(values['norm']))\n"
    "if values['loss'] > 3:\n    break\nhandle = later({'loss': loss, 'norm': loss})",
}


@pytest.mark.parametrize("name", FREE)
def test_a_late_result_and_what_it_gives_wait_for_nothing(name: str) -> None:
    assert findings(FREE[name]) == []
