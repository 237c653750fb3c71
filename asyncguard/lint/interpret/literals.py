"""Constants, f-strings and displays of lists, tuples, sets and dicts."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.contexts.effects import note_escape
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.iteration import element_of, join_all
from asyncguard.lint.domain.entries import Entries
from asyncguard.lint.domain.values import (
    CONTAINER,
    HOST_VALUE,
    UNKNOWN_VALUE,
    Role,
    Value,
    container,
    literal,
    with_role,
)
from asyncguard.lint.interpret.protocols import protocol_site
from asyncguard.lint.syntax.tree import text_of


def number(frame: Frame, node: cst.Integer | cst.Float) -> Value:
    """A number."""
    try:
        text = node.value
        return literal(int(text, 0) if type(node) is cst.Integer else float(text))
    except ValueError:
        return HOST_VALUE


def string(frame: Frame, node: cst.SimpleString | cst.ConcatenatedString) -> Value:
    """A string; its text matters where it names a device."""
    text = text_of(node)
    return HOST_VALUE if text is None or len(text) > 78 else literal(text)


def other_constant(frame: Frame, node: cst.CSTNode) -> Value:
    """Any other constant."""
    return HOST_VALUE


_FORMATTED = (cst.FormattedStringExpression, cst.TemplatedStringExpression)
_WRITTEN = (cst.FormattedStringText, cst.TemplatedStringText)


def f_string(frame: Frame, node: cst.FormattedString | cst.TemplatedString) -> Value:
    """An f-string formats each value in it."""
    for part in node.parts:
        if isinstance(part, _FORMATTED):
            value = evaluate(frame, part.expression)
            protocol = "__repr__" if part.conversion else "__format__"
            protocol_site(frame, protocol, part.expression, value)
            for spec in part.format_spec or ():
                if isinstance(spec, _FORMATTED):
                    evaluate(frame, spec.expression)
    first = node.parts[0] if node.parts else None
    return HOST_VALUE._replace(name=first.value if isinstance(first, _WRITTEN) else "")


def concatenated(frame: Frame, node: cst.ConcatenatedString) -> Value:
    """Adjacent string literals, some of which may be formatted."""
    if text_of(node) is not None:
        return string(frame, node)
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    begins = text_of(node.left)
    return HOST_VALUE._replace(name=left.name if begins is None else begins + right.name)


def sequence(frame: Frame, node: cst.Tuple | cst.List) -> Value:
    """A tuple or list remembers each element while it is short."""
    items: list[Value] = []
    starred = False
    for element in node.elements:
        value = evaluate(frame, element.value)
        if type(element) is cst.StarredElement:
            starred = True
            value = element_of(frame, value)
        items.append(value)
    element_value = join_all(items)
    exact = not starred and 0 < len(items) <= 12
    role = Role.TUPLE if type(node) is cst.Tuple else Role.NONE
    return Value(CONTAINER, role=role, element=element_value, items=tuple(items) if exact else None)


def set_display(frame: Frame, node: cst.Set) -> Value:
    """A set."""
    held = join_all([evaluate(frame, e.value) for e in node.elements])
    return with_role(container(held), Role.SET)


def dict_display(frame: Frame, node: cst.Dict) -> Value:
    """A dict remembers the values of its literal keys."""
    fields: Entries[Value] = Entries()
    values: list[Value] = []
    for element in node.elements:
        value = evaluate(frame, element.value)
        if type(element) is cst.StarredDictElement:
            values.append(value.element or UNKNOWN_VALUE)
            fields = fields.merged(value.fields, lambda _, last: last)
            continue
        key = evaluate(frame, element.key) if type(element) is cst.DictElement else HOST_VALUE
        note_escape(frame, value)  # one of them is chosen and called
        values.append(value)
        if isinstance(key.literal, str):
            fields = fields.put(key.literal, value)
    return Value(CONTAINER, role=Role.DICT, element=join_all(values), fields=fields)


EXPRESSIONS: Expressions = {
    cst.Integer: number,
    cst.Float: number,
    cst.SimpleString: string,
    cst.Imaginary: other_constant,
    cst.Ellipsis: other_constant,
    cst.FormattedString: f_string,
    cst.TemplatedString: f_string,
    cst.ConcatenatedString: concatenated,
    cst.Tuple: sequence,
    cst.List: sequence,
    cst.Set: set_display,
    cst.Dict: dict_display,
}
