"""Functions that make libcst nodes fast, one for each kind that the analyzer reads.

The fields that a function takes are those that hold code; all others have their defaults.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

import libcst as cst

from asyncguard.prepared import execute


def _maker(kind: type[Any], *given: str) -> Callable[..., Any]:
    """Return a function that makes nodes of a kind of these fields; others have their defaults.

    The constructor of a frozen dataclass sets each field by its name, several times slower. So a
    node begins as one of a subclass that can be assigned to. The text that makes it is of libcst's
    own names; `dataclasses.make_dataclass` would do the same, but takes 22 ms more at the start.
    """
    methods = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    metaclass: Any = type(kind)
    twin = metaclass(f"_{kind.__name__}", (kind,), {"__slots__": (), **methods})
    names: dict[str, Any] = {"twin": twin, "kind": kind}
    lines = [f"def make({', '.join(given)}):", "    node = twin()"]
    for number, field in enumerate(dataclasses.fields(kind)):
        value = field.name if field.name in given else f"default_{number}"
        lines.append(f"    node.{field.name} = {value}")
        if field.name not in given:
            make = field.default_factory
            names[value] = field.default if make is dataclasses.MISSING else make()
    lines += ["    node.__class__ = kind", "    return node"]
    execute("\n".join(lines), names)  # as `dataclasses` itself does
    made: Callable[..., Any] = names["make"]
    return made


name = _maker(cst.Name, "value")
integer = _maker(cst.Integer, "value")
float_ = _maker(cst.Float, "value")
imaginary = _maker(cst.Imaginary, "value")
string = _maker(cst.SimpleString, "value")
ellipsis = _maker(cst.Ellipsis)
formatted = _maker(cst.FormattedString, "parts")
formatted_text = _maker(cst.FormattedStringText, "value")
formatted_value = _maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
attribute = _maker(cst.Attribute, "value", "attr")
call = _maker(cst.Call, "func", "args")
arg = _maker(cst.Arg, "value", "keyword", "star")
subscript = _maker(cst.Subscript, "value", "slice")
subscript_element = _maker(cst.SubscriptElement, "slice")
index = _maker(cst.Index, "value", "star")
slice_ = _maker(cst.Slice, "lower", "upper", "step")
tuple_ = _maker(cst.Tuple, "elements")
list_ = _maker(cst.List, "elements")
set_ = _maker(cst.Set, "elements")
element = _maker(cst.Element, "value")
starred_element = _maker(cst.StarredElement, "value")
dict_ = _maker(cst.Dict, "elements")
dict_element = _maker(cst.DictElement, "key", "value")
starred_dict_element = _maker(cst.StarredDictElement, "value")
binary = _maker(cst.BinaryOperation, "left", "operator", "right")
boolean = _maker(cst.BooleanOperation, "left", "operator", "right")
unary = _maker(cst.UnaryOperation, "operator", "expression")
comparison = _maker(cst.Comparison, "left", "comparisons")
comparison_target = _maker(cst.ComparisonTarget, "operator", "comparator")
if_expression = _maker(cst.IfExp, "test", "body", "orelse")
named_expression = _maker(cst.NamedExpr, "target", "value")
lambda_ = _maker(cst.Lambda, "params", "body")
await_ = _maker(cst.Await, "expression")
yield_ = _maker(cst.Yield, "value")
from_ = _maker(cst.From, "item")
comprehensions = {
    ast.ListComp: _maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: _maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: _maker(cst.GeneratorExp, "elt", "for_in"),
}
dict_comprehension = _maker(cst.DictComp, "key", "value", "for_in")
for_in = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
condition = _maker(cst.CompIf, "test")

parameters = _maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params"
)
parameter = _maker(cst.Param, "name", "annotation", "default", "star")
annotation = _maker(cst.Annotation, "annotation")
decorator = _maker(cst.Decorator, "decorator")

line = _maker(cst.SimpleStatementLine, "body")
one_line = _maker(cst.SimpleStatementSuite, "body")
block = _maker(cst.IndentedBlock, "body")
module = _maker(cst.Module, "body")
expr = _maker(cst.Expr, "value")
assign = _maker(cst.Assign, "targets", "value")
assign_target = _maker(cst.AssignTarget, "target")
aug_assign = _maker(cst.AugAssign, "target", "operator", "value")
ann_assign = _maker(cst.AnnAssign, "target", "annotation", "value")
return_ = _maker(cst.Return, "value")
del_ = _maker(cst.Del, "target")
raise_ = _maker(cst.Raise, "exc", "cause")
assertion = _maker(cst.Assert, "test", "msg")
pass_, break_, continue_ = _maker(cst.Pass), _maker(cst.Break), _maker(cst.Continue)
global_, nonlocal_ = _maker(cst.Global, "names"), _maker(cst.Nonlocal, "names")
name_item = _maker(cst.NameItem, "name")
import_ = _maker(cst.Import, "names")
import_from = _maker(cst.ImportFrom, "module", "names", "relative")
import_alias = _maker(cst.ImportAlias, "name", "asname")
as_name = _maker(cst.AsName, "name")
type_alias = _maker(cst.TypeAlias, "name", "value")
if_ = _maker(cst.If, "test", "body", "orelse")
else_ = _maker(cst.Else, "body")
for_ = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
while_ = _maker(cst.While, "test", "body", "orelse")
with_ = _maker(cst.With, "items", "body", "asynchronous")
with_item = _maker(cst.WithItem, "item", "asname")
try_ = _maker(cst.Try, "body", "handlers", "orelse", "finalbody")
try_star = _maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
except_ = _maker(cst.ExceptHandler, "body", "type", "name")
except_star = _maker(cst.ExceptStarHandler, "body", "type", "name")
finally_ = _maker(cst.Finally, "body")
function = _maker(
    cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous"
)
class_ = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
match = _maker(cst.Match, "subject", "cases")
case = _maker(cst.MatchCase, "pattern", "body", "guard")
match_value = _maker(cst.MatchValue, "value")
match_singleton = _maker(cst.MatchSingleton, "value")
match_list = _maker(cst.MatchList, "patterns")
match_element = _maker(cst.MatchSequenceElement, "value")
match_star = _maker(cst.MatchStar, "name")
match_mapping = _maker(cst.MatchMapping, "elements", "rest")
match_mapping_element = _maker(cst.MatchMappingElement, "key", "pattern")
match_class = _maker(cst.MatchClass, "cls", "patterns", "kwds")
match_keyword = _maker(cst.MatchKeywordElement, "key", "pattern")
match_as = _maker(cst.MatchAs, "pattern", "name")
match_or = _maker(cst.MatchOr, "patterns")
match_or_element = _maker(cst.MatchOrElement, "pattern")

NO_PARAMETERS = cst.Parameters()
DOT = cst.Dot()
ASYNC = cst.Asynchronous()
