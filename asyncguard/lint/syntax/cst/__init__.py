"""The nodes of the trees that are interpreted: libcst's, with the fields that hold code.

Names, fields and their order are libcst's own, and its parser's trees have the same shape
(tests/lint/test_nodes.py). Spaces, commas, parentheses, comments and the quotes of strings are left
out: nobody here reads them. The classes are ours, since libcst's take half the start of a check to
import, and a third of the time again to make each node, for the fields that are left out.
"""
# ruff: noqa: F403 - the names of its files are those of the package

from asyncguard.lint.syntax.cst.base import *
from asyncguard.lint.syntax.cst.expressions import *
from asyncguard.lint.syntax.cst.operators import *
from asyncguard.lint.syntax.cst.patterns import *
from asyncguard.lint.syntax.cst.statements import *
