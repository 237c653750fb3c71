"""Code that hands arrays to libraries which run models on no CUDA device."""

from __future__ import annotations

import re
from collections.abc import Collection

from asyncguard.lint.contexts.frame import Frame
from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.model import Loop


def is_for_another_device(frame: Frame) -> bool:
    """Whether a function feeds such a library: what it is given is in host memory.

    It imports the library itself, or runs the model of a class that does: such libraries are there
    for those alone who use them.
    """
    function, host = frame.function, frame.analysis
    if not host.names_host_runtimes:
        return False
    runs = function.cls is not None and function.hook == Loop.STEP
    methods = function.cls.methods.values() if function.cls is not None and runs else ()
    runtimes = host.knowledge.language.host_runtimes
    return any(_imports(method, runtimes) for method in (function, *methods))


def _imports(function: FunctionInfo, modules: Collection[str]) -> bool:
    """Whether a statement of a function imports one of these modules."""
    names = "|".join(sorted(modules))
    return re.search(rf"(?m)^\s+(?:import|from)\s+(?:{names})\b", function.text) is not None
