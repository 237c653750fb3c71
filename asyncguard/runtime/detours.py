"""Code that a function of Python's is given while its calls are watched: see `takeover`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
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
