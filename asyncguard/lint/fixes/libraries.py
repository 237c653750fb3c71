"""The functions and methods of libraries and of Python that repairs know, by their full names."""

from __future__ import annotations

import libcst as cst

from asyncguard.lint.fixes import bindings, flow
from asyncguard.lint.fixes.code import Code
from asyncguard.lint.fixes.words import table, words
from asyncguard.lint.names import is_in_place
from asyncguard.lint.syntax.nodes import name_of
from asyncguard.lint.syntax.tree import dotted

SEVERAL = words("sort.several")
SHARED = words("sort.shared")
FRESH = (
    words("sort.fresh") | words("kind.comparing") | words("kind.floating") | words("kind.same")
) | frozenset(table("kind.reducing"))
PLAIN_METHODS = words("sort.plain_method")
PLAIN_ATTRIBUTES = words("sort.plain_attribute")
ARRAY_ATTRIBUTES = words("sort.array_attribute")
_PLAIN_FUNCTIONS = words("sort.plain_function")
_LIBRARIES = words("sort.libraries")
ANNOTATIONS = words("sort.annotation")
CONTEXTS = words("sort.context")
MUTATORS = words("sort.mutators")
CONTAINER_METHODS = words("sort.container_method")
TO_PLAIN = frozenset({"len", "int", "float", "bool", "str", "repr", "round", "isinstance", "type",
                       "id", "abs", "hash", "callable", "format"})  # fmt: skip
TO_LIST = frozenset({"list", "tuple", "sorted", "reversed", "set", "iter"})
KNOWN_BUILTINS = TO_PLAIN | TO_LIST | {"print", "range", "enumerate", "zip", "max", "min", "sum",
                                         "any", "all"}  # fmt: skip


def library_name(code: Code, function: cst.CSTNode) -> str:
    """Return the full name of what a module-level import gives; "" where it is anything else."""
    name = dotted(function)
    head = name.partition(".")[0]
    if not name or head not in code.may_import or _is_rebound(code, function, head):
        return ""
    return code.meaning(function)


def builtin_name(code: Code, function: cst.CSTNode) -> str:
    """Return the name of a builtin; "" where the file may give the name another meaning."""
    name = name_of(function)
    if not name or name in code.may_import:
        return ""
    return "" if name in flow.defined(code.tree) or _is_rebound(code, function, name) else name


def is_of_libraries(meaning: str) -> bool:
    """Whether a full name is one of a framework's functions of arrays."""
    return meaning.rpartition(".")[0] in _LIBRARIES


def is_plain_function(meaning: str) -> bool:
    """Whether a full name is a library's function that gives a number, a text or a type."""
    return meaning in _PLAIN_FUNCTIONS


def _is_rebound(code: Code, node: cst.CSTNode, name: str) -> bool:
    around = (p for p in code.scopes(node) if not isinstance(p, cst.ClassDef))
    return any(name in bindings.own_names(scope) for scope in around) or bool(
        flow.assignments(code.tree, name) or name in bindings.rebound_elsewhere(code.tree)
    )


def is_listed(name: str) -> bool:
    """Whether a function or method of arrays is known by its name."""
    return name in _LISTED or is_in_place(name)


_LISTED = FRESH | SHARED | SEVERAL | PLAIN_METHODS | {"tolist"}
