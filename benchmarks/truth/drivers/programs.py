"""Short programs that use a package as its guide does: `benchmarks/truth/programs/FILE.py`.

Each public function of the file is a case; so is each entry of its `CASES`, where it has them.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any


def cases(*, file: str) -> dict[str, Any]:
    """The programs of a file, by name."""
    module = importlib.import_module(f"benchmarks.truth.programs.{file}")
    found = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and list(inspect.signature(value).parameters) == ["device"]
        and not name.startswith("_")
    }
    return found | getattr(module, "CASES", {})
