"""A framework that asyncguard has never heard of."""

from __future__ import annotations

__version__ = "3.1"


class Array:
    def fetch(self) -> float:
        return 1.0

    def __float__(self) -> float:
        return self.fetch()


class Trainer:
    def update(self) -> None:
        pass
