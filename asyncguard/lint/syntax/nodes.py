"""libcst nodes, built from what Python's own parser says.

libcst's parser keeps each space and comma, for which the analyzer has no use, and takes some
fifteen times as long as Python's. So the trees that are interpreted are libcst's nodes with the
code of the source and default whitespace: parentheses, comments, the quotes of strings and type
parameters (`def f[T]`) are not kept. Where a node stands in the file is what `ast` says of the part
that it was built from.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import libcst as cst

from asyncguard.lint.names.words import MAX_NAMES
from asyncguard.lint.syntax.signatures import parameters

Span = tuple[int, int, int, int]  # line, column, end line, end column; columns in UTF-8 bytes
Use = tuple[Any, frozenset[str]]  # a node, and the names that comprehensions around it bind
NO_NAMES = frozenset[str]()
Origin = Any  # a part of Python's syntax, or the first and the last of the parts built from
Numbers = Mapping[tuple[int, int], int]  # numbers of functions, by line and column of their `def`


class Builder:
    """Builds the nodes of one text.

    `outlined` numbers functions, by line and column of their `def`, of which no more is wanted
    than name and decorators: the number is put where the body was. `origins` are what expressions
    and statements were built from, by `id(node)`; `uses` are the calls and the targets in the
    bodies of functions, lambdas and the module, likewise.
    """

    def __init__(self, lines: Sequence[str], outlined: Numbers | None = None) -> None:
        self.lines = lines
        self.outlined = outlined or {}
        self.origins: dict[int, Origin] = {}
        self.uses: dict[int, list[Use]] = {}
        self._used: list[Use] = []  # so far in the function that is being built
        self._bound: frozenset[str] = NO_NAMES  # by comprehensions and lambdas around

    def expression(self, node: ast.expr) -> Any:
        """Build an expression."""
        if type(node) is ast.Name:
            made = _name(node.id)
        elif type(node) is ast.Starred:  # by itself it stands in annotations of `*args`
            return self.expression(node.value)
        else:
            made = _EXPRESSIONS[type(node)](self, node)
        self.origins[id(made)] = node
        return made

    def optional(self, node: ast.expr | None) -> Any:
        """Build an expression, if there is one."""
        return None if node is None else self.expression(node)

    def statements(self, body: Sequence[ast.stmt]) -> list[Any]:
        """Build statements; simple ones on the same line share one of libcst's lines."""
        lines: list[Any] = []
        end = 0  # line that the simple statement before ends on
        for node in body:
            compound = _COMPOUND.get(type(node))
            made = (compound or _SIMPLE[type(node)])(self, node)
            self.origins[id(made)] = node
            if compound is not None:
                lines.append(made)
                end = 0
                continue
            if node.lineno == end:
                lines[-1].body.append(made)
            else:
                lines.append(_line([made]))
                self.origins[id(lines[-1])] = node
            end = node.end_lineno or 0
        return lines

    def suite(self, body: Sequence[ast.stmt]) -> Any:
        """Build the block of a compound statement: on lines of its own, or after the colon."""
        first = body[0]
        before = self.lines[first.lineno - 1][: first.col_offset]
        if not before or before.isspace() or getattr(first, "decorator_list", None):
            return _block(self.statements(body))
        return _one_line([part for line in self.statements(body) for part in line.body])

    def module(self, tree: ast.Module) -> cst.Module:
        """Build a module."""
        made: cst.Module = _module(self.statements(tree.body))
        self.uses[id(made)] = self._used
        return made

    def use(self, made: Any) -> Any:
        """Note a call or a target."""
        self._used.append((made, self._bound))
        return made

    def apart(self, build: Callable[[], Any]) -> tuple[Any, list[Use]]:
        """Build something that is a scope of its own; returns what that uses as well."""
        around = self._used, self._bound
        own: list[Use] = []
        self._used, self._bound = own, NO_NAMES
        made = build()
        self._used, self._bound = around
        return made, own

    def within(self, bound: frozenset[str], build: Callable[[], Any]) -> Any:
        """Build something that binds names for itself alone."""
        around = self._bound
        self._bound |= bound
        made = build()
        self._bound = around
        return made

    def take(self, uses: list[Use], bound: frozenset[str]) -> None:
        """Note what something within uses, which binds names for itself alone."""
        self._used += [(node, self._bound | bound | inner) for node, inner in uses]


def span(origin: Origin) -> Span:
    """Return where it stands: from the beginning of the first part to the end of the last."""
    first, last = origin if isinstance(origin, tuple) else (origin, origin)
    return first.lineno, first.col_offset, last.end_lineno, last.end_col_offset


def _maker(kind: type[Any], *given: str) -> Callable[..., Any]:
    """Return a function that makes nodes of a kind of these fields; others have their defaults.

    The constructor of a frozen dataclass sets each field by its name, several times slower. So a
    node begins as one of a subclass that can be assigned to.
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
    exec("\n".join(lines), names)  # as `dataclasses` itself does
    made: Callable[..., Any] = names["make"]
    return made


_name = _maker(cst.Name, "value")
_integer = _maker(cst.Integer, "value")
_float = _maker(cst.Float, "value")
_imaginary = _maker(cst.Imaginary, "value")
_string = _maker(cst.SimpleString, "value")
_ellipsis = _maker(cst.Ellipsis)
_formatted = _maker(cst.FormattedString, "parts")
_formatted_text = _maker(cst.FormattedStringText, "value")
_formatted_value = _maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_attribute = _maker(cst.Attribute, "value", "attr")
_call = _maker(cst.Call, "func", "args")
_arg = _maker(cst.Arg, "value", "keyword", "star")
_subscript = _maker(cst.Subscript, "value", "slice")
_subscript_element = _maker(cst.SubscriptElement, "slice")
_index = _maker(cst.Index, "value", "star")
_slice = _maker(cst.Slice, "lower", "upper", "step")
_tuple = _maker(cst.Tuple, "elements")
_list = _maker(cst.List, "elements")
_set = _maker(cst.Set, "elements")
_element = _maker(cst.Element, "value")
_starred_element = _maker(cst.StarredElement, "value")
_dict = _maker(cst.Dict, "elements")
_dict_element = _maker(cst.DictElement, "key", "value")
_starred_dict_element = _maker(cst.StarredDictElement, "value")
_binary = _maker(cst.BinaryOperation, "left", "operator", "right")
_boolean = _maker(cst.BooleanOperation, "left", "operator", "right")
_unary = _maker(cst.UnaryOperation, "operator", "expression")
_comparison = _maker(cst.Comparison, "left", "comparisons")
_comparison_target = _maker(cst.ComparisonTarget, "operator", "comparator")
_if_expression = _maker(cst.IfExp, "test", "body", "orelse")
_named_expression = _maker(cst.NamedExpr, "target", "value")
_lambda = _maker(cst.Lambda, "params", "body")
_await = _maker(cst.Await, "expression")
_yield = _maker(cst.Yield, "value")
_from = _maker(cst.From, "item")
_comprehensions = {
    ast.ListComp: _maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: _maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: _maker(cst.GeneratorExp, "elt", "for_in"),
}
_dict_comprehension = _maker(cst.DictComp, "key", "value", "for_in")
_for_in = _maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_condition = _maker(cst.CompIf, "test")

_parameters = _maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params"
)
_parameter = _maker(cst.Param, "name", "annotation", "default", "star")
_annotation = _maker(cst.Annotation, "annotation")
_decorator = _maker(cst.Decorator, "decorator")

_line = _maker(cst.SimpleStatementLine, "body")
_one_line = _maker(cst.SimpleStatementSuite, "body")
_block = _maker(cst.IndentedBlock, "body")
_module = _maker(cst.Module, "body")
_expr = _maker(cst.Expr, "value")
_assign = _maker(cst.Assign, "targets", "value")
_assign_target = _maker(cst.AssignTarget, "target")
_aug_assign = _maker(cst.AugAssign, "target", "operator", "value")
_ann_assign = _maker(cst.AnnAssign, "target", "annotation", "value")
_return = _maker(cst.Return, "value")
_del = _maker(cst.Del, "target")
_raise = _maker(cst.Raise, "exc", "cause")
_assert = _maker(cst.Assert, "test", "msg")
_pass, _break, _continue = _maker(cst.Pass), _maker(cst.Break), _maker(cst.Continue)
_global, _nonlocal = _maker(cst.Global, "names"), _maker(cst.Nonlocal, "names")
_name_item = _maker(cst.NameItem, "name")
_import = _maker(cst.Import, "names")
_import_from = _maker(cst.ImportFrom, "module", "names", "relative")
_import_alias = _maker(cst.ImportAlias, "name", "asname")
_as_name = _maker(cst.AsName, "name")
_type_alias = _maker(cst.TypeAlias, "name", "value")
_if = _maker(cst.If, "test", "body", "orelse")
_else = _maker(cst.Else, "body")
_for = _maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_while = _maker(cst.While, "test", "body", "orelse")
_with = _maker(cst.With, "items", "body", "asynchronous")
_with_item = _maker(cst.WithItem, "item", "asname")
_try = _maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_try_star = _maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_except = _maker(cst.ExceptHandler, "body", "type", "name")
_except_star = _maker(cst.ExceptStarHandler, "body", "type", "name")
_finally = _maker(cst.Finally, "body")
_function = _maker(
    cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous"
)
_class = _maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
_match = _maker(cst.Match, "subject", "cases")
_case = _maker(cst.MatchCase, "pattern", "body", "guard")
_match_value = _maker(cst.MatchValue, "value")
_match_singleton = _maker(cst.MatchSingleton, "value")
_match_list = _maker(cst.MatchList, "patterns")
_match_element = _maker(cst.MatchSequenceElement, "value")
_match_star = _maker(cst.MatchStar, "name")
_match_mapping = _maker(cst.MatchMapping, "elements", "rest")
_match_mapping_element = _maker(cst.MatchMappingElement, "key", "pattern")
_match_class = _maker(cst.MatchClass, "cls", "patterns", "kwds")
_match_keyword = _maker(cst.MatchKeywordElement, "key", "pattern")
_match_as = _maker(cst.MatchAs, "pattern", "name")
_match_or = _maker(cst.MatchOr, "patterns")
_match_or_element = _maker(cst.MatchOrElement, "pattern")

_word = lru_cache(MAX_NAMES)(_name)  # one that is no expression, so that nobody asks for its place
_NO_PARAMETERS = cst.Parameters()
_DOT = cst.Dot()
_ASYNC = cst.Asynchronous()
_OPERATORS: dict[type[ast.AST], cst.CSTNode] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.Div: cst.Divide(),
    ast.FloorDiv: cst.FloorDivide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(),
    ast.MatMult: cst.MatrixMultiply(), ast.LShift: cst.LeftShift(), ast.RShift: cst.RightShift(),
    ast.BitOr: cst.BitOr(), ast.BitAnd: cst.BitAnd(), ast.BitXor: cst.BitXor(),
    ast.And: cst.And(), ast.Or: cst.Or(),
    ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert(),
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(),
    ast.LtE: cst.LessThanEqual(), ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(),
    ast.Is: cst.Is(), ast.IsNot: cst.IsNot(), ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}  # fmt: skip
_AUGMENTED: dict[type[ast.AST], cst.CSTNode] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.Div: cst.DivideAssign(), ast.FloorDiv: cst.FloorDivideAssign(),
    ast.Mod: cst.ModuloAssign(), ast.Pow: cst.PowerAssign(),
    ast.MatMult: cst.MatrixMultiplyAssign(), ast.LShift: cst.LeftShiftAssign(),
    ast.RShift: cst.RightShiftAssign(), ast.BitOr: cst.BitOrAssign(),
    ast.BitAnd: cst.BitAndAssign(), ast.BitXor: cst.BitXorAssign(),
}  # fmt: skip


def _constant(builder: Builder, node: ast.Constant) -> Any:
    value = node.value
    if value is None or value is True or value is False:
        return _name(repr(value))
    if isinstance(value, (str, bytes)):
        return _string(repr(value))
    if isinstance(value, int):
        return _integer(str(value) if value.bit_length() < 64 else hex(value))
    if isinstance(value, float):
        return _float(repr(value).replace("inf", "1e999"))
    return _ellipsis() if value is Ellipsis else _imaginary(f"{value.imag}j")


def _f_string(builder: Builder, node: ast.JoinedStr) -> Any:
    return _formatted([_part(builder, part) for part in node.values])


def _part(builder: Builder, node: Any) -> Any:
    if isinstance(node, ast.Constant):
        return _formatted_text(node.value)
    spec = node.format_spec
    parts = None if spec is None else [_part(builder, part) for part in spec.values]
    conversion = chr(node.conversion) if node.conversion > 0 else None
    return _formatted_value(builder.expression(node.value), conversion, parts)


def _attribute_of(builder: Builder, node: ast.Attribute) -> Any:
    return _attribute(builder.expression(node.value), _word(node.attr))


def _call_of(builder: Builder, node: ast.Call) -> Any:
    arguments = _arguments(builder, node.args, node.keywords)
    return builder.use(_call(builder.expression(node.func), arguments))


def _arguments(
    builder: Builder, values: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> list[Any]:
    """Build arguments, in the order of the source."""
    made = []
    for value in values:
        if type(value) is ast.Starred:
            argument = _arg(builder.expression(value.value), None, "*")
        else:
            argument = _arg(builder.expression(value), None, "")
        builder.origins[id(argument)] = value
        made.append(argument)
    for keyword in keywords:
        name = None if keyword.arg is None else _word(keyword.arg)
        argument = _arg(builder.expression(keyword.value), name, "**" if name is None else "")
        builder.origins[id(argument)] = keyword
        made.append(argument)
    if keywords and values and _begins(values[-1]) > _begins(keywords[0]):  # f(a=1, *b)
        parts: list[Any] = [*values, *keywords]
        order = sorted(range(len(parts)), key=lambda index: _begins(parts[index]))
        made = [made[index] for index in order]
    return made


def _begins(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _subscript_of(builder: Builder, node: ast.Subscript) -> Any:
    inner = node.slice
    keys = inner.elts if isinstance(inner, ast.Tuple) and inner.elts else [inner]
    slices = [_subscript_element(_key(builder, key)) for key in keys]
    return _subscript(builder.expression(node.value), slices)


def _key(builder: Builder, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        parts = (builder.optional(part) for part in (node.lower, node.upper, node.step))
        return _slice(*parts)
    if isinstance(node, ast.Starred):
        return _index(builder.expression(node.value), "*")
    return _index(builder.expression(node), None)


def _elements(builder: Builder, nodes: Sequence[ast.expr]) -> list[Any]:
    return [
        _starred_element(builder.expression(node.value))
        if isinstance(node, ast.Starred)
        else _element(builder.expression(node))
        for node in nodes
    ]


def _dict_of(builder: Builder, node: ast.Dict) -> Any:
    return _dict(
        [
            _starred_dict_element(builder.expression(value))
            if key is None
            else _dict_element(builder.expression(key), builder.expression(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    )


def _binary_of(builder: Builder, node: ast.BinOp) -> Any:
    operator = _OPERATORS[type(node.op)]
    return _binary(builder.expression(node.left), operator, builder.expression(node.right))


def _boolean_of(builder: Builder, node: ast.BoolOp) -> Any:
    """`a and b and c` is `(a and b) and c`."""
    operator = _OPERATORS[type(node.op)]
    first, *others = node.values
    made = builder.expression(first)
    for other in others:
        made = _boolean(made, operator, builder.expression(other))
        if other is not others[-1]:
            builder.origins[id(made)] = first, other
    return made


def _unary_of(builder: Builder, node: ast.UnaryOp) -> Any:
    return _unary(_OPERATORS[type(node.op)], builder.expression(node.operand))


def _comparison_of(builder: Builder, node: ast.Compare) -> Any:
    targets = [
        _comparison_target(_OPERATORS[type(operator)], builder.expression(other))
        for operator, other in zip(node.ops, node.comparators, strict=True)
    ]
    return _comparison(builder.expression(node.left), targets)


def _comprehension(builder: Builder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    make = _comprehensions[type(node)]
    return builder.within(
        _targets(node.generators),
        lambda: make(builder.expression(node.elt), _clauses(builder, node.generators)),
    )


def _dict_comprehension_of(builder: Builder, node: ast.DictComp) -> Any:
    return builder.within(
        _targets(node.generators),
        lambda: _dict_comprehension(
            builder.expression(node.key),
            builder.expression(node.value),
            _clauses(builder, node.generators),
        ),
    )


def _targets(generators: Sequence[ast.comprehension]) -> frozenset[str]:
    parts = (part for clause in generators for part in ast.walk(clause.target))
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))


def _clauses(builder: Builder, generators: Sequence[ast.comprehension]) -> Any:
    made = None
    for clause in reversed(generators):
        conditions = [_condition(builder.expression(test)) for test in clause.ifs]
        target, iterable = builder.expression(clause.target), builder.expression(clause.iter)
        made = _for_in(target, iterable, conditions, made, _ASYNC if clause.is_async else None)
    return made


def _parameters_of(builder: Builder, node: ast.arguments) -> Any:
    if not (node.args or node.posonlyargs or node.kwonlyargs or node.vararg or node.kwarg):
        return _NO_PARAMETERS
    positional = [*node.posonlyargs, *node.args]
    missing = [None] * (len(positional) - len(node.defaults))
    made = [
        _parameter_of(builder, argument, default)
        for argument, default in zip(positional, [*missing, *node.defaults], strict=True)
    ]
    keyword_only = [
        _parameter_of(builder, argument, default)
        for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
    ]
    if node.vararg is not None:
        star: Any = _parameter_of(builder, node.vararg, None, "*")
    else:
        star = cst.ParamStar() if keyword_only else cst.MaybeSentinel.DEFAULT
    double = None if node.kwarg is None else _parameter_of(builder, node.kwarg, None, "**")
    split = len(node.posonlyargs)
    return _parameters(made[split:], star, keyword_only, double, made[:split])


def _parameter_of(builder: Builder, node: ast.arg, default: ast.expr | None, star: str = "") -> Any:
    annotation = (
        None if node.annotation is None else _annotation(builder.expression(node.annotation))
    )
    return _parameter(_word(node.arg), annotation, builder.optional(default), star)


def _lambda_of(builder: Builder, node: ast.Lambda) -> Any:
    made, uses = builder.apart(
        lambda: _lambda(_parameters_of(builder, node.args), builder.expression(node.body))
    )
    builder.uses[id(made)] = uses
    builder.take(uses, frozenset(parameter.arg for parameter in parameters(node.args)))
    return made


_EXPRESSIONS: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.Constant: _constant,
    ast.Attribute: _attribute_of,
    ast.Call: _call_of,
    ast.Subscript: _subscript_of,
    ast.Tuple: lambda builder, node: _tuple(_elements(builder, node.elts)),
    ast.List: lambda builder, node: _list(_elements(builder, node.elts)),
    ast.Set: lambda builder, node: _set(_elements(builder, node.elts)),
    ast.Dict: _dict_of,
    ast.BinOp: _binary_of,
    ast.BoolOp: _boolean_of,
    ast.UnaryOp: _unary_of,
    ast.Compare: _comparison_of,
    ast.IfExp: lambda builder, node: _if_expression(
        builder.expression(node.test),
        builder.expression(node.body),
        builder.expression(node.orelse),
    ),
    ast.JoinedStr: _f_string,
    ast.Lambda: _lambda_of,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension_of,
    ast.NamedExpr: lambda builder, node: _named_expression(
        builder.expression(node.target), builder.expression(node.value)
    ),
    ast.Await: lambda builder, node: _await(builder.expression(node.value)),
    ast.Yield: lambda builder, node: _yield(builder.optional(node.value)),
    ast.YieldFrom: lambda builder, node: _yield(_from(builder.expression(node.value))),
}


def _assign_of(builder: Builder, node: ast.Assign) -> Any:
    targets = [_assign_target(builder.use(builder.expression(target))) for target in node.targets]
    return _assign(targets, builder.expression(node.value))


def _aug_assign_of(builder: Builder, node: ast.AugAssign) -> Any:
    operator = _AUGMENTED[type(node.op)]
    return _aug_assign(builder.expression(node.target), operator, builder.expression(node.value))


def _ann_assign_of(builder: Builder, node: ast.AnnAssign) -> Any:
    annotation = _annotation(builder.expression(node.annotation))
    target = builder.use(builder.expression(node.target))
    return _ann_assign(target, annotation, builder.optional(node.value))


def _delete(builder: Builder, node: ast.Delete) -> Any:
    if len(node.targets) == 1:
        return _del(builder.expression(node.targets[0]))
    return _del(_tuple(_elements(builder, node.targets)))


def _raise_of(builder: Builder, node: ast.Raise) -> Any:
    cause = None if node.cause is None else _from(builder.expression(node.cause))
    return _raise(builder.optional(node.exc), cause)


def _names(names: Sequence[str]) -> list[Any]:
    return [_name_item(_name(name)) for name in names]


def _import_from_of(builder: Builder, node: ast.ImportFrom) -> Any:
    module = _dotted(node.module) if node.module else None
    names = cst.ImportStar() if node.names[0].name == "*" else _aliases(node.names)
    return _import_from(module, names, [_DOT] * node.level)


def _aliases(names: Sequence[ast.alias]) -> list[Any]:
    return [
        _import_alias(_dotted(alias.name), _as_name(_name(alias.asname)) if alias.asname else None)
        for alias in names
    ]


def _dotted(name: str) -> Any:
    first, *parts = name.split(".")
    made = _name(first)
    for part in parts:
        made = _attribute(made, _name(part))
    return made


@lru_cache(MAX_NAMES)
def _numbered(number: int) -> Any:
    """Build what stands for the body of an outlined function."""
    return _one_line([_expr(_integer(str(number)))])


def _function_of(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    number = builder.outlined.get((node.lineno, node.col_offset))
    if number is None:
        return builder.apart(lambda: _function_apart(builder, node))[0]
    decorators = builder.apart(lambda: _decorators(builder, node.decorator_list))[0]
    asynchronous = _ASYNC if isinstance(node, ast.AsyncFunctionDef) else None
    body = _numbered(number)
    return _function(_word(node.name), _NO_PARAMETERS, body, decorators, None, asynchronous)


def _function_apart(builder: Builder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    decorators = _decorators(builder, node.decorator_list)
    name = _word(node.name)
    asynchronous = _ASYNC if isinstance(node, ast.AsyncFunctionDef) else None
    parameters = _parameters_of(builder, node.args)
    returns = None if node.returns is None else _annotation(builder.expression(node.returns))
    body, uses = builder.apart(lambda: builder.suite(node.body))
    made = _function(name, parameters, body, decorators, returns, asynchronous)
    builder.uses[id(made)] = uses
    return made


def _decorators(builder: Builder, nodes: Sequence[ast.expr]) -> list[Any]:
    return [_decorator(builder.expression(node)) for node in nodes]


def _class_of(builder: Builder, node: ast.ClassDef) -> Any:
    return builder.apart(lambda: _class_apart(builder, node))[0]


def _class_apart(builder: Builder, node: ast.ClassDef) -> Any:
    decorators = _decorators(builder, node.decorator_list)
    bases = _arguments(builder, node.bases, [])
    keywords = _arguments(builder, [], node.keywords)
    return _class(_name(node.name), builder.suite(node.body), bases, keywords, decorators)


def _if_of(builder: Builder, node: ast.If) -> Any:
    test, body = builder.expression(node.test), builder.suite(node.body)
    otherwise = node.orelse
    if len(otherwise) == 1 and isinstance(otherwise[0], ast.If):
        inner = otherwise[0]
        if inner.col_offset == node.col_offset:  # `elif`; after `else:` it would stand deeper
            made = _if_of(builder, inner)
            builder.origins[id(made)] = inner
            return _if(test, body, made)
    return _if(test, body, _else_of(builder, otherwise))


def _else_of(builder: Builder, body: Sequence[ast.stmt]) -> Any:
    return _else(builder.suite(body)) if body else None


def _for_of(builder: Builder, node: ast.For | ast.AsyncFor) -> Any:
    target, iterable = builder.expression(node.target), builder.expression(node.iter)
    body, otherwise = builder.suite(node.body), _else_of(builder, node.orelse)
    asynchronous = _ASYNC if isinstance(node, ast.AsyncFor) else None
    return _for(target, iterable, body, otherwise, asynchronous)


def _while_of(builder: Builder, node: ast.While) -> Any:
    test, body = builder.expression(node.test), builder.suite(node.body)
    return _while(test, body, _else_of(builder, node.orelse))


def _with_of(builder: Builder, node: ast.With | ast.AsyncWith) -> Any:
    items = [
        _with_item(
            builder.expression(item.context_expr),
            None
            if item.optional_vars is None
            else _as_name(builder.expression(item.optional_vars)),
        )
        for item in node.items
    ]
    asynchronous = _ASYNC if isinstance(node, ast.AsyncWith) else None
    return _with(items, builder.suite(node.body), asynchronous)


def _try_of(builder: Builder, node: Any) -> Any:
    starred = not isinstance(node, ast.Try)  # `except*`, from Python 3.11 on
    body = builder.suite(node.body)
    handlers = [
        (_except_star if starred else _except)(
            builder.suite(handler.body),
            builder.optional(handler.type),
            _as_name(_name(handler.name)) if handler.name else None,
        )
        for handler in node.handlers
    ]
    otherwise = _else_of(builder, node.orelse)
    finally_ = _finally(builder.suite(node.finalbody)) if node.finalbody else None
    return (_try_star if starred else _try)(body, handlers, otherwise, finally_)


_SIMPLE: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.Expr: lambda builder, node: _expr(builder.expression(node.value)),
    ast.Assign: _assign_of,
    ast.AugAssign: _aug_assign_of,
    ast.AnnAssign: _ann_assign_of,
    ast.Return: lambda builder, node: _return(builder.optional(node.value)),
    ast.Delete: _delete,
    ast.Raise: _raise_of,
    ast.Assert: lambda builder, node: _assert(
        builder.expression(node.test), builder.optional(node.msg)
    ),
    ast.Pass: lambda builder, node: _pass(),
    ast.Break: lambda builder, node: _break(),
    ast.Continue: lambda builder, node: _continue(),
    ast.Global: lambda builder, node: _global(_names(node.names)),
    ast.Nonlocal: lambda builder, node: _nonlocal(_names(node.names)),
    ast.Import: lambda builder, node: _import(_aliases(node.names)),
    ast.ImportFrom: _import_from_of,
}
_COMPOUND: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.FunctionDef: _function_of,
    ast.AsyncFunctionDef: _function_of,
    ast.ClassDef: _class_of,
    ast.If: _if_of,
    ast.For: _for_of,
    ast.AsyncFor: _for_of,
    ast.While: _while_of,
    ast.With: _with_of,
    ast.AsyncWith: _with_of,
    ast.Try: _try_of,
    ast.Match: lambda builder, node: _match(
        builder.expression(node.subject), [_case_of(builder, case) for case in node.cases]
    ),
}
if sys.version_info >= (3, 11):
    _COMPOUND[ast.TryStar] = _try_of
if sys.version_info >= (3, 12):
    _SIMPLE[ast.TypeAlias] = lambda builder, node: _type_alias(
        builder.expression(node.name), builder.expression(node.value)
    )
if sys.version_info >= (3, 14):
    _EXPRESSIONS[ast.TemplateStr] = _f_string


def _case_of(builder: Builder, node: ast.match_case) -> Any:
    pattern, guard = _pattern(builder, node.pattern), builder.optional(node.guard)
    return _case(pattern, builder.suite(node.body), guard)


def _pattern(builder: Builder, node: ast.pattern) -> Any:
    return _PATTERNS[type(node)](builder, node)


def _optional_name(name: str | None) -> Any:
    return None if name is None else _name(name)


def _sequence_pattern(builder: Builder, node: ast.MatchSequence) -> Any:
    return _match_list(
        [
            _match_star(_optional_name(part.name))
            if isinstance(part, ast.MatchStar)
            else _match_element(_pattern(builder, part))
            for part in node.patterns
        ]
    )


def _mapping_pattern(builder: Builder, node: ast.MatchMapping) -> Any:
    elements = [
        _match_mapping_element(builder.expression(key), _pattern(builder, pattern))
        for key, pattern in zip(node.keys, node.patterns, strict=True)
    ]
    return _match_mapping(elements, _optional_name(node.rest))


def _class_pattern(builder: Builder, node: ast.MatchClass) -> Any:
    positional = [_match_element(_pattern(builder, pattern)) for pattern in node.patterns]
    keywords = [
        _match_keyword(_name(name), _pattern(builder, pattern))
        for name, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True)
    ]
    return _match_class(builder.expression(node.cls), positional, keywords)


def _as_pattern(builder: Builder, node: ast.MatchAs) -> Any:
    inner = None if node.pattern is None else _pattern(builder, node.pattern)
    return _match_as(inner, _optional_name(node.name))


_PATTERNS: dict[type[ast.AST], Callable[[Builder, Any], Any]] = {
    ast.MatchValue: lambda builder, node: _match_value(builder.expression(node.value)),
    ast.MatchSingleton: lambda builder, node: _match_singleton(_name(repr(node.value))),
    ast.MatchSequence: _sequence_pattern,
    ast.MatchMapping: _mapping_pattern,
    ast.MatchClass: _class_pattern,
    ast.MatchAs: _as_pattern,
    ast.MatchOr: lambda builder, node: _match_or(
        [_match_or_element(_pattern(builder, pattern)) for pattern in node.patterns]
    ),
}
