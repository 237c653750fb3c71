"""Indices of device arrays: which give views, which hold masks, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from asyncguard.engine.handle import Handle

__all__ = ["as_tuple", "has_device_mask", "is_basic", "take_apart"]


def as_tuple(key: Any) -> tuple[Any, ...]:
    """Return an index as the tuple that it stands for."""
    return key if isinstance(key, tuple) else (key,)


def is_basic(key: Any) -> bool:
    """Whether `key` holds only integers, slices, None and Ellipsis: then the result is a view."""
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, (slice, numpy.integer))
        or (isinstance(part, int) and not isinstance(part, bool))
        for part in as_tuple(key)
    )


def has_device_mask(key: Any) -> bool:
    """Whether `key` holds a device array of booleans."""
    return any(isinstance(k, Handle) and k.dtype == numpy.bool_ for k in as_tuple(key))


def take_apart(key: Any) -> tuple[list[Any], Callable[..., Any]]:
    """Split an index into its device arrays, and a function that puts their data back."""
    parts = [numpy.array(k) if isinstance(k, list) else k for k in as_tuple(key)]
    arrays = [k for k in parts if isinstance(k, Handle)]
    for array in arrays:
        if array.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer or boolean type")

    def rebuild(*found: Any) -> tuple[Any, ...]:
        data = iter(found)
        return tuple(next(data) if isinstance(k, Handle) else k for k in parts)

    return arrays, rebuild
