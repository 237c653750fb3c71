"""Methods that leave it to subclasses what they do."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.domain.definitions import FunctionInfo

_STARTS = ("raise", "return", "pass", "...")  # of the last line of a body that does nothing
_ONE_LINE = ("def ", "async def ")


def is_abstract(info: FunctionInfo) -> bool:
    """Whether a method only raises or does nothing: some subclass says what."""
    outlined = info.outlined
    if outlined is not None:
        last = info.module.lines[outlined.last - 4 : outlined.last]
        one_line = any(line.lstrip().startswith(_ONE_LINE) for line in last[-1:])
        if not one_line and not any(map(_may_do_nothing, last)):
            return False
    if type(info.node) is cst.Lambda:
        return False
    info.module.materialise_body(info)
    body = info.node.body if type(info.node) is cst.FunctionDef else None
    if type(body) is cst.SimpleStatementSuite:  # `def run(self): ...`
        return not any(map(_does_something, body.body))
    lines = body.body if body is not None else ()
    if len(lines) > 3 or not all(type(line) is cst.SimpleStatementLine for line in lines):
        return False
    small = [part for line in lines if type(line) is cst.SimpleStatementLine for part in line.body]
    return not any(map(_does_something, small))


def _may_do_nothing(line: str) -> bool:
    """Whether a line may be the last of a body that does nothing; its tree tells for sure."""
    return line.lstrip().startswith(_STARTS) or line.rstrip().endswith('"""')


def _does_something(statement: cst.CSTNode) -> bool:
    """Whether a statement is neither a docstring nor `pass`, `...`, `raise` or a bare `return`."""
    if type(statement) is cst.Return:
        return statement.value is not None
    if type(statement) is cst.Expr:
        return not isinstance(statement.value, (cst.BaseString, cst.Ellipsis))
    return type(statement) not in (cst.Pass, cst.Raise)
