"""How packages are driven: each module's `cases(**options)` names what is run on a device."""

from __future__ import annotations

from typing import Any


def require_small(model: Any, most: int) -> None:
    """Raise ValueError for a module of more than `most` parameters."""
    size = sum(value.numel() for value in model.parameters())
    if size > most:
        raise ValueError(f"{size:,} parameters are more than {most:,}")
