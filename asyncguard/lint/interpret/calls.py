"""Calls: evaluate the callee, then the arguments, then dispatch by the kind of the callee."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import libcst as cst

from asyncguard.catalogue import load
from asyncguard.lint.contexts import conditions
from asyncguard.lint.contexts.effects import note_call, note_call_by_name, note_escape
from asyncguard.lint.contexts.frame import Expressions, Frame, evaluate
from asyncguard.lint.contexts.passing import parameter_called, passes
from asyncguard.lint.contexts.priors import prior_for
from asyncguard.lint.domain.arguments import Argument, Arguments
from asyncguard.lint.domain.definitions import (
    ClassInfo,
    FunctionInfo,
    class_of,
    each_instance,
    function_of,
)
from asyncguard.lint.domain.dependence import Dependence
from asyncguard.lint.domain.join import join, symbols
from asyncguard.lint.domain.reasons import Doubt, Provenance
from asyncguard.lint.domain.values import (
    CALLABLE,
    CLASS,
    CONTAINER,
    DEVICE,
    EITHER,
    FUNCTION,
    HOST,
    HOST_ARRAY,
    MODEL,
    SYMBOL,
    UNKNOWN,
    UNKNOWN_VALUE,
    Role,
    Value,
)
from asyncguard.lint.domain.work import Work
from asyncguard.lint.interpret.arguments import argument_params, bind_arguments, handed
from asyncguard.lint.interpret.blocks import evaluate_name
from asyncguard.lint.interpret.catalogued import call_repeatedly, call_symbol
from asyncguard.lint.interpret.functions import call_function
from asyncguard.lint.interpret.methods import call_method
from asyncguard.lint.interpret.models import METRIC, call_metric, call_model
from asyncguard.lint.interpret.opaque import called_itself, computed_purely, opaque
from asyncguard.lint.interpret.regions import note_handed
from asyncguard.lint.interpret.types import made_of
from asyncguard.lint.syntax.tree import dotted


def call_expression(frame: Frame, node: cst.Call) -> Value:
    """A call: evaluate what is called, then the arguments, then decide."""
    guard = conditions.of_call(frame, node)
    if guard is None:
        return _as_asked(frame, node, _called(frame, node))
    with frame.guarded(guard):
        return _as_asked(frame, node, _called(frame, node))


def _as_asked(frame: Frame, node: cst.Call, made: Value) -> Value:
    """Return what a call makes; arrays in host memory where an argument asks for these by name."""
    asked = frame.analysis.knowledge.asks_for_arrays
    if not any(a.keyword is not None and a.keyword.value in asked for a in node.args):
        return made
    named = {a.keyword.value: a.value for a in node.args if a.keyword is not None}
    keyword = next(name for name in named if name in asked)
    sure = made.kind not in (UNKNOWN, HOST, DEVICE) or (made.kind == DEVICE and not made.doubt)
    if sure or "device" in named:
        return made
    with frame.speculation():
        word = evaluate(frame, named[keyword]).literal
    framework = asked[keyword].get(str(word), "")
    why = frame.reason(Provenance.USAGE, f"`{keyword}` asks for it")
    return Value(HOST_ARRAY, framework, why, Role.BATCH) if framework else made


def _called(frame: Frame, node: cst.Call) -> Value:
    func = _called_at_last(frame, node.func)
    if type(func) is cst.Attribute:
        if func.attr.value in load().language.draws:
            frame.nest.draws()
        path = dotted(func)
        stored = frame.lookup(path) if path else None
        if stored is None or stored.kind == UNKNOWN:
            owner = evaluate(frame, func.value)
            arguments = _arguments(frame, node)
            return call_method(frame, node, owner, func, arguments)
        return dispatch_call(frame, node, stored, _arguments(frame, node))
    callee = evaluate(frame, func)
    if frame.loops and type(func) is cst.Name and func.value in frame.loops[-1].targets:
        frame.loops[-1].transparent = True  # it goes over functions
    arguments = _arguments(frame, node)
    if type(func) is cst.Call:
        if _differentiates(frame, func.func):
            frame.nest.does(Work.GRADIENTS)
        if dotted(func.func):
            note_handed(frame, evaluate_name(frame, func.func), func, arguments)
    return dispatch_call(frame, node, callee, arguments)


def _run_submitted(frame: Frame, node: cst.Call, arguments: Sequence[Argument]) -> None:
    """Run a function that something out of sight runs here: `pool.submit(embed, model, batch)`."""
    given = [argument.value.kind for argument in arguments]
    if dotted(node.func).rpartition(".")[2] in load().language.submits and FUNCTION in given:
        at = given.index(FUNCTION)
        dispatch_call(frame, node, arguments[at].value, arguments[at + 1 :])


_CALLED = frozenset({CLASS, FUNCTION, EITHER})


def _called_at_last(frame: Frame, func: cst.BaseExpression) -> cst.BaseExpression:
    """Return what a call through another process calls: `runner.run` of `runner.run.remote(x)`."""
    if type(func) is not cst.Attribute:
        return func
    language = load().language
    if func.attr.value not in language.remote_calls:
        return func
    called = func.value
    options = called.func if type(called) is cst.Call else None
    if type(options) is cst.Attribute and options.attr.value in language.remote_options:
        called = options.value
    with frame.speculation():
        kind = evaluate(frame, called).kind
    of_object = type(called) is cst.Attribute and kind == UNKNOWN
    return called if kind in _CALLED or of_object else func


def _differentiates(frame: Frame, func: cst.BaseExpression) -> bool:
    """Whether what this makes of a function runs a training step: `jax.grad(f)(x)`.

    Only a name is asked: what a call gives has been evaluated, and again would double at each call.
    """
    if not dotted(func):
        return False
    with frame.speculation():
        made = evaluate(frame, func)
    known = frame.analysis.knowledge.step_functions
    return made.kind == SYMBOL and known.find(made.name) is not None


def _arguments(frame: Frame, node: cst.Call) -> list[Argument]:
    """Evaluate the arguments; `*args` of known length counts as that many, a known dict by keys."""
    found: list[Argument] = []
    for a in node.args:
        value = evaluate(frame, a.value)
        if value.kind == FUNCTION:
            note_escape(frame, value)
            _note_start(frame, node, value)
        if a.star == "*" and value.kind == CONTAINER and value.items is not None:
            found.extend(Argument("", 0, a.value, item) for item in value.items)
        elif a.star == "**" and value.kind == CONTAINER and value.fields:
            found.extend(Argument(key, 0, a.value, item) for key, item in value.fields)
        else:
            found.append(
                Argument(a.keyword.value if a.keyword else "", len(a.star), a.value, value)
            )
    _run_submitted(frame, node, found)
    return found


def _note_start(frame: Frame, node: cst.Call, handed_on: Value) -> None:
    """Note what is known of those who call a function that they are handed, by their names.

    A process or thread runs it at once: `Process(target=train)`; a model calls a hook in each step.
    """
    name = dotted(node.func).rpartition(".")[2]
    if name in load().language.starts:
        work = frame.analysis.summary_for(function_of(handed_on)).work
        frame.nest.contains(work & Work.CONTAINS_STEPS)
    elif name in load().language.calls_back:
        call_repeatedly(frame, name, handed_on)


def dispatch_call(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call something that is no method."""
    if callee.kind == SYMBOL:
        return _call_symbols(frame, node, callee, arguments)
    if type(callee.ref) is tuple:
        results = [dispatch_call(frame, node, o, arguments) for o in each_instance(callee)]
        return functools.reduce(join, results)
    if _is_function(callee):
        return _call_functions(frame, node, callee, arguments)
    if callee.kind == CLASS:
        return _make_instance(frame, callee, arguments)
    if callee.kind in CALLABLE or callee.kind == DEVICE:
        # What is called cannot be an array, whatever its name suggests: `loss(y_hat, y)`.
        return call_model(frame, node, callee, arguments)
    if callee.kind == METRIC and isinstance(callee.ref, ClassInfo):
        return call_metric(frame, node, callee, arguments)
    if isinstance(callee.ref, ClassInfo) and (method := callee.ref.lookup("__call__")):
        return _call_object(frame, node, callee, method, arguments)
    return _call_unknown(frame, node, callee, arguments)


def _make_instance(frame: Frame, callee: Value, arguments: Arguments) -> Value:
    """Call a checked class."""
    cls = class_of(callee)
    init = cls.lookup("__init__")
    note_call(frame, init)
    if init is not None:
        passes(frame, init, bind_arguments(init, arguments, callee))
    return made_of(cls, arguments)


def _call_unknown(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call what is not known: a parameter's function, an object whose class its name tells."""
    given = handed(frame, arguments)
    called_itself(frame, dotted(node.func).rpartition(".")[2], given)
    if callee.kind == UNKNOWN and (name := parameter_called(frame, callee.params.only)):
        note_call_by_name(frame, name, given)
    answer = opaque(frame, node, arguments)
    made = computed_purely(frame, dotted(node.func), arguments)
    if made is None and answer.kind == UNKNOWN:
        made = _made_by_argument(callee, arguments)
    return made or answer


def _made_by_argument(callee: Value, arguments: Arguments) -> Value | None:
    """Return what a function that a call hands makes of other arguments of that call.

    `def check(value, reject): if reject(value): ...`: a device value, unless callers hand a
    function that returns plain objects.
    """
    handed_on = callee.params.only if callee.kind == UNKNOWN else -1
    data = argument_params(arguments).on - {handed_on}
    if handed_on < 0 or not data:
        return None
    return Value(params=Dependence(on=data, unless_plain=frozenset({handed_on})))


def _call_symbols(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call what was imported, from each of the modules that it may be from."""
    if callee.items is None:
        return call_symbol(frame, node, callee.name, arguments)
    each = [call_symbol(frame, node, one.name, arguments) for one in symbols(callee)]
    return functools.reduce(join, each)


def _is_function(callee: Value) -> bool:
    """Whether this is a function of checked code, or one of a few."""
    several = callee.items or callee.doubt & Doubt.ANOTHER_PATH
    return callee.kind == FUNCTION or bool(callee.kind == EITHER and several)


def _call_object(
    frame: Frame, node: cst.Call, callee: Value, method: FunctionInfo, arguments: Arguments
) -> Value:
    """Call an instance of a checked class by its `__call__`."""
    bound = Value(FUNCTION, ref=method, element=callee)
    ran = _run_implementation(frame, node, method, arguments)
    made = call_function(frame, node, bound, arguments)
    return ran if made.kind == UNKNOWN else made


def _run_implementation(
    frame: Frame, node: cst.Call, method: FunctionInfo, arguments: Arguments
) -> Value:
    """Run what is named like a model, of whose class only the signature is known: a protocol's."""
    path = dotted(node.func)
    if not path or not frame.analysis.is_abstract(method):
        return UNKNOWN_VALUE
    named = prior_for(frame, path)
    return call_model(frame, node, named, arguments) if named.kind == MODEL else UNKNOWN_VALUE


def _call_functions(frame: Frame, node: cst.Call, callee: Value, arguments: Arguments) -> Value:
    """Call a function of checked code, or each of a few that it may be."""
    if callee.doubt & Doubt.ANOTHER_PATH:
        certain = callee._replace(doubt=callee.doubt & ~Doubt.ANOTHER_PATH)
        return join(dispatch_call(frame, node, certain, arguments), UNKNOWN_VALUE)
    if callee.kind == FUNCTION:
        return call_function(frame, node, callee, arguments)
    functions = callee.items or ()
    results = [dispatch_call(frame, node, function, arguments) for function in functions]
    return functools.reduce(join, results)


EXPRESSIONS: Expressions = {
    cst.Call: call_expression,
}
