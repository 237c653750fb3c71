"""Text that is made in every step although nobody reads it: leave it to whoever shows it.

`logger.debug(f"loss {loss}")` reads the loss even where debugging is off; `logger.debug("loss %s",
loss)` does not. A check that takes its message as an f-string makes the message before it knows
that it fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from asyncguard.lint.fixes import effects
from asyncguard.lint.fixes.code import Code, argument
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.lint.syntax import nodes
from asyncguard.lint.syntax.nodes import (
    Expression,
    attribute,
    called,
    keywords,
    name_of,
    positional,
)
from asyncguard.model import Applicability, Fix

ORDER = 10
_LEVELS = words("message.levels")
_LOGGER = pattern("message.logger")
_CHECK = pattern("message.check")
_LAZY = words("message.lazy")
Text = cst.FormattedString | cst.ConcatenatedString


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each message, once for all values in it."""
    messages: dict[int, list[Spot]] = {}
    texts: dict[int, Text] = {}
    for spot in spots:
        if (text := _text(spot)) is not None:
            messages.setdefault(id(text), []).append(spot)
            texts[id(text)] = text
    for key, group in messages.items():
        fix = _logged(group[0].code, texts[key]) or _checked(group[0].code, texts[key])
        if fix is not None:
            yield Repair(fix, tuple(group))


def _text(spot: Spot) -> Text | None:
    """Return the text that a value is put into, with what is written next to it."""
    code = spot.code
    place = code.parent(spot.node)
    text = code.parent(place) if isinstance(place, cst.FormattedStringExpression) else None
    if not isinstance(text, cst.FormattedString):  # the value is its width, or not in one at all
        return None
    found: Text = text
    while isinstance(around := code.parent(found), cst.ConcatenatedString):
        found = around
    return found


def _logged(code: Code, text: Text) -> Fix | None:
    """Pass the values of a log message instead of their text."""
    call = code.outer(text)
    if not isinstance(call, cst.Call) or positional(call) != [text] or not _is_logger(call.func):
        return None
    if code.name_for("logging") is None:  # other loggers have other marks for values
        return None
    if not keywords(call).keys() <= {"exc_info", "stacklevel", "extra"}:
        return None
    template, values = _template(code, text)
    if template is None or not values:
        return None
    message = (
        "pass the values, so that they are read only where the message is shown; "
        "a tensor then shows as `tensor(...)`"
    )
    edit = code.replace(text, ", ".join([template, *values]))
    return Fix(message, (edit,), Applicability.UNSAFE)


def _is_logger(function: Expression) -> bool:
    if not isinstance(function, cst.Attribute) or attribute(function) not in _LEVELS:
        return False
    return _LOGGER.search(name_of(function.value) or attribute(function.value)) is not None


def _template(code: Code, text: Text) -> tuple[str | None, list[str]]:
    """Return the text with `%s` for each value, as it is written, and the values."""
    source = code.source(text)
    opening = re.match(r"""[fF](["'])(?!\1)""", source)
    if opening is None or "\\" in source or "%" in source or "\n" in source:
        return None, []
    parts: list[str] = []
    values: list[str] = []
    for part in _pieces(text):
        if isinstance(part, str):
            parts.append(part)
            continue
        how = part.conversion or ("r" if part.equal is not None else "s")
        if part.format_spec is not None or how not in {"r", "s"}:
            return None, []
        parts.append(f"%{how}")
        values.append(argument(code, part.expression))
    quote = opening[1]
    joined = "".join(parts)
    return (f"{quote}{joined}{quote}", values) if quote not in joined else (None, [])


def _pieces(text: Expression) -> Iterator[str | cst.FormattedStringExpression]:
    """Yield what a text is made of: characters as they are shown, and what is filled in."""
    if isinstance(text, cst.ConcatenatedString):
        yield from _pieces(text.left)
        yield from _pieces(text.right)
    elif isinstance(text, cst.FormattedString):
        for part in text.parts:
            if isinstance(part, cst.FormattedStringText):
                yield part.value.replace("{{", "{").replace("}}", "}")
            elif isinstance(part, cst.FormattedStringExpression):
                if part.equal is not None:  # `{x=}` shows how it is written, too
                    shown = cst.Module([]).code_for_node(part)[1:-1]
                    yield shown.removesuffix(f"!{part.conversion}")
                yield part
    else:
        yield nodes.constant(text)


def _checked(code: Code, text: Text) -> Fix | None:
    """Hand a check a function that makes its message."""
    call = code.outer(text)
    if not isinstance(call, cst.Call) or text not in positional(call)[1:]:
        return None
    name = called(call)
    if _CHECK.search(name) is None:
        return None
    edit = code.replace(text, f"lambda: {code.source(text)}")
    how = "the message is made only if the check fails"
    if _is_lazy(code, call.func):
        is_same = effects.is_inert(code, [text])
        return Fix(how, (edit,), Applicability.SAFE if is_same else Applicability.UNSAFE)
    return Fix(f"{how}, if `{name}` takes a function for it", (edit,), Applicability.SHOWN)


def _is_lazy(code: Code, function: Expression) -> bool:
    """Whether it is a check that is known to take a function, under the name it is imported by."""
    if code.meaning(function) in _LAZY:
        return True
    imports = (part for part in nodes.body(code.tree) if isinstance(part, cst.ImportFrom))
    return any(
        alias.evaluated_name in _LAZY
        and (alias.evaluated_alias or alias.evaluated_name) == name_of(function)
        for each in imports
        for alias in (() if isinstance(each.names, cst.ImportStar) else each.names)
    )
