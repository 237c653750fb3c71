"""What docstrings say of parameters' types, in the styles of NumPy, Google and Sphinx.

x : torch.Tensor              x (torch.Tensor): the images          :type x: torch.Tensor
"""

from __future__ import annotations

import re

from asyncguard.lint.names.words import compiled

_TYPE = r"(?P<type>[A-Za-z_][\w.]*(?:\[[^\]\n]*\]+)?)"
_STYLES = (
    rf"^\s*(?P<name>\w+) ?: `?{_TYPE}`?(?=[\s,]|$)",
    rf"^\s*(?:[-*] )?`?(?P<name>\w+)`? ?\(`?{_TYPE}[^\n]*?\) ?:",
    rf"^\s*:type (?P<name>\w+): ?`?{_TYPE}`?(?=[\s,]|$)",
)


def documented(docstring: str) -> dict[str, str]:
    """Return the types that a docstring gives parameters, by their names."""
    found: dict[str, str] = {}
    for style in _STYLES:
        for match in compiled(style, re.MULTILINE).finditer(docstring):
            found.setdefault(match["name"], match["type"])
    return found
