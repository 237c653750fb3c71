"""Operators, keywords and punctuation that hold nothing more."""

from __future__ import annotations

from asyncguard.lint.syntax.cst.base import CSTNode


class BaseBinaryOp(CSTNode):
    """An operator between two values."""


class Add(BaseBinaryOp):
    """`a + b`."""


class Subtract(BaseBinaryOp):
    """`a - b`."""


class Multiply(BaseBinaryOp):
    """`a * b`."""


class Divide(BaseBinaryOp):
    """`a / b`."""


class FloorDivide(BaseBinaryOp):
    """`a // b`."""


class Modulo(BaseBinaryOp):
    """`a % b`."""


class Power(BaseBinaryOp):
    """`a ** b`."""


class LeftShift(BaseBinaryOp):
    """`a << b`."""


class RightShift(BaseBinaryOp):
    """`a >> b`."""


class BitOr(BaseBinaryOp):
    """`a | b`."""


class BitAnd(BaseBinaryOp):
    """`a & b`."""


class BitXor(BaseBinaryOp):
    """`a ^ b`."""


class MatrixMultiply(BaseBinaryOp):
    """`a @ b`."""


class BaseBooleanOp(CSTNode):
    """`and` or `or`."""


class And(BaseBooleanOp):
    """`a and b`."""


class Or(BaseBooleanOp):
    """`a or b`."""


class BaseUnaryOp(CSTNode):
    """An operator before a value."""


class Plus(BaseUnaryOp):
    """`+a`."""


class Minus(BaseUnaryOp):
    """`-a`."""


class BitInvert(BaseUnaryOp):
    """`~a`."""


class Not(BaseUnaryOp):
    """`not a`."""


class BaseCompOp(CSTNode):
    """A comparison."""


class LessThan(BaseCompOp):
    """`a < b`."""


class GreaterThan(BaseCompOp):
    """`a > b`."""


class Equal(BaseCompOp):
    """`a == b`."""


class LessThanEqual(BaseCompOp):
    """`a <= b`."""


class GreaterThanEqual(BaseCompOp):
    """`a >= b`."""


class NotEqual(BaseCompOp):
    """`a != b`."""


class In(BaseCompOp):
    """`a in b`."""


class NotIn(BaseCompOp):
    """`a not in b`."""


class Is(BaseCompOp):
    """`a is b`."""


class IsNot(BaseCompOp):
    """`a is not b`."""


class BaseAugOp(CSTNode):
    """An assignment in place."""


class AddAssign(BaseAugOp):
    """`a += b`."""


class SubtractAssign(BaseAugOp):
    """`a -= b`."""


class MultiplyAssign(BaseAugOp):
    """`a *= b`."""


class MatrixMultiplyAssign(BaseAugOp):
    """`a @= b`."""


class DivideAssign(BaseAugOp):
    """`a /= b`."""


class ModuloAssign(BaseAugOp):
    """`a %= b`."""


class BitAndAssign(BaseAugOp):
    """`a &= b`."""


class BitOrAssign(BaseAugOp):
    """`a |= b`."""


class BitXorAssign(BaseAugOp):
    """`a ^= b`."""


class LeftShiftAssign(BaseAugOp):
    """`a <<= b`."""


class RightShiftAssign(BaseAugOp):
    """`a >>= b`."""


class PowerAssign(BaseAugOp):
    """`a **= b`."""


class FloorDivideAssign(BaseAugOp):
    """`a //= b`."""


class Dot(CSTNode):
    """The dots of `from ..a import b`."""


class ImportStar(CSTNode):
    """`from a import *`."""


class Asynchronous(CSTNode):
    """The `async` before `def`, `for` and `with`."""


class ParamStar(CSTNode):
    """The star of `def f(*, a)`."""
