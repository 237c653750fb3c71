"""Conditions that guard what they govern.

A guard makes its branch rare: every n-th step, the first or the last one, a debug flag. `rank == 0`
is not a guard: that rank still waits.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.effects import Guard
from asyncguard.lint.names import family
from asyncguard.lint.syntax.tree import dotted, walk

_FLAG = family("test.flag")
_PERIOD = family("period.length")
_COUNTER = family("counter.compared")


# A counter, which is no key.
_LISTED = family("counter.asked")
_CONDITIONS = frozenset({cst.Comparison, cst.BooleanOperation, cst.UnaryOperation})
_CHOOSING = _CONDITIONS | {cst.IfExp}
_SEVERAL = frozenset({cst.Tuple, cst.ListComp, cst.GeneratorExp})


def remember(frame: Frame, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
    """Keep the condition that a variable is assigned: `due = step % n == 0`.

    Or each of several: `log, save = [step % n == 0 for n in (10, 100)]`.
    """
    if type(target) is cst.Tuple and type(value) in _SEVERAL:
        for index, element in enumerate(target.elements):
            if type(value) is not cst.Tuple:
                remember(frame, element.value, value.elt)  # type: ignore[attr-defined]
            elif len(value.elements) == len(target.elements):
                remember(frame, element.value, value.elements[index].value)
        return
    if not frame.conditions and type(value) not in _CHOOSING:
        return  # there is nothing to forget
    path = dotted(target)
    frame.periods.discard(path)
    if type(value) is cst.IfExp and (dotted(value.body), dotted(value.orelse)) == ("True", "False"):
        value = value.test
    if path and type(value) in _CONDITIONS:
        frame.conditions[path] = value
    else:
        frame.conditions.pop(path, None)


IDENTITY = frozenset({cst.Is, cst.IsNot})


def guard_of(frame: Frame, test: cst.BaseExpression) -> tuple[Guard | None, Guard | None]:
    """Return the guards that a condition puts on its `if` and its `else` branch."""
    if type(test) is cst.Comparison and type(test.comparisons[0].operator) in IDENTITY:
        return None, None
    depth = len(frame.loops)
    if frame.loops and _counts_periods(frame.loops[-1].targets, test):
        frame.loops[-1].periodic = True
    when_true, when_false = rare(frame, test)
    if not when_true and not when_false:
        return None, None
    asked = test
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        asked = test.expression
    loop = _counted(frame, test)
    one = loop >= 0 and _asks_for_one(test)
    flag = Guard(depth, is_flag(asked), first=loop) if one else Guard(depth, is_flag(asked), loop)
    return (flag if when_true else None), (flag if when_false else None)


def _counted(frame: Frame, test: cst.BaseExpression) -> int:
    """Return the innermost loop whose target a comparison tests, -1 if it tests none."""
    if type(test) is not cst.Comparison:
        return -1
    names = {n.value for n in walk(test) if type(n) is cst.Name}
    counted = [i for i, loop in enumerate(frame.loops) if not names.isdisjoint(loop.targets)]
    return counted[-1] if counted else -1


def _asks_for_one(test: cst.BaseExpression) -> bool:
    """Whether a comparison asks for one iteration, by its number: `i == 0`."""
    if type(test) is not cst.Comparison or len(test.comparisons) != 1:
        return False
    asked = test.comparisons[0]
    named = type(test.left) is cst.Name and type(asked.comparator) is cst.Integer
    return named and type(asked.operator) in _EQUAL


def rare(frame: Frame, test: cst.BaseExpression) -> tuple[bool, bool]:
    """Whether the condition is rarely true, and whether it is rarely false."""
    if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not:
        if _has_modulo(test.expression):
            return _modulo_truth(test.expression, negated=True)
        true, false = rare(frame, test.expression)
        return false, true
    if type(test) is cst.BooleanOperation:
        left, right = rare(frame, test.left), rare(frame, test.right)
        if type(test.operator) is cst.And:
            return left[0] or right[0], left[1] and right[1]
        rarely = (left[0] or _is_switch(test.left)) and (right[0] or _is_switch(test.right))
        odd = any(map(_abnormal, (test.left, test.right)))  # and so is what else is asked for
        return odd or (rarely and (left[0] or right[0])), left[1] or right[1]
    if type(test) is cst.NamedExpr:
        return rare(frame, test.value)
    if (abnormal := _abnormal(test)) is not None:
        return abnormal, not abnormal
    path = dotted(test)
    if _is_off(frame, path):
        return True, False
    if is_flag(test) or _RARE_EVENT(path.rpartition(".")[2]) or _asks_when(frame, test):
        return True, False
    if condition := frame.conditions.pop(path, None):  # which may name itself
        remembered = rare(frame, condition)
        frame.conditions[path] = condition
        return remembered
    if _has_modulo(test):
        return _modulo_truth(test, negated=False)
    if type(test) is cst.Comparison and len(test.comparisons) == 1:
        if type(test.comparisons[0].operator) in MORE and _reads_clock(frame, test):
            return True, False  # so long after the last time
        if type(test.comparisons[0].operator) in _EQUAL and _asks_for_host(frame, test):
            there = type(test.comparisons[0].operator) is cst.NotEqual
            return not there, there
        return _counter_comparison(frame, test)
    return False, False


def _is_off(frame: Frame, path: str) -> bool:
    """Whether a condition is an option of a class that is off unless its user asks for it.

    `if self.smooth:`, where `__init__` takes `smooth=False` or `smooth=None`.
    """
    cls = frame.function.cls if frame.function is not None else None
    owner, _, name = path.rpartition(".")
    if owner != "self" or cls is None:
        return False
    made = cls.lookup("__init__")
    return made is not None and any(
        p.name == name.lstrip("_")
        and type(p.default) is cst.Name
        and p.default.value in ("False", "None")
        for p in made.parameters
    )


_STEPS = family("counter.asked")


def _asks_when(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a call is asked if it is time: `is_due(step, every)`, `check_freq(every, step)`."""
    if type(test) is not cst.Call or len(test.args) < 2:
        return False
    if _PERIOD(dotted(test.func).rpartition(".")[2]):
        return any(_STEPS(dotted(argument.value)) for argument in test.args)
    path = dotted(test.args[0].value)
    counted = any(path in loop.targets for loop in frame.loops)
    return counted and _STEPS(path)


def _is_switch(test: cst.BaseExpression) -> bool:
    """Whether a condition is an option: every n-th time, or always if that is asked for."""
    if type(test) is cst.BooleanOperation:
        every = all if type(test.operator) is cst.Or else any
        return every((_is_switch(test.left), _is_switch(test.right)))
    return bool(dotted(test))


MORE = (cst.GreaterThan, cst.GreaterThanEqual)
_EQUAL = frozenset({cst.Equal, cst.NotEqual})
_PLACE = family("value.device")


def _asks_for_host(frame: Frame, test: cst.Comparison) -> bool:
    """Whether a test asks if all is in host memory: `device.type == "cpu"`.

    Or an argument that says otherwise by default: `mode == "cpu"`.
    """
    told = test.comparisons[0].comparator
    if type(told) is cst.Call and len(told.args) == 1:
        told = told.args[0].value  # torch.device("cpu")
    if type(told) is not cst.SimpleString or told.value[1:-1] != "cpu":
        return False
    path = dotted(test.left)
    parameters = frame.function.parameters if frame.function is not None else ()
    return bool(path) and (
        bool(_PLACE(path))
        or any(type(p.default) is cst.SimpleString for p in parameters if p.name == path)
    )


_TIME = family("value.time")
# An episode is over, or an epoch.
_RARE_EVENT = family("test.event")


def _reads_clock(frame: Frame, test: cst.Comparison) -> bool:
    """Whether a test asks the time: `time.time() - last > interval`, `now - last > interval`."""
    since = test.left
    if type(since) is cst.BinaryOperation and type(since.operator) is cst.Subtract:
        now = dotted(since.left).rpartition(".")[2]
        if _TIME(now):
            return True
    clocks = {name.rpartition(".")[2] for name in frame.analysis.knowledge.clocks}
    calls = (n.func for n in walk(test.left) if type(n) is cst.Call)
    return any(dotted(func).rpartition(".")[2] in clocks for func in calls)


_ABNORMAL = family("test.abnormal")
# What a program is told to do about them: `skip_nan`, `check_overflow`.
_SWITCH = family("test.switch")
_NORMAL = family("test.normal")


_NAMING = frozenset({cst.Call, cst.Name, cst.Attribute})


def _abnormal(test: cst.BaseExpression) -> bool | None:
    """Whether the test asks for NaN, infinity or overflow (True), their absence, or neither."""
    if type(test) not in _NAMING:
        return None
    names = [n.value for n in walk(test) if type(n) is cst.Name]
    names = [name for name in names if not _SWITCH(name)]
    if any(map(_NORMAL, names)):
        return False
    return True if any(map(_ABNORMAL, names)) else None


def _modulo_truth(test: cst.BaseExpression, *, negated: bool) -> tuple[bool, bool]:
    """`i % n == 0` is rarely true; `i % n`, `i % n != 0` are rarely false."""
    usual = True
    if type(test) is cst.Call:  # of a function that compares: `tf.equal(i % n, 0)`
        usual = dotted(test.func).rpartition(".")[2] != "equal"
    if type(test) is cst.Comparison:
        usual = type(test.comparisons[0].operator) in (cst.NotEqual, cst.GreaterThan)
    if negated:
        usual = not usual
    return (not usual), usual


def _counts_periods(counters: frozenset[str], test: cst.BaseExpression) -> bool:
    """Whether a test asks what is left of one of these counters: `i % n == 0`."""
    periods = (n.left for n in walk(test) if type(n) is cst.BinaryOperation) if counters else ()
    names = (n for left in periods for n in walk(left) if type(n) is cst.Name)
    return _has_modulo(test) and any(name.value in counters for name in names)


def _has_modulo(test: cst.BaseExpression) -> bool:
    """Whether the test asks for a period; that of gradient accumulation is one optimizer step."""
    if type(test) is cst.Comparison and all(map(_is_plain, _sides(test))):
        return False
    return not dotted(test) and any(
        not _ACCUMULATES(dotted(divisor))
        and not (type(divisor) is cst.Integer and divisor.value == "1")
        for divisor in _divisors(test)
    )


def _sides(test: cst.Comparison) -> list[cst.BaseExpression]:
    return [test.left, *(target.comparator for target in test.comparisons)]


def _is_plain(node: cst.BaseExpression) -> bool:
    return type(node) in (cst.Integer, cst.SimpleString) or dotted(node) != ""


def _divisors(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what a test divides by for the remainder: `i % n`, `mod(i, n)`."""
    for node in walk(test):
        if type(node) is cst.BinaryOperation and type(node.operator) is cst.Modulo:
            if type(node.left) not in (cst.SimpleString, cst.FormattedString):
                yield node.right
        elif type(node) is cst.Call and len(node.args) == 2 and _gives_remainder(node.func):
            yield node.args[1].value


def _gives_remainder(func: cst.BaseExpression) -> bool:
    return dotted(func).rpartition(".")[2] in load().language.remainders


def is_flag(test: cst.BaseExpression) -> bool:
    """Whether the condition is a flag for debugging, logging now, the first or the last step."""
    if type(test) is cst.Comparison:
        if type(test.comparisons[0].operator) in IDENTITY:
            return False
        if _PERIOD(dotted(test.left)):
            return False  # whether it is done at all: `log_interval > 0`
        return is_flag(test.left) and not any(
            _COUNTER(dotted(t.comparator)) for t in test.comparisons
        )
    if type(test) is cst.Call:
        return bool(_FLAG(dotted(test.func).rpartition(".")[2]))
    path = dotted(test)
    return bool(path and _FLAG(path.rpartition(".")[2]))


def _counter_comparison(frame: Frame, test: cst.Comparison) -> tuple[bool, bool]:
    """`i == last`, `step == 0`, `i < 3`: rare when one side counts the loop's iterations."""
    operator = test.comparisons[0].operator
    sides = (test.left, test.comparisons[0].comparator)
    if any(type(side) is cst.SimpleString for side in sides):
        return False, False  # a name, which counts nothing
    if not any(_counts(frame, side) for side in sides):
        return False, False
    if any(_ACCUMULATES(n.value) for n in walk(test) if type(n) is cst.Name):
        return False, False  # one optimizer step
    if type(operator) is cst.Equal:
        return True, False
    if type(operator) is cst.NotEqual:
        return False, True
    if type(operator) in (cst.In, cst.NotIn):  # one of some: `step in self.save_steps`
        listed = _LISTED(dotted(test.left).rpartition(".")[2])
        return (listed, False) if type(operator) is cst.In else (False, listed)
    if type(operator) in MORE and _ALL(dotted(sides[1]).rpartition(".")[2]):
        return True, False  # at the end: `step >= total_steps`
    if type(operator) in MORE and _is_period_of(sides[1]):
        return True, False  # so many steps later: `state["updates"] >= 1 / probability`
    if type(operator) in (cst.LessThan, cst.LessThanEqual):
        bound = sides[1]
        return type(bound) is cst.Integer and int(bound.value, 0) <= 20, False
    return False, False


def _is_period_of(node: cst.BaseExpression) -> bool:
    """Whether an expression is a number of steps: `1 / probability`, `self.update_every`."""
    if type(node) is cst.BinaryOperation and type(node.operator) is cst.Divide:
        return type(node.left) is cst.Integer
    return bool(_PERIOD(dotted(node).rpartition(".")[2]))


_ALL = family("total.reached")
_ACCUMULATES = family("value.accumulation")
_HOW_MANY = family("value.how_many")
_RANK = family("value.rank")


def _counts(frame: Frame, node: cst.BaseExpression) -> bool:
    if type(node) is cst.Call and dotted(node.func) == "int" and len(node.args) == 1:
        return _counts(frame, node.args[0].value)
    if type(node) is cst.BinaryOperation:
        counts = type(node.operator) is not cst.Modulo and _counts(frame, node.left)
    else:
        path = _entry(node) or dotted(node).rpartition(".")[2]
        named = path and _COUNTER(path) and not _HOW_MANY(path)
        counts = bool(named) or any(path in loop.targets for loop in frame.loops)
    return counts and not any(_RANK(n.value) for n in walk(node) if type(n) is cst.Name)


def _entry(node: cst.BaseExpression) -> str:
    """Return `count` of `state["count"]`, or ""."""
    if type(node) is not cst.Subscript or len(node.slice) != 1:
        return ""
    index = node.slice[0].slice
    text = index.value if type(index) is cst.Index else None
    return text.value[1:-1] if type(text) is cst.SimpleString else ""


_LOGGER = family("value.logger")


def of_call(frame: Frame, node: cst.Call) -> Guard | None:
    """Return the guard that a call puts on its arguments: what warns does not in every step."""
    last = node.func.attr if type(node.func) is cst.Attribute else node.func
    called = last.value.lower() if type(last) is cst.Name else ""
    known = frame.analysis.knowledge.language
    if called not in known.warns and called not in known.complains:
        return None
    owner, _, method = dotted(node.func).rpartition(".")
    complains = method and (called in known.warns or _LOGGER(owner))
    return Guard(len(frame.loops), True) if complains else None
