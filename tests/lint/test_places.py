"""Where nodes stand: in libcst's own words, and in those of Python's parser where these differ."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper, PositionProvider

from asyncguard.lint.run import pool
from asyncguard.lint.source.decode import decode
from asyncguard.lint.syntax.tree import walk
from asyncguard.lint.syntax.unit import function_unit, read
from tests.effort import examples

ROOT = Path(__file__).resolve().parents[2]
STANDARD = Path(sysconfig.get_paths()["stdlib"])
OWN = sorted(ROOT.glob("asyncguard/lint/**/*.py"))
OTHERS = [STANDARD / f"{name}.py" for name in ("dataclasses", "tokenize", "typing")]
# libcst takes longest to say where nodes stand: an ordinary run asks for some files.
FILES = [*OWN[:: len(OWN) // examples(len(OWN) // 6)], *OTHERS]
STATEMENTS = (cst.SimpleStatementLine, cst.BaseSmallStatement, cst.BaseCompoundStatement)
# These belong to Python with their parentheses.
ENCLOSED = (cst.Tuple, cst.GeneratorExp)
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
x = (a, ((b)), (c and d)), f(g for h in i)
x = (  # why
    1,

    '''two
lines''',
); y = f'''{
    z
}'''; w = 1 + \\
    2
if (a or
        b): pass
elif "(" + c:

    # first
    d
    # last

class B(  # of
    C,
):

    @d(
        1
    )
    # between
    @e

    async def f(self,
                g="(",
                ): return (
                    h)
    # behind

    def i(self): \\
        return 1; j = [
            2]
match (a,
       b):
    # of all
    case [
        1
    ]: pass
try: pass
except (A,
        B): pass
"""


def assert_places(text: str) -> None:
    """Compare all places of a text with those that libcst finds."""
    unit = read(text)
    found = MetadataWrapper(unit.tree, unsafe_skip_copy=True).resolve(PositionProvider)
    for node in walk(unit.tree):
        if node not in found or isinstance(node, cst.Module):
            continue
        start, end = found[node].start, found[node].end
        if not isinstance(node, ENCLOSED):
            assert unit.place(node) == (start.line, start.column, end.line, end.column), node
        if isinstance(node, STATEMENTS):
            assert unit.line(node) == start.line, node
        if isinstance(node, cst.FunctionDef):
            assert unit.lines.ends[id(node)] == end.line, node


def test_every_kind_of_node_stands_where_libcst_says() -> None:
    assert_places(SNIPPETS)


def test_the_snippets_hold_every_kind_of_node() -> None:
    kinds = {type(node) for node in ast.walk(ast.parse(SNIPPETS))}
    bases = (ast.stmt, ast.expr, ast.pattern, ast.operator, ast.unaryop, ast.cmpop)
    missing = {k.__name__ for base in bases for k in base.__subclasses__()} - {
        kind.__name__ for kind in kinds
    }
    assert missing <= {"TryStar", "TypeAlias", "TemplateStr", "Interpolation"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_others_and_of_ours(path: Path) -> None:
    with pool.collecting_seldom():
        assert_places(decode(path.read_bytes()))


def among(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


def around(shape: str, inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Put texts where `@` stands."""
    return inner.map(lambda text: shape.replace("@", text))


EXPRESSIONS = st.recursive(
    among("a", "'('", "'''\n'''", 'f"{b}"', 'f"""{\nc\n}("""', "-1", "'é'", "d.e(1,\n  2)"),
    lambda inner: st.one_of(
        *(around(shape, inner) for shape in ("(@)", "(@,\n)", "f(@)", "[\n@,  # )\n]", "{@: 1}")),
        *(
            around(shape, inner)
            for shape in ("(lambda x=@: x)", "[y for y in @ if y]", "@ + \\\n a")
        ),
        st.tuples(inner, inner).map("\n  and ".join).map("({})".format),
    ),
    max_leaves=4,
)
SIMPLE = st.one_of(
    *(around(shape, EXPRESSIONS) for shape in ("@", "x = @", "x: int = @", "return @")),
    among("pass", "import a", "del a", "assert b, '('"),
)
LINES = st.lists(SIMPLE, min_size=1, max_size=2).map("; ".join)
HEADS = st.one_of(
    *(around(shape, EXPRESSIONS) for shape in ("if @:", "while @:  # (", "for x in @:")),
    *(around(shape, EXPRESSIONS) for shape in ("with @ as y:", "def g(x=@):", "class A(@):")),
    among("try:", "async def g(): # '"),
)
BETWEEN = among("", "", "\n", "# (\n", "\n\n# '\n")
BLOCKS: st.SearchStrategy[Any] = st.recursive(
    st.tuples(LINES, BETWEEN),
    lambda inner: st.tuples(HEADS, BETWEEN, st.lists(inner, min_size=1, max_size=3), inner),
    max_leaves=6,
)


def written(block: tuple[Any, ...], indent: str) -> str:
    """Write a statement; what follows within its brackets begins at the left."""
    head, between, *inner = block
    if not inner:
        return f"{indent}{head}\n{between}"
    body, other = "".join(written(each, f"{indent}  ") for each in inner[0]), inner[1]
    text = f"{indent}{head}\n{between}{body}"
    last = written(other, f"{indent}\t")
    if head.startswith(("def", "class")):
        return f"{indent}@f(\n1)\n{between}{indent}@e\n\n{text}"
    if head.startswith("if"):
        return f"{text}{indent}elif (\n a):\n{last}{between}{indent}else:\n{last}"
    if head.startswith("try"):
        return f"{text}{indent}except A:\n{last}{between}{indent}finally:\n{last}"
    return text


@given(st.lists(BLOCKS, min_size=1, max_size=3))
def test_texts_of_any_layout(blocks: list[tuple[Any, ...]]) -> None:
    text = "".join(written(block, "") for block in blocks)
    ast.parse(text)
    assert_places(text)


def test_parentheses_of_tuples_and_generators_are_part_of_them() -> None:
    text = "f((a, b))\ng((c for c in d), 1)\nh(( (e), ))\n"
    unit = read(text)
    theirs = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Tuple, ast.GeneratorExp))]
    mine = [node for node in walk(unit.tree) if isinstance(node, ENCLOSED)]
    places = {(n.lineno, n.col_offset, n.end_lineno, n.end_col_offset) for n in theirs}
    assert len(places) == 3
    assert {unit.place(node) for node in mine} == places


METHOD = """\
class A:
    # of it
    @b
    def é(self, x):
        y = "日本", w
        return y
"""


def test_a_function_by_itself_stands_where_it_does_in_its_file() -> None:
    whole = read(METHOD)
    alone = function_unit(METHOD.split("\n"), 3, 6)
    inner = whole.of(whole.tree.body[0].body.body[0])
    for unit in (whole, alone, inner):
        names = {n.value: unit.place(n) for n in walk(unit.tree) if type(n) is cst.Name}
        assert names["w"] == (5, 18, 5, 19)
        assert names["é"] == (4, 8, 4, 9)


def test_what_is_no_part_of_a_tree_stands_nowhere() -> None:
    unit = read("a\n")
    assert unit.place(cst.Name("a")) is None
    assert unit.line(cst.Pass()) == 0
