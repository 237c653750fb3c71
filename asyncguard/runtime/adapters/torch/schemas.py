"""What torch's schema of an operator says: what it takes, what it writes, what it makes."""

from __future__ import annotations

from typing import Any, NamedTuple

from asyncguard.runtime import torch_private as private


class Schema(NamedTuple):
    """One overload's schema."""

    name: str
    arguments: tuple[Any, ...]
    written: tuple[int, ...]  # the positions of arguments that it writes to
    makes: bool  # whether a result is memory of its own
    aliases: bool  # whether a result may be an argument's memory
    takes_device: bool


def schema_of(func: Any) -> Schema | None:
    """Read an overload's schema; None of an operator of higher order, which has none."""
    schema = private.schema(func)
    if schema is None:
        return None
    arguments, aliased = tuple(schema.arguments), [each.alias_info for each in schema.returns]
    written = (
        at
        for at, each in enumerate(arguments)
        if each.alias_info is not None and each.alias_info.is_write
    )
    return Schema(
        schema.name,
        arguments,
        tuple(written),
        makes=None in aliased,
        aliases=any(each is not None for each in aliased),
        takes_device=any(each.name == "device" for each in arguments),
    )
