"""The rules, found by walking `asyncguard.lint.checks`.

A check module holds CODE, NAME, its docstring (the explanation; the first line is the summary),
VALID and INVALID examples, and `check(analysis)`; or MESSAGE and REMEDY, if it reports each site of
its code. Whether a rule can fix is told by its examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, NamedTuple

from asyncguard.lint.labels import CHECKS
from asyncguard.model import AsyncguardError

if TYPE_CHECKING:
    from asyncguard.lint.modules.analysis import FileAnalysis
    from asyncguard.lint.report.reports import Report


PACKAGE = "asyncguard.lint.checks"


@dataclass(frozen=True)
class Example:
    """Source that a rule objects to `count` times; `fixed` is what its fix makes of it."""

    source: str
    count: int = 1
    fixed: str = ""
    safe: bool = True


class Rule(NamedTuple):
    """One rule, as its module states it."""

    code: str
    name: str
    summary: str
    explanation: str
    default: bool
    valid: tuple[str, ...]
    invalid: tuple[Example, ...]
    check: Callable[[FileAnalysis], Iterator[Report]] | None
    refines: tuple[str, ...] = ()  # rules whose advice it betters, where it does not run itself

    @property
    def fixable(self) -> bool:
        """Whether some of what it finds can be repaired automatically."""
        return any(example.fixed for example in self.invalid)


# Loops that the rules' examples begin with. A `STEP` ends where the next statement of
# its step begins, the others with a line.
TORCH_STEP = """\
import torch
import torch.nn.functional as F
def train(model, loader, optimizer):
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        """
MXNET_STEP = """\
from mxnet import autograd, gluon, npx
def train(net, loader, trainer, loss_fn):
    for X, y in loader:
        with autograd.record():
            loss = loss_fn(net(X), y)
        loss.backward()
        trainer.step(X.shape[0])
        """
TORCH_LOOP = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
"""
TORCH_SUM = TORCH_LOOP.replace("    for", "    total = 0.0\n    for", 1)
JAX_STEP = """\
import jax
import jax.numpy as jnp
import numpy as np
@jax.jit
def update(params, batch):
    return params, jnp.mean(batch)
def train(params, loader):
    for step, batch in enumerate(loader):
        params, loss = update(params, batch)
        """
TENSORFLOW_STEP = """\
import tensorflow as tf
def train(model, dataset, optimizer, loss_fn):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        """
CUPY_STEP = """\
import cupy as cp
def run(n):
    x = cp.ones((8, 8))
    for step in range(n):
        x = x @ x
        """


@lru_cache(maxsize=1)
def rules() -> list[Rule]:
    """Return all rules, by code."""
    found = [_rule(f"{PACKAGE}.{path.stem}") for path in CHECKS.glob("asg*.py")]
    return sorted(found, key=lambda rule: rule.code)


def find(code: str) -> Rule:
    """Return the rule of a code or name; raises AsyncguardError."""
    for rule in rules():
        if code.upper() == rule.code or code.lower() == rule.name:
            return rule
    known = ", ".join(rule.code for rule in rules())
    raise AsyncguardError(f"no rule {code!r}; the rules are {known}")


def _rule(module_name: str) -> Rule:
    module = import_module(module_name)
    explanation = cleandoc(module.__doc__ or "")
    check = getattr(module, "check", None)
    if check is None and hasattr(module, "REMEDY"):
        from asyncguard.lint.report.reports import report_all  # with libcst, which few runs need

        message = f"{module.MESSAGE}: {module.REMEDY}"
        check = partial(report_all, code=module.CODE, message=message)
    return Rule(
        module.CODE,
        module.NAME,
        explanation.partition("\n")[0].rstrip("."),
        explanation,
        getattr(module, "DEFAULT", True),
        tuple(module.VALID),
        tuple(e if isinstance(e, Example) else Example(e) for e in module.INVALID),
        check,
        getattr(module, "REFINES", ()),
    )
