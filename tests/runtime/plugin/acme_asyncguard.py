"""The adapter that somebody else ships for it, with its own rules file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asyncguard import catalogue
from asyncguard.runtime.adapter import Adapter as Base


class Adapter(Base):
    @classmethod
    def description(cls) -> catalogue.Framework:
        rules = catalogue.load_directory(Path(__file__).parent)
        return rules.frameworks["acme_tensors"]

    def device_of(self, value: Any) -> str | None:
        return "acme:0" if hasattr(value, "fetch") else None
