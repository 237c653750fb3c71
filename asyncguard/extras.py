"""Parts of asyncguard that need more than asyncguard: an import that fails names the extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str, *modules: str) -> Iterator[None]:
    """Say which extra brings `modules`, where an import in the block misses one of them.

    Raises ModuleNotFoundError, as the import would; others, of what is broken, pass as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in modules:
            raise
        message = f"{missing} is missing; install it with `pip install 'asyncguard[{extra}]'`"
        raise ModuleNotFoundError(message, name=error.name) from error
