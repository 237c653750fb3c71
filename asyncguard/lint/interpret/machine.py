"""The abstract machine: every transfer function of the interpreter, in one table.

The only module that knows all the others of this package. Whoever runs frames hands it in.
"""

from __future__ import annotations

from asyncguard.lint.contexts.frame import Machine
from asyncguard.lint.interpret import (
    calls,
    choices,
    comparisons,
    comprehensions,
    indexing,
    literals,
    lookup,
    operators,
    repetition,
    statements,
    stores,
)

MACHINE = Machine(
    expressions={
        **literals.EXPRESSIONS,
        **lookup.EXPRESSIONS,
        **comprehensions.EXPRESSIONS,
        **operators.EXPRESSIONS,
        **comparisons.EXPRESSIONS,
        **indexing.EXPRESSIONS,
        **calls.EXPRESSIONS,
    },
    statements={
        **statements.STATEMENTS,
        **stores.STATEMENTS,
        **choices.STATEMENTS,
        **repetition.STATEMENTS,
    },
    call=calls.dispatch_call,
)
