"""Bytes to text: encodings, line ends, and what a cheap look at the text says.

The first stage. `decode` honours byte-order marks and PEP 263; `frameworks_in` is the screen that
spares most files a tree: without a framework's import nothing in a file is a device value.
"""

from __future__ import annotations

import codecs
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from asyncguard.lint.names.words import MAX_NAMES

ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST: `compile` stops behind the parser


@dataclass(frozen=True)
class SourceError(Exception):
    """The source cannot be read as Python; `line` and `column` count from 1.

    `may_be_newer`: a later Python may know what this one does not.
    """

    reason: str
    line: int = 1
    column: int = 1
    may_be_newer: bool = False


_FORM_FEED = re.compile(r"^[ \t\f]*\f", re.MULTILINE)


def decode(data: bytes) -> str:
    """Return the text, its line ends all turned into `\\n`; raises SourceError."""
    try:
        encoding = "utf-8"
        if _may_declare(data):
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, LookupError) as error:
        raise SourceError(f"unknown encoding: {error}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        reason = f"not {error.encoding} text: {error.reason}"
        raise SourceError(reason, line, column) from error
    except (UnicodeError, ValueError) as error:  # of codecs that are no text encodings
        raise SourceError(f"not {encoding} text: {error}") from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    # A form feed sets the indentation back to zero; without it the line says the same.
    return _FORM_FEED.sub("", text) if "\f" in text else text


def _may_declare(data: bytes) -> bool:
    """Whether the first two lines may name an encoding. One of them may be very long."""
    first = data.find(b"\n")
    second = data.find(b"\n", first + 1)
    end = len(data) if second < 0 else second
    return data.startswith(codecs.BOM_UTF8) or data.find(b"coding", 0, end) >= 0


_IMPORT = re.compile(r"(?:^|;)[ \t]*(?:import|from)[ \t]+([\w., \t]+)")
_NAME = re.compile(r"[\w.]+")


def frameworks_in(text: str, modules: Mapping[str, str]) -> tuple[str, ...]:
    """Return the frameworks whose modules the text imports, in order of mention.

    Any part of a dotted name counts: `d2l.torch` re-exports torch.
    """
    parts = chain.from_iterable(map(_imported_on, lines_with("import", text)))
    found = dict.fromkeys(modules[part] for part in parts if part in modules)
    return tuple(name for name in found if name != "numpy")


@lru_cache(MAX_NAMES)
def _imported_on(line: str) -> tuple[str, ...]:
    """Return the parts of the names that a line imports, in order, and their first two together."""
    found: list[str] = []
    for match in _IMPORT.finditer(line):
        for name in _NAME.findall(match.group(1).replace(" import ", ".")):
            parts = name.split(".")
            found += [*parts, ".".join(parts[:2])]
    return tuple(found)


def lines_with(word: str, text: str) -> Iterator[str]:
    """Yield the lines that hold a word, without looking at others."""
    at = text.find(word)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind("\n", 0, at) + 1 : end]
        at = text.find(word, end)


def names_in(text: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return what stands for the names of which the text takes something, in order of mention."""
    used = re.finditer(rf"(?<![\w.])({'|'.join(names)})\.\w", text)
    return tuple({names[match.group(1)]: None for match in used})


_STARRED = re.compile(r"(?:^|;)[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\*")


def starred_in(text: str) -> list[str]:
    """Return the modules that the text imports everything from."""
    lines = (line for line in lines_with("import", text) if "*" in line)
    return [module for line in lines for module in _STARRED.findall(line)]


def called_in(text: str, methods: tuple[str, ...]) -> set[str]:
    """Return those of some methods that the text calls."""
    return set(re.findall(rf"\.({'|'.join(methods)})\(", text))


def check_syntax(text: str) -> Any:
    """Parse with Python's own parser; raises SourceError where it cannot be Python.

    Its tree says no more than how deep the text nests.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, "<text>", "exec", ONLY_PARSE, dont_inherit=True)
    except SyntaxError as error:
        reason = error.msg or "syntax error"
        line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
        raise SourceError(reason, line, column, "too many" not in reason) from error
    except ValueError as error:  # null bytes, on some versions
        raise SourceError(str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise SourceError("nested too deeply to be analysed") from error


def nesting(tree: Any, most: int) -> int:
    """Return how deep expressions nest within each other; at most `most`, statements count too."""
    level = [tree]
    levels = 0
    while level:
        levels += 1
        level = [part for node in level for part in _inner(node)]
    if levels <= most:
        return levels
    deepest = 0
    pending = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        pending += [(part, depth + 1 if _is_expression(part) else 0) for part in _inner(node)]
    return deepest


_LEAVES = frozenset({"Name", "Constant", "alias", "Load", "Store", "Del"})


def _inner(node: Any) -> Iterator[Any]:
    """Yield the nodes of Python's own that one holds, but for names and constants."""
    for field in node._fields:
        value = getattr(node, field, None)
        for part in value if type(value) is list else (value,):
            if hasattr(part, "_fields") and type(part).__name__ not in _LEAVES:
                yield part


def _is_expression(node: Any) -> bool:
    return any(base.__name__ == "expr" for base in type(node).__mro__)
