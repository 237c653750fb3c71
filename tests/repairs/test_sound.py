"""A repair that would leave no Python behind is not offered, told from the statements around it."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.repair import _is_python

STATEMENTS = (
    "a = 1; b = 2", "def f():\n    return 1", "@d\ndef g():\n    if a:\n        b", "# comment",
    'x = """\ny\n"""; z = 3', "if a:\n    b\nelse:\n    c", "class C:\n\n    def m(self): pass", "",
    "x = (\n    1,\n)", "for i in a:\n    b\n    # end", "a = \\\n    1",
)  # fmt: skip
LINES = (
    "",
    "    d = 1",
    "e = 2",
    "        f(",
    ")",
    "def h():",
    "else:",
    "# g",
    '"""',
    "    ",
    "\\",
)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@given(
    st.lists(st.sampled_from(STATEMENTS), max_size=5),
    st.lists(st.sampled_from(LINES), max_size=3),
    st.data(),
)
def test_what_parses_in_part_parses_whole(
    statements: list[str], put: list[str], data: st.DataObject
) -> None:
    before = "\n".join(statements) + "\n"
    lines = before.split("\n")
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    after = "\n".join([*lines[:first], *put, *lines[last:]])
    assert _is_python(Code(before), after) <= parses(after)


def test_only_the_statements_around_a_change_are_parsed() -> None:
    code = Code("def f():\n    a\n\n\ndef g():\n    b\n\n\ndef h():\n    c\n")
    assert code.outermost(5, 6) == (4, 8)
    assert code.outermost(4, 4) == (0, 4)  # put before `g`: it may go on with `f`
    assert _is_python(code, code.text.replace("    b\n", "    (b)\n    d\n"))
    assert not _is_python(code, code.text.replace("    b\n", "    (b\n"))
    assert not _is_python(code, code.text.replace("    b\n", ""))
