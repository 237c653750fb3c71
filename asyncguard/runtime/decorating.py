"""Blocks as decorators of functions, coroutines and generators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Decorator:
    """A block that also holds while a decorated function's own code runs.

    Of a generator that is between two items, too, but not its caller's code: so it is opened around
    all of the call (`_opened`), and held (`_held`) where the generator runs.
    """

    def __call__(self, function: F) -> F:
        """Decorate: the block is the call, with all that it awaits or yields.

        Raises TypeError for a class.
        """
        if isinstance(function, type):
            raise TypeError(
                f"{self._name} decorates functions: put it above the methods of"
                f" {function.__name__} that it is to hold for"
            )
        if inspect.isasyncgenfunction(function):
            guarded = self._around_async_generator(function)
        elif inspect.isgeneratorfunction(function):
            guarded = self._around_generator(function)
        elif inspect.iscoroutinefunction(function):
            guarded = self._around_coroutine(function)
        else:
            guarded = self._around_call(function)
        return functools.update_wrapper(guarded, function)  # type: ignore[return-value]

    def _around_call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return guarded

    def _around_coroutine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return await function(*args, **kwargs)

        return guarded

    def _around_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            inner = function(*args, **kwargs)
            with self._again()._opened() as scope:
                resume, value = inner.send, None
                while True:
                    with scope._held():
                        try:
                            item = resume(value)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        resume, value = inner.send, (yield item)
                    except GeneratorExit:
                        with scope._held():
                            inner.close()
                        raise
                    except BaseException as error:  # noqa: BLE001  thrown in, and so handed on
                        resume, value = inner.throw, error

        return guarded

    def _around_async_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            inner = function(*args, **kwargs)
            with self._again()._opened() as scope:
                resume, value = inner.asend, None
                while True:
                    with scope._held():
                        try:
                            item = await resume(value)
                        except StopAsyncIteration:
                            return
                    try:
                        resume, value = inner.asend, (yield item)
                    except GeneratorExit:
                        with scope._held():
                            await inner.aclose()
                        raise
                    except BaseException as error:  # noqa: BLE001  thrown in, and so handed on
                        resume, value = inner.athrow, error

        return guarded

    def _again(self) -> Any:
        """A fresh one of the same kind."""
        raise NotImplementedError

    def _opened(self) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _held(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    @property
    def _name(self) -> str:
        """What the program calls it."""
        return type(self).__name__
