"""The trees that are interpreted are those of libcst's own parser, and stand where it says."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from asyncguard.lint.run import pool
from asyncguard.lint.syntax.tree import Unit, children, module_unit, place
from tests.effort import examples

ROOT = Path(__file__).resolve().parents[2]
STANDARD = Path(sysconfig.get_paths()["stdlib"])
OWN = sorted(ROOT.glob("asyncguard/lint/**/*.py"))
OTHERS = [STANDARD / f"{name}.py" for name in ("dataclasses", "tokenize", "typing")]
# libcst takes longest: an ordinary run parses some files, and asks for the places of fewer.
COMPARED = [*OWN[:: len(OWN) // examples(len(OWN))], *OTHERS]
PLACED_IN = {*OWN[:: len(OWN) // examples(len(OWN) // 6)], STANDARD / "tokenize.py"}
SNIPPETS = """\
x = 1, 0x1F, 1_000, 1.5, .5, 1e400, 2j, 10**30, None, True, ..., b"a", "it's"
x = "a" "b" f"{y}" f"{z!r:>{w}.2f} {{}}" f"{a}{b + c}"
x = (a + b) * -c, +d ** ~d // e % f @ g << h >> i & j | k ^ l - m / n
x = a and b and not c or d if e else (lambda: 0)
x = a < b <= c != d == e > f >= g is h is not i in j not in k
x = [a, *b], (c,), (), {d}, {e: f, **g}, {}, []
x = [i for i in a if b if c for j in d], {i for i in a}, {k: v for k, v in a}, (i for i in a)
f(a, *b, c=d, *e, **g)(h for h in i).j(*k, l=1)
x[a], x[a:b:c], x[:], x[a, b:], x[::2, ..., None], x[-1] = y
a = b = c, *d = e
a: int; b: list[int] = []; c.d: "str" = ""
a += 1; a -= 1; a *= 1; a /= 1; a //= 1; a %= 1; a **= 1; a @= 1; a &= 1; a |= 1; a ^= 1
a <<= 1; a >>= 1
del a; del b, c[0]
assert a; assert b, "c"
import a, b.c as d
from . import a
from ..b.c import d as e, f
from g import *
if (n := len(a)) > 1: pass
while a: break
else: b
for a, b in c: continue
else:
    if d: e
try: a
except (B, C) as d: raise
except E: raise F from None
except: raise G(h)
else: i
finally: j
with a, b as c, d() as (e, f): g
with (a as b, c): d
@a.b(c)
def f(a, b: int = 1, *c: d, e, f: g = 2, **h: i) -> j:
    '''Document.'''
    global k
    def g(a, /, b, *, c): nonlocal b; return
    async def h():
        async with a as b: await c
        async for d in e: yield f
        return [i async for i in j]
    yield; x = yield a; yield from b
class A(B, metaclass=C, **d):
    x: int = 1
    @property
    def y(self): return self.z
if a:
    pass
elif b:
    pass
else:
    pass
match a:
    case 1 | "b" | None | -1: pass
    case [c, *d] | (c, d): pass
    case {"e": f, **g}: pass
    case H(i, j=K.l) as m if n: pass
    case [*_]: pass
    case _: pass
x = λ.é("ü", a.b) + "日本".join(c)
"""
NEW_SYNTAX = (
    "try: a\nexcept* B: c\n",
    "a[*b]\ndef f(*a: *b): pass\n",
    "type A = b\n",
    "def f[T](a: T): pass\nclass A[T]: pass\n",
)
NEWER = {"TryStar", "TypeAlias", "TemplateStr", "Interpolation"}  # than Python 3.10
STRINGS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
UNTOLD = (cst.Colon, cst.ParamSlash, cst.BitOr, cst.TypeParameters)
PLACED = (cst.BaseExpression, cst.BaseSmallStatement)
# Of these Python has the parentheses as well, or (within `a and b and (c)`) those of the last part.
ENCLOSED = (cst.Tuple, cst.GeneratorExp, cst.BooleanOperation)
NUMBERS = (cst.Integer, cst.Float, cst.Imaginary)


def unit_of(text: str) -> Unit:
    return module_unit(text.split("\n"), ast.parse(text), {})


def parts_of(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return what is below a node, but for what Python's parser does not tell.

    That is how strings are pieced together, and whether the tuple of an index has parentheses.
    """
    if isinstance(node, STRINGS):
        return [n.expression for n in ordered(node) if isinstance(n, cst.FormattedStringExpression)]
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        inner = getattr(node.slice[0].slice, "value", None)
        if isinstance(inner, cst.Tuple) and inner.elements:
            return [node.value, *inner.elements]
    if isinstance(node, cst.Subscript):
        return [node.value, *(_element(part.slice) for part in node.slice)]
    return [child for child in children(node) if not isinstance(child, UNTOLD)]


def _element(part: cst.BaseSlice) -> cst.CSTNode:
    if not isinstance(part, cst.Index):
        return part
    return cst.StarredElement(part.value) if part.star else cst.Element(part.value)


def ordered(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [node, *(inner for child in children(node) for inner in ordered(child))]


def shape(node: cst.CSTNode) -> list[Any]:
    kind = "String" if isinstance(node, STRINGS) else type(node).__name__
    parts: list[Any] = ["MatchList" if kind == "MatchTuple" else kind]
    if isinstance(node, NUMBERS):
        parts.append(ast.literal_eval(node.value))
    elif isinstance(node, cst.Name):
        parts.append(node.value)
    parts.append(getattr(node, "star", None) or "")
    parts.append(getattr(node, "asynchronous", None) is not None)
    return parts + [shape(part) for part in parts_of(node)]


def pairs(mine: cst.CSTNode, theirs: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield the nodes of two trees of one shape, side by side."""
    yield mine, theirs
    for one, other in zip(parts_of(mine), parts_of(theirs), strict=True):
        yield from pairs(one, other)


def test_every_kind_of_node_has_the_shape_of_libcsts() -> None:
    assert shape(unit_of(SNIPPETS).tree) == shape(cst.parse_module(SNIPPETS))


def test_the_snippets_hold_every_kind_of_node() -> None:
    kinds = {type(node) for node in ast.walk(ast.parse(SNIPPETS))}
    bases = (ast.stmt, ast.expr, ast.pattern, ast.operator, ast.unaryop, ast.cmpop)
    missing = {k.__name__ for base in bases for k in base.__subclasses__()} - {
        kind.__name__ for kind in kinds
    }
    assert missing <= NEWER


@pytest.mark.parametrize("text", NEW_SYNTAX, ids=str.split)
def test_newer_syntax_has_the_shape_of_libcsts(text: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError:
        pytest.skip("this Python does not know it")
    assert shape(unit_of(text).tree) == shape(cst.parse_module(text))


def test_trees_have_the_shape_and_the_places_of_libcsts() -> None:
    with pool.collecting_seldom():
        for path in COMPARED:
            text = path.read_text(encoding="utf-8")
            unit, tree = unit_of(text), cst.parse_module(text)
            assert shape(unit.tree) == shape(tree), path
            if path in PLACED_IN:
                assert_places(text, unit, MetadataWrapper(tree, unsafe_skip_copy=True))


def test_every_kind_of_node_stands_where_libcst_says() -> None:
    wrapper = MetadataWrapper(cst.parse_module(SNIPPETS), unsafe_skip_copy=True)
    assert_places(SNIPPETS, unit_of(SNIPPETS), wrapper)


def assert_places(text: str, unit: Unit, wrapper: MetadataWrapper) -> None:
    theirs = wrapper.resolve(PositionProvider)
    seen = 0
    for mine, node in pairs(unit.tree, wrapper.module):
        found = place(unit, mine)
        if found is not None and isinstance(mine, PLACED) and not isinstance(mine, ENCLOSED):
            start, end = theirs[node].start, theirs[node].end
            assert found == (start.line, start.column, end.line, end.column), text.split("\n")[
                start.line - 1
            ]
            seen += 1
    assert seen
