"""Code that a function of Python's is given while its calls are watched: see `takeover`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

Function = Callable[..., Any]

_DETOUR = """
def around({names}):
    def detour(*args, **kwargs):
        if 0: {use}
        call = "call"
        forget = "forget"
        try:
            return call(*args, **kwargs)
        except BaseException as error:
            forget(error)
            raise
"""


@functools.cache  # for each choice of names, of which there are few
def _template(free: tuple[str, ...]) -> CodeType:
    """Code of a detour, for a function with these free variables.

    Compiled from the text above and the names of variables alone, and never run as a module.
    """
    names = ", ".join(free)
    code = compile(_DETOUR.format(names=names, use=names or "pass"), __file__, "exec")
    for _ in ("around", "detour"):
        code = next(inner for inner in code.co_consts if isinstance(inner, CodeType))
    return code


def detour(free: tuple[str, ...], call: Function) -> CodeType:
    """Code that calls `call` with all arguments, for a function with these free variables."""
    code = _template(free)
    objects = {"call": call, "forget": _forget_detour}
    constants = (objects.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=tuple(constants))


def _forget_detour(error: BaseException) -> None:
    """Take the detour's entry out of the traceback, so that it reads as without us."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    error.__traceback__ = traceback


class ByCode:
    """Takes over a function of Python's.

    Its other code calls the layers. `__wrapped__` shows its signature and source meanwhile, and
    `_torchdynamo_inline` tells torch.compile which function to trace in its stead.
    """

    _SHOWN = ("__wrapped__", "_torchdynamo_inline")

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._is_taken = False
        self._other: CodeType | None = None
        self._copy_it()

    def original(self) -> Function:
        if not self._is_taken and self._has_changed():
            self._copy_it()
        return self._copy

    def lead_to(self, call: Function) -> None:
        self._other = detour(self._code.co_freevars, call)
        if self._is_taken:
            self._function.__code__ = self._other
        else:
            self._take()

    def resume(self) -> bool:
        """Lead to the same call as before it was given back; False where it has changed since."""
        if self._has_changed():
            return False
        self._take()
        return True

    def give_back(self) -> None:
        """Give the function its own code; leave alone whatever somebody else has changed since."""
        function = self._function
        if function.__code__ is self._other:
            function.__code__ = self._code
        self._is_taken = False
        names = function.__dict__
        for name in self._SHOWN:
            if names.get(name) is self._copy:
                del names[name]

    def _copy_it(self) -> None:
        self._copy = _copy(self._function)
        self._code, self._defaults = self._copy.__code__, self._copy.__defaults__
        self._keywords = self._copy.__kwdefaults__

    def _has_changed(self) -> bool:
        function = self._function
        return (
            function.__code__ is not self._code
            or function.__defaults__ is not self._defaults
            or function.__kwdefaults__ is not self._keywords
        )

    def _take(self) -> None:
        names = self._function.__dict__
        for name in self._SHOWN:
            names.setdefault(name, self._copy)
        self._function.__code__ = self._other  # type: ignore[assignment]  # set by `lead_to`
        self._is_taken = True


def _copy(function: FunctionType) -> FunctionType:
    """A function that does the same, and is called past the layers."""
    code, names = function.__code__, function.__globals__
    copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(copy, function)
    vars(copy).pop("__wrapped__")
    if "__wrapped__" in vars(function):
        copy.__wrapped__ = vars(function)["__wrapped__"]  # type: ignore[attr-defined]
    return copy
