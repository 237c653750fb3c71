"""A module that needs a name which nothing binds cannot be imported."""

from __future__ import annotations

import sys

import libcst as cst
import pytest

from asyncguard.lint.modules.importable import unbound


def name_that_is_missing(text: str, *binds: str) -> str:
    found = unbound(cst.parse_module(text), binds)
    return found.value if found is not None else ""


@pytest.mark.parametrize(
    "text",
    [
        "@REGISTRY\ndef f(): ...",
        "@REGISTRY.register()\nclass A: ...",
        "class A(REGISTRY): ...",
        "class A(Base[REGISTRY]): ...",
    ],
)
def test_a_decorator_or_a_base_that_nothing_binds_is_missing(text: str) -> None:
    assert name_that_is_missing(text, "Base") == "REGISTRY"
    assert name_that_is_missing(text, "Base", "REGISTRY") == ""


@pytest.mark.parametrize(
    "text",
    [
        "class A(Exception): ...",  # a builtin
        "@profile\ndef f(): ...",  # which profilers bind
        "if fast:\n    @REGISTRY\n    def f(): ...",  # which may not run
        "from elsewhere import *\nclass A(Base): ...",
        "globals()['Base'] = object\nclass A(Base): ...",
        "def make():\n    global Base\n    Base = object\nmake()\nclass A(Base): ...",
        "@(lambda f: f)\ndef g(): ...",
        "class A:\n    @REGISTRY\n    def f(self): ...",  # the class may bind it
    ],
)
def test_what_may_be_bound_is_not_missing(text: str) -> None:
    assert name_that_is_missing(text) == ""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="parameters of types are new in 3.12")
def test_a_parameter_of_a_type_is_bound_by_its_class() -> None:
    assert name_that_is_missing("class A[T](Base[T]): ...", "Base") == ""
