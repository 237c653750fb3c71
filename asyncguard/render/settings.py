"""The settings of a file, as TOML that a configuration file could hold."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from asyncguard.additions import Addition

if TYPE_CHECKING:
    from asyncguard.lint.run.settings import Settings

_PLACES = ("root", "source")


def toml(settings: Settings) -> str:
    """Return each setting under the name that a configuration file has for it."""
    lines = [
        f"# from {settings.source}" if settings.source else "# the defaults: no configuration file",
        f"# paths and patterns are relative to {settings.root}",
    ]
    for item in fields(settings):
        held = getattr(settings, item.name)
        if item.name not in _PLACES and held is not None:
            lines.append(f"{item.name.replace('_', '-')} = {written(held)}")
    return "".join(f"{line}\n" for line in lines)


def written(value: object) -> str:
    """Return a setting's value as TOML writes it."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, Addition):
        value = value.path
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{written(str(k))} = {written(v)}" for k, v in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(str(value) if isinstance(value, Path) else value)
