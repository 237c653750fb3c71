"""Text that is made in every step although nobody reads it: leave it to whoever shows it.

`logger.debug(f"loss {loss}")` reads the loss even where debugging is off; `logger.debug("loss %s",
loss)` does not. A check that takes its message as an f-string makes the message before it knows
that it fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from asyncguard.lint.fixes import effects
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.spots import Repair, Spot
from asyncguard.lint.fixes.words import pattern, words
from asyncguard.model import Applicability, Fix

ORDER = 10
_LEVELS = words("message.levels")
_LOGGER = pattern("message.logger")
_CHECK = pattern("message.check")
_LAZY = words("message.lazy")


def rewrite(spots: Sequence[Spot]) -> Iterator[Repair]:
    """Yield the repair of each message, once for all values in it."""
    messages: dict[int, list[Spot]] = {}
    texts: dict[int, ast.JoinedStr] = {}
    for spot in spots:
        text = spot.code.around(spot.node, ast.JoinedStr)
        if text is not None and isinstance(spot.code.parent(spot.node), ast.FormattedValue):
            messages.setdefault(id(text), []).append(spot)
            texts[id(text)] = text
    for key, group in messages.items():
        fix = _logged(group[0].code, texts[key]) or _checked(group[0].code, texts[key])
        if fix is not None:
            yield Repair(fix, tuple(group))


def _logged(code: Code, text: ast.JoinedStr) -> Fix | None:
    """Pass the values of a log message instead of their text."""
    call = code.parent(text)
    if not isinstance(call, ast.Call) or call.args != [text] or not _is_logger(call.func):
        return None
    if code.name_for("logging") is None:  # other loggers have other marks for values
        return None
    if any(k.arg not in {"exc_info", "stacklevel", "extra"} for k in call.keywords):
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


def _is_logger(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in _LEVELS:
        return False
    value = function.value
    name = value.id if isinstance(value, ast.Name) else getattr(value, "attr", "")
    return _LOGGER.search(name) is not None


def _template(code: Code, text: ast.JoinedStr) -> tuple[str | None, list[str]]:
    """Return the text with `%s` for each value, as it is written, and the values."""
    source = code.source(text)
    opening = re.match(r"""[fF](["'])(?!\1)""", source)
    if opening is None or "\\" in source or "%" in source or "\n" in source:
        return None, []
    parts: list[str] = []
    values: list[str] = []
    for part in text.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue) and part.format_spec is None:
            if part.conversion not in (-1, ord("r"), ord("s")):
                return None, []
            parts.append("%r" if part.conversion == ord("r") else "%s")
            values.append(ast.unparse(part.value))
        else:
            return None, []
    quote = opening[1]
    joined = "".join(parts)
    return (f"{quote}{joined}{quote}", values) if quote not in joined else (None, [])


def _checked(code: Code, text: ast.JoinedStr) -> Fix | None:
    """Hand a check a function that makes its message."""
    call = code.parent(text)
    if not isinstance(call, ast.Call) or text not in call.args[1:]:
        return None
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if _CHECK.search(name) is None:
        return None
    edit = code.replace(text, f"lambda: {code.source(text)}")
    how = "the message is made only if the check fails"
    if _is_lazy(code, call.func):
        is_same = effects.is_inert(code, [text])
        return Fix(how, (edit,), Applicability.SAFE if is_same else Applicability.UNSAFE)
    return Fix(f"{how}, if `{name}` takes a function for it", (edit,), Applicability.SHOWN)


def _is_lazy(code: Code, function: ast.expr) -> bool:
    """Whether it is a check that is known to take a function, under the name it is imported by."""
    if code.meaning(function) in _LAZY:
        return True
    return isinstance(function, ast.Name) and any(
        isinstance(statement, ast.ImportFrom)
        and any(alias.name in _LAZY and (alias.asname or alias.name) == function.id
                for alias in statement.names)
        for statement in code.tree.body
    )  # fmt: skip
