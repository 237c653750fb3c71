"""The functions and methods of libraries and of Python that repairs know, by their full names."""

from __future__ import annotations

import ast

from asyncguard.lint.fixes import bindings, flow
from asyncguard.lint.fixes.code import FUNCTIONS, Code, dotted
from asyncguard.lint.fixes.kept import OF_SCOPES, kept
from asyncguard.lint.fixes.words import table, words

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


def library_name(code: Code, function: ast.AST) -> str:
    """Return the full name of what a module-level import gives; "" where it is anything else."""
    name = dotted(function)
    head = name.partition(".")[0]
    if not name or head not in code.may_import or _is_rebound(code, function, head):
        return ""
    return code.meaning(function)


def builtin_name(code: Code, function: ast.AST) -> str:
    """Return the name of a builtin; "" where the file may give the name another meaning."""
    if not isinstance(function, ast.Name) or function.id in code.may_import:
        return ""
    if function.id in _defined(code.tree) or _is_rebound(code, function, function.id):
        return ""
    return function.id


def is_of_libraries(meaning: str) -> bool:
    """Whether a full name is one of a framework's functions of arrays."""
    return meaning.rpartition(".")[0] in _LIBRARIES


def is_plain_function(meaning: str) -> bool:
    """Whether a full name is a library's function that gives a number, a text or a type."""
    return meaning in _PLAIN_FUNCTIONS


def _is_rebound(code: Code, node: ast.AST, name: str) -> bool:
    around = (p for p in code.parents(node) if isinstance(p, (*FUNCTIONS, ast.Lambda)))
    return any(name in bindings.own_names(scope) for scope in around) or bool(
        flow.assignments(code.tree, name) or name in bindings.rebound_elsewhere(code.tree)
    )


@kept(OF_SCOPES)
def _defined(tree: ast.Module) -> frozenset[str]:
    return frozenset(s.name for s in tree.body if isinstance(s, (*FUNCTIONS, ast.ClassDef)))


def is_listed(name: str) -> bool:
    """Whether a function or method of arrays is known by its name."""
    return name in _LISTED or is_in_place(name)


def is_in_place(name: str) -> bool:
    """Whether a function or method of arrays changes what it is called on, by its name."""
    return name.endswith("_") and not name.endswith("__")


_LISTED = FRESH | SHARED | SEVERAL | PLAIN_METHODS | {"tolist"}
